"""Settings of trained weights that do not suit a model, and the gradients of a model with frozen layers."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.errors import InputError
from bert_tf.techniques.freezing import freeze
from run.techniques.settings import TrainedWeightsSettings


@pytest.mark.large
def test_frozen_layers_have_no_backward_pass(reference_config, reference_batches):
    """Freezing removes matmuls from the backward pass, and does not change the gradients of the trained weights."""
    batch = {name: tf.constant(values[0]) for name, values in reference_batches.items()}

    def gradients(frozen):
        model = models.BertClassifier(models.BertEncoder(reference_config, seed=5), 3)
        if frozen is not None:
            freeze(model.encoder, frozen)

        @tf.function(autograph=False)
        def compute():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(batch)["logits"] ** 2)
            return tape.gradient(loss, model.trainable_variables)
        graph = compute.get_concrete_function().graph
        products = [each for each in graph.get_operations() if "MatMul" in each.type]
        names = [variable.name for variable in model.trainable_variables]
        return dict(zip(names, map(tf.convert_to_tensor, compute()), strict=True)), len(products)

    expected, num_products = gradients(None)
    for frozen, fraction in ((0, 1.0), (1, 0.75), (2, 0.5)):
        found, count = gradients(frozen)
        assert len(found) == 4 + 12 * (2 - frozen)
        assert count < fraction * num_products
        for name, value in found.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-7, err_msg=name)


def test_layers_with_shared_weights_are_frozen_together(reference_config):
    shared = dataclasses.replace(reference_config, num_hidden_groups=1)
    encoder = models.BertEncoder(shared)
    with pytest.raises(InputError, match=r"^`freeze_layers`=1: the model's layers share weights; set 0 to freeze "):
        freeze(encoder, 1)
    freeze(encoder, 2)
    assert [variable.name.split("/")[1] for variable in encoder.trainable_variables] == ["pooler"] * 2
    with pytest.raises(InputError, match=r"^`layerwise_learning_rate_decay`=0\.5: must be 1, since the layers of "):
        TrainedWeightsSettings(layerwise_learning_rate_decay=0.5).check_model(shared)


@pytest.mark.parametrize(("settings", "message"), [
    ({"freeze_layers": 3}, "`freeze_layers`=3: must be at most 2, the number of layers of the model"),
    ({"lora_rank": 33}, "`lora_rank`=33: must be at most 32, the hidden size of the model"),
    ({"freeze_layers": 2, "lora_rank": 4}, "`freeze_layers`=2: leaves no layers for `lora_rank`=4"),
])
def test_settings_that_do_not_suit_the_model(reference_config, settings, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        TrainedWeightsSettings(**settings).check_model(reference_config)
