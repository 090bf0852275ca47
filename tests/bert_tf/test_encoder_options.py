"""Options of FastEncoder do not change outputs, losses, gradients, and dropout masks.

Tolerances: 2e-5 absolute in float32. Values in 16 bits are close to those in float32.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.fast import Fast
from bert_tf.fast.compiled import get_activation_block
from bert_tf.fast.layers import compute_probabilities
from bert_tf.layers import LayerNorm
from tests.encoders import make_encoder
from tests.errors import Message, raises_message
from tests.gradients import assert_close, compute_gradients

CLOSE = 2e-5
OPTIONS = {
    "padded": {"layer": "matrix"},
    "unpadded": {"remove_padding": True},
    "recompute": {"recompute": True},
    "last_where_read": {"last_where_read": True},
    "einsum": {"layer": "einsum"},
    "einsum_last_where_read": {"layer": "einsum", "last_where_read": True},
    "all": {
        "layer": "compiled",
        "remove_padding": True,
        "last_where_read": True,
        "recompute": True,
    },
}


@pytest.fixture(scope="module")
def pretrainer(reference, reference_config):
    """Function from options of make_encoder to a BertPretrainer with the reference weights."""

    def make(config=reference_config, **options):
        model = models.BertPretrainer(make_encoder(config, **options))
        load_pretrained(model, str(reference / "pretrain_init.ckpt"))
        return model

    return make


@pytest.fixture(scope="module")
def plain(pretrainer, batch):
    """The outputs of a plain encoder in training, and the loss and gradients of a plain model."""
    return pretrainer().encoder(batch, training=True), compute_gradients(
        pretrainer(), batch, losses.pretraining_loss
    )


@pytest.mark.large
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_outputs_loss_and_gradients_are_unchanged(pretrainer, batch, plain, options):
    expected, expected_gradients = plain
    all_outputs = pretrainer(**options).encoder(batch, training=True)
    is_token = batch["input_mask"].numpy() > 0
    for name in ("sequence_output", "embedding_output"):
        np.testing.assert_allclose(
            all_outputs[name][is_token], expected[name][is_token], rtol=0, atol=CLOSE
        )
        if options == {"remove_padding": True}:
            assert not np.any(all_outputs[name][~is_token])
    for found, output in zip(
        all_outputs["encoder_outputs"], expected["encoder_outputs"], strict=True
    ):
        np.testing.assert_allclose(found[is_token], output[is_token], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(
        all_outputs["pooled_output"], expected["pooled_output"], rtol=0, atol=CLOSE
    )
    assert_close(
        compute_gradients(pretrainer(**options), batch, losses.pretraining_loss),
        expected_gradients,
        CLOSE,
    )


@pytest.mark.parametrize(
    ("policy", "relative"), [("float32", 1e-6), ("mixed_bfloat16", 0), ("mixed_float16", 0)]
)
def test_a_padded_vocabulary_changes_nothing(reference_config, pretrainer, batch, policy, relative):
    """The matmul has 126 rows for 120 entries.

    The results are bit-identical, except in float32 on CPUs without AVX-512.
    """
    plain, padded = (pretrainer(vocabulary_multiple=multiple, dtype=policy) for multiple in (1, 9))
    assert padded(batch)["masked_lm_logits"].shape[-1] == reference_config.vocab_size
    found = compute_gradients(padded, batch, losses.pretraining_loss)
    for name, value in compute_gradients(plain, batch, losses.pretraining_loss).items():
        np.testing.assert_allclose(
            found[name], value, rtol=0, atol=relative * np.abs(value).max(), err_msg=name
        )


@pytest.mark.large
@pytest.mark.parametrize(
    ("options", "baseline", "activation"),
    [
        ({"recompute": True}, {"layer": "matrix"}, "gelu"),
        ({"last_where_read": True}, {"layer": "matrix"}, "gelu"),
        (
            {"layer": "compiled", "remove_padding": True, "last_where_read": True},
            {"remove_padding": True},
            "gelu_exact",
        ),
        ({"layer": "compiled", "remove_padding": True}, {"remove_padding": True}, "linear"),
    ],
    ids=["recompute", "last_where_read", "compiled", "linear"],
)
def test_dropout_masks_depend_on_the_seed_alone(
    reference_config, pretrainer, batch, options, baseline, activation
):
    """`compiled` pads the 78 tokens to 96, and other options compute a part of the last layer."""
    config = dataclasses.replace(
        reference_config,
        hidden_dropout_prob=0.2,
        attention_probs_dropout_prob=0.3,
        hidden_act=activation,
    )
    assert_close(
        *(
            compute_gradients(pretrainer(config, seed=5, **each), batch, losses.pretraining_loss)
            for each in (options, baseline)
        ),
        CLOSE,
    )


def test_a_compiled_block_in_a_branch_has_a_gradient():
    """BERT-of-Theseus computes layers of the student or the teacher in branches of tf.cond."""
    activate = get_activation_block("relu")
    x = tf.constant([[-1.0, 2.0]])

    @tf.function
    def compute_gradient(is_chosen):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(is_chosen, lambda: activate(3 * x), lambda: x)
        return tape.gradient(y, x)

    np.testing.assert_array_equal(compute_gradient(tf.constant(True)), [[0, 3]])
    np.testing.assert_array_equal(compute_gradient(tf.constant(False)), [[1, 1]])


@pytest.mark.parametrize(
    "options", [{}, {"remove_padding": True}, {"remove_padding": True, "last_where_read": True}]
)
@pytest.mark.parametrize("attention", ["bidirectional", "causal"])
def test_a_batch_of_padding_is_finite(reference_config, options, attention):
    encoder = make_encoder(dataclasses.replace(reference_config, attention=attention), **options)
    empty = {
        name: tf.zeros([2, 5], tf.int32) for name in ("input_ids", "input_mask", "segment_ids")
    }
    assert np.isfinite(encoder(empty)["pooled_output"]).all()
    assert np.isfinite(models.BertClassifier(encoder, 3)(empty)["logits"]).all()


def list_operations(function):
    return tf.function(function).get_concrete_function().graph.get_operations()


@pytest.mark.extra_large
def test_layers_share_the_compiled_blocks_of_training(reference_config, batch):
    """Forward and backward of two blocks are four functions, which all layers of all models call.

    Only training calls them.
    """

    def find_blocks(num_layers, function):
        config = dataclasses.replace(reference_config, num_hidden_layers=num_layers)
        model = models.BertPretrainer(make_encoder(config, layer="compiled"))
        return {
            operation.get_attr("f").name
            for operation in list_operations(lambda: function(model))
            if "_XlaMustCompile" in operation.node_def.attr
            and operation.get_attr("_XlaMustCompile")
        }

    def compute_training_gradients(model):
        loss = losses.pretraining_loss(model(batch, training=True), batch)["loss"]
        return tf.gradients(loss, model.trainable_variables)

    blocks = find_blocks(1, compute_training_gradients)
    assert len(blocks) == 4
    assert find_blocks(2, compute_training_gradients) == blocks
    assert find_blocks(2, lambda model: model(batch)) == set()


@pytest.mark.large
def test_last_where_read_computes_fewer_rows(reference_config, batch):
    """Three matmuls of the last layer have 4 * 7 rows, 6 predictions and [CLS], not 4 * 32."""

    def count_rows(**options):
        model = models.BertPretrainer(make_encoder(reference_config, **options))
        return [
            operation.outputs[0].shape[0]
            for operation in list_operations(lambda: model(batch)["masked_lm_logits"])
            if operation.type == "MatMul"
        ]

    batch_size, length = batch["input_ids"].shape
    predictions = batch["masked_lm_positions"].shape[1]
    complete = count_rows(layer="matrix")
    partial = count_rows(last_where_read=True)
    # A layer has four matmuls.
    assert complete.count(batch_size * length) == partial.count(batch_size * length) + 3
    assert partial.count(batch_size * (1 + predictions)) == 3


# Unit roundoff: 2^-8 of bfloat16, 2^-11 of float16. After two layers, activations have sizes from 1
# to 3.
@pytest.mark.parametrize(
    ("policy", "tolerance"), [("mixed_bfloat16", 0.1), ("mixed_float16", 0.02)]
)
def test_outputs_in_16_bits_are_close_to_float32(pretrainer, batch, policy, tolerance):
    plain = pretrainer()
    mixed = pretrainer(dtype=policy)
    assert all(variable.dtype == tf.float32 for variable in mixed.trainable_variables)
    all_outputs = mixed.encoder(batch)
    assert (
        all_outputs["sequence_output"].dtype
        == tf_keras.mixed_precision.Policy(policy).compute_dtype
    )
    difference = np.abs(
        tf.cast(all_outputs["sequence_output"], tf.float32)
        - plain.encoder(batch)["sequence_output"]
    )
    assert 1e-4 < difference.max() < tolerance
    outputs = mixed(batch)
    assert outputs["masked_lm_logits"].dtype == outputs["next_sentence_logits"].dtype == tf.float32
    np.testing.assert_allclose(
        losses.pretraining_loss(outputs, batch)["loss"],
        losses.pretraining_loss(plain(batch), batch)["loss"],
        rtol=tolerance / 10,
    )


def test_statistics_of_layer_norm_are_float32():
    """The mean of the inputs, 1028, is not a bfloat16 number."""
    x = tf.cast(1000.0 + tf.reshape(tf.range(64.0) % 8 * 8, [2, 32]), tf.bfloat16)
    normed = tf.cast(LayerNorm(32)(x), tf.float32).numpy()
    np.testing.assert_allclose(
        normed, (x.numpy().astype(np.float32) - 1028) / np.sqrt(336), rtol=2**-8
    )


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-7), ("bfloat16", 2**-8), ("float16", 2**-10)]
)
def test_softmax_and_its_gradient(dtype, tolerance):
    """Both are those of TensorFlow in float64.

    In 16 bits, the gradient does not keep the float32 probabilities.
    """
    random = np.random.default_rng(3)
    scores, upstream = (tf.constant(random.normal(size=(2, 3, 5, 7)), dtype) for _ in range(2))
    bias = tf.constant(random.normal(size=(2, 1, 1, 7)), tf.float32)

    @tf.function
    def compute(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            probabilities = compute_probabilities(scores, bias, training=True)
        return probabilities, tape.gradient(probabilities, scores, upstream)

    exact_scores = tf.cast(scores, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(exact_scores)
        expected = tf.nn.softmax(exact_scores + tf.cast(bias, tf.float64))
    expected_gradient = tape.gradient(expected, exact_scores, tf.cast(upstream, tf.float64))
    for found, value in zip(compute(scores), (expected, expected_gradient), strict=True):
        assert found.dtype == scores.dtype
        np.testing.assert_allclose(tf.cast(found, tf.float64), value, rtol=0, atol=tolerance)
    operations = compute.get_concrete_function(scores).graph.get_operations()
    (softmax,) = (operation for operation in operations if operation.type == "Softmax")
    assert (len(softmax.outputs[0].consumers()) == 1) == (dtype != "float32")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"layer": "unpadded"},
            Message(
                "layer",
                *("must be one of matrix", "compiled", "einsum", "litert", "openvino"),
                value="unpadded",
            ),
        ),
        (
            {"layer": "einsum", "remove_padding": True},
            Message("remove_padding", "cannot be combined", value=True),
        ),
        (
            {"layer": "litert", "remove_padding": True},
            Message("remove_padding", "cannot be combined", value=True),
        ),
        (
            {"layer": "openvino", "remove_padding": True},
            Message("remove_padding", "cannot be combined", value=True),
        ),
    ],
)
def test_invalid_accelerations(options, message):
    with raises_message(message):
        Fast(**options)
