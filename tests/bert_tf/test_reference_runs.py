"""The two training runs of the original: the same activations, the same losses, the same weights at the end.

Tolerances: 2e-5 absolute on activations and log-probabilities, 1e-4 relative on losses and norms.
"""

import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained, tf1
from bert_tf.optimization import create_optimizer
from tests.encoders import make_encoder

ACTIVATIONS = 2e-5
RELATIVE = 1e-4
CPU_OPTIONS = {"remove_padding": True, "compiled": True, "last_where_read": True}  # the drivers'


def make_model(kind, encoder):
    return models.BertPretrainer(encoder) if kind == "pretrain" else models.BertClassifier(encoder, 3)


def loss_of(kind, outputs, features):
    if kind == "pretrain":
        return losses.pretraining_loss(outputs, features)["loss"]
    return losses.classification_loss(outputs, {"label_ids": features["labels"]})["loss"]


def batch(batches, number):
    return {name: tf.constant(values[number]) for name, values in batches.items()}


def train(kind, model, optimizer, batches):
    """Trains on all batches in a plain loop; the loss of each."""
    @tf.function
    def step(features):
        with tf.GradientTape() as tape:
            loss = loss_of(kind, model(features, training=True), features)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss
    return np.array([step(batch(batches, number)) for number in range(len(batches["labels"]))])


def original_tensors(model):
    """The model's weights by the original's variable names."""
    tensors = {}
    for variable in model.variables:
        names = tf1.original_names(variable.name.removesuffix(":0"))
        tensors |= zip(names, np.split(variable.numpy(), len(names), axis=-1), strict=True)
    return tensors


@pytest.mark.parametrize("one_hot", [False, True])
def test_pretraining_forward(reference, reference_config, reference_batches, reference_numbers,
                             one_hot):
    encoder = make_encoder(reference_config, one_hot=one_hot)
    model = make_model("pretrain", encoder)
    load_pretrained(model, str(reference / "pretrain_init.ckpt"))
    expected = reference_numbers("pretrain")
    features = batch(reference_batches, 0)

    encoded = model.encoder(features)
    outputs = model(features)
    found = {
        "embedding_output": encoded["embedding_output"],
        "layer_0": encoded["encoder_outputs"][0],
        "layer_1": encoded["encoder_outputs"][1],
        "sequence_output": encoded["sequence_output"],
        "pooled_output": encoded["pooled_output"],
        "masked_lm_log_probs": tf.reshape(tf.nn.log_softmax(outputs["masked_lm_logits"]), [24, 120]),
        "next_sentence_log_probs": tf.nn.log_softmax(outputs["next_sentence_logits"]),
    }
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[f"forward/{name}"], rtol=0, atol=ACTIVATIONS, err_msg=name)
    loss = losses.pretraining_loss(outputs, features)
    for name in ("masked_lm_loss", "next_sentence_loss"):
        np.testing.assert_allclose(loss[name], expected[f"forward/{name}"], rtol=0, atol=ACTIVATIONS)


def test_classifier_forward(reference, reference_config, reference_batches, reference_numbers):
    model = make_model("classify", reference_config)
    load_pretrained(model, str(reference / "classify_init.ckpt"))
    np.testing.assert_allclose(model(batch(reference_batches, 0))["logits"],
                               reference_numbers("classify")["forward/logits"], rtol=0, atol=ACTIVATIONS)


@pytest.mark.parametrize("options", [{}, CPU_OPTIONS], ids=["plain", "on a CPU"])
@pytest.mark.parametrize("kind", ["pretrain", "classify"])
def test_training(kind, options, reference, reference_config, reference_batches, reference_schedule,
                  reference_numbers):
    model = make_model(kind, make_encoder(reference_config, **options))
    load_pretrained(model, str(reference / f"{kind}_init.ckpt"))
    found = train(kind, model, create_optimizer(**reference_schedule), reference_batches)

    expected = reference_numbers(kind)
    np.testing.assert_allclose(found, expected["loss"], rtol=RELATIVE)
    names = json.loads((reference / f"{kind}_variables.json").read_text())
    tensors = original_tensors(model)
    assert set(tensors) == set(names)
    np.testing.assert_allclose([np.linalg.norm(tensors[name]) for name in names], expected["final_norms"],
                               rtol=RELATIVE)
    reader = tf.train.load_checkpoint(str(reference / f"{kind}_final.ckpt"))
    for name in names:
        np.testing.assert_allclose(tensors[name], reader.get_tensor(name), rtol=0, atol=ACTIVATIONS, err_msg=name)


def test_merging_sparse_gradients_before_the_clip_would_be_seen(
        reference, reference_config, reference_batches, reference_schedule, reference_numbers):
    """With duplicate rows of the word table's gradient summed before the clip, the losses leave the reference."""
    model = make_model("classify", reference_config)
    load_pretrained(model, str(reference / "classify_init.ckpt"))
    optimizer = create_optimizer(**reference_schedule)
    apply = optimizer.apply_gradients
    optimizer.apply_gradients = lambda pairs: apply(
        [(tf.convert_to_tensor(gradient), variable) for gradient, variable in pairs])
    found = train("classify", model, optimizer, reference_batches)
    assert np.abs(found / reference_numbers("classify")["loss"] - 1).max() > 10 * RELATIVE
