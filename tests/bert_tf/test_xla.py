"""Training steps that XLA compiles as one: the same weights as those of TensorFlow's operations."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.optimization import create_optimizer
from tests.encoders import make_encoder


@pytest.mark.parametrize("options", [{}, {"recompute": True}], ids=["plain", "recompute"])
def test_two_training_steps(reference, reference_config, reference_batches, options):
    batch = {name: tf.constant(values[0]) for name, values in reference_batches.items()}

    def train(jit_compile):
        model = models.BertPretrainer(make_encoder(reference_config, **options))
        load_pretrained(model, str(reference / "pretrain_init.ckpt"))
        optimizer = create_optimizer(1e-3, 10, 1)
        optimizer.build(model.trainable_variables)

        @tf.function(jit_compile=jit_compile)
        def step():
            with tf.GradientTape() as tape:
                loss = losses.pretraining_loss(model(batch, training=True), batch)["loss"]
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        step()
        step()
        return model.trainable_variables

    for compiled, plain in zip(train(True), train(None), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=2e-5, err_msg=plain.name)
