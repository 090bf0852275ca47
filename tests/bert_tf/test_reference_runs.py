"""The two reference runs of the original BERT: the same activations, losses, and final weights.

Tolerances: 2e-5 absolute on activations, log-probabilities, and weights; 1e-4 relative on losses
and norms.
"""

import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained, model_tensors
from bert_tf.optimization import create_optimizer
from tests.encoders import make_encoder

ACTIVATIONS = 2e-5
RELATIVE = 1e-4
# The options of the scripts on a CPU.
CPU_OPTIONS = {"layer": "compiled", "remove_padding": True, "last_where_read": True}
MAKE = {
    "pretrain": models.BertPretrainer,
    "classify": lambda encoder: models.BertClassifier(encoder, 3),
}
LOSSES = {"pretrain": losses.pretraining_loss, "classify": losses.classification_loss}


@pytest.fixture(scope="module")
def feature_list(reference_batches):
    """25 dicts of features."""
    arrays = {
        "label_ids" if name == "labels" else name: values
        for name, values in reference_batches.items()
    }
    return [
        {name: tf.constant(values[number]) for name, values in arrays.items()}
        for number in range(25)
    ]


@pytest.mark.parametrize("one_hot", [False, True])
def test_pretraining_forward(reference, reference_config, feature_list, reference_numbers, one_hot):
    model = models.BertPretrainer(make_encoder(reference_config, one_hot=one_hot))
    load_pretrained(model, str(reference / "pretrain_init.ckpt"))
    all_outputs = model.encoder(feature_list[0])
    outputs = model(feature_list[0])
    loss = losses.pretraining_loss(outputs, feature_list[0])
    found = {
        "embedding_output": all_outputs["embedding_output"],
        "layer_0": all_outputs["encoder_outputs"][0],
        "layer_1": all_outputs["encoder_outputs"][1],
        "sequence_output": all_outputs["sequence_output"],
        "pooled_output": all_outputs["pooled_output"],
        "masked_lm_log_probs": tf.reshape(
            tf.nn.log_softmax(outputs["masked_lm_logits"]), [24, 120]
        ),
        "next_sentence_log_probs": tf.nn.log_softmax(outputs["next_sentence_logits"]),
        "masked_lm_loss": loss["masked_lm_loss"],
        "next_sentence_loss": loss["next_sentence_loss"],
    }
    expected = reference_numbers("pretrain")
    for name, value in found.items():
        np.testing.assert_allclose(
            value, expected[f"forward/{name}"], rtol=0, atol=ACTIVATIONS, err_msg=name
        )


def test_classifier_forward(reference, reference_config, feature_list, reference_numbers):
    with tf.name_scope("ignored"):
        model = models.BertClassifier(reference_config, 3)
    assert load_pretrained(model, str(reference / "classify_init.ckpt")).missing == ()
    np.testing.assert_allclose(
        model(feature_list[0])["logits"],
        reference_numbers("classify")["forward/logits"],
        rtol=0,
        atol=ACTIVATIONS,
    )


@pytest.mark.large
@pytest.mark.parametrize("options", [{}, CPU_OPTIONS], ids=["plain", "cpu"])
@pytest.mark.parametrize("kind", MAKE)
def test_training(
    reference,
    reference_config,
    feature_list,
    reference_schedule,
    reference_numbers,
    *,
    kind,
    options,
):
    model = MAKE[kind](make_encoder(reference_config, **options))
    load_pretrained(model, str(reference / f"{kind}_init.ckpt"))
    optimizer = create_optimizer(**reference_schedule)

    @tf.function
    def step(features):
        with tf.GradientTape() as tape:
            loss = LOSSES[kind](model(features, training=True), features)["loss"]
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    expected = reference_numbers(kind)
    np.testing.assert_allclose(
        [step(batch) for batch in feature_list], expected["loss"], rtol=RELATIVE
    )
    names = json.loads((reference / f"{kind}_variables.json").read_text())
    tensors = {name: tensor.read() for name, tensor in model_tensors(model).items()}
    assert set(tensors) == set(names)
    np.testing.assert_allclose(
        [np.linalg.norm(tensors[name]) for name in names], expected["final_norms"], rtol=RELATIVE
    )
    reader = tf.train.load_checkpoint(str(reference / f"{kind}_final.ckpt"))
    for name in names:
        np.testing.assert_allclose(
            tensors[name], reader.get_tensor(name), rtol=0, atol=ACTIVATIONS, err_msg=name
        )
