"""Options that change how the encoder computes, not what: outputs, losses and gradients stay.

Tolerances: 2e-5 absolute in float32; bfloat16 and float16 carry 8 and 11 bits, stated where they are used.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.fast.arithmetic import FastArithmetic
from bert_tf.fast.layout import PaddedLayout, UnpaddedLayout
from bert_tf.layers import attention_bias
from bert_tf.optimization import create_optimizer
from tests.encoders import make_encoder

CLOSE = 2e-5
OPTIONS = {
    "remove_padding": {"remove_padding": True},
    "recompute": {"recompute": True},
    "both": {"remove_padding": True, "recompute": True},
    "last_where_read": {"last_where_read": True},
    "einsum": {"einsum": True},
    "all": {"compiled": True, "last_where_read": True, "remove_padding": True, "recompute": True},
}


@pytest.fixture
def batch(reference_batches):
    """The first reference batch, of which 60 % are real tokens."""
    return {name: tf.constant(values[0]) for name, values in reference_batches.items()}


def make_pretrainer(reference, config, **options):
    model = models.BertPretrainer(make_encoder(config, **options))
    load_pretrained(model, str(reference / "pretrain_init.ckpt"))
    return model


def loss_and_gradients(model, batch, jit_compile=None):
    @tf.function(jit_compile=jit_compile)
    def compute():
        with tf.GradientTape() as tape:
            loss = losses.pretraining_loss(model(batch, training=True), batch)["loss"]
        return loss, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, model.trainable_variables)]
    return compute()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_outputs_at_real_tokens_stay(reference, reference_config, batch, options):
    plain = make_pretrainer(reference, reference_config).encoder(batch, training=True)
    other = make_pretrainer(reference, reference_config, **options).encoder(batch, training=True)
    real = batch["input_mask"].numpy() > 0
    for name in ("sequence_output", "embedding_output"):
        np.testing.assert_allclose(other[name][real], plain[name][real], rtol=0, atol=CLOSE)
        if "remove_padding" in options and "compiled" not in options:
            assert not np.any(other[name][~real])
    for first, second in zip(other["encoder_outputs"], plain["encoder_outputs"], strict=True):
        np.testing.assert_allclose(first[real], second[real], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(other["pooled_output"], plain["pooled_output"], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_loss_and_gradients_stay(reference, reference_config, batch, options):
    loss, gradients = loss_and_gradients(make_pretrainer(reference, reference_config), batch)
    model = make_pretrainer(reference, reference_config, **options)
    other_loss, other_gradients = loss_and_gradients(model, batch)
    np.testing.assert_allclose(other_loss, loss, rtol=0, atol=CLOSE)
    for variable, first, second in zip(model.trainable_variables, other_gradients, gradients, strict=True):
        np.testing.assert_allclose(first, second, rtol=0, atol=CLOSE, err_msg=variable.name)


@pytest.mark.parametrize(("policy", "close"), [("float32", 1e-6), ("mixed_bfloat16", 0), ("mixed_float16", 0)])
def test_a_vocabulary_filled_up_for_the_product_gives_the_same(reference, reference_config, batch, policy, close):
    """120 entries become 126 rows in the product: bitwise the same, but in float32 on CPUs without AVX-512."""
    plain, filled = (make_pretrainer(reference, reference_config, vocabulary_multiple=multiple, dtype=policy)
                     for multiple in (1, 9))
    assert filled(batch)["masked_lm_logits"].shape[-1] == reference_config.vocab_size
    loss, gradients = loss_and_gradients(plain, batch)
    other_loss, other_gradients = loss_and_gradients(filled, batch)
    np.testing.assert_allclose(other_loss, loss, rtol=close)
    for variable, first, second in zip(filled.variables, other_gradients, gradients, strict=True):
        np.testing.assert_allclose(first, second, rtol=0, atol=close * np.abs(second).max(), err_msg=variable.name)


@pytest.mark.parametrize(("options", "than", "activation"), [
    ({"recompute": True}, {}, "gelu"), ({"last_where_read": True}, {}, "gelu"),
    ({"last_where_read": True, "einsum": True}, {}, "gelu"),
    ({"compiled": True, "last_where_read": True, "remove_padding": True}, {"remove_padding": True},
     "gelu_exact")], ids=["recompute", "prune", "einsum", "on a CPU"])
def test_dropout_of_a_seed_stays(reference, reference_config, batch, options, than, activation):
    """Also where the number of tokens, 78 here, is filled up, and where the last layer is computed in part."""
    config = dataclasses.replace(reference_config, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3,
                                 hidden_act=activation)
    loss, gradients = loss_and_gradients(make_pretrainer(reference, config, seed=5, **than), batch)
    other_loss, other_gradients = loss_and_gradients(make_pretrainer(reference, config, seed=5, **options), batch)
    np.testing.assert_allclose(other_loss, loss, rtol=0, atol=CLOSE)
    for first, second in zip(other_gradients, gradients, strict=True):
        np.testing.assert_allclose(first, second, rtol=0, atol=CLOSE)


def test_one_arithmetic_is_chosen(reference_config):
    with pytest.raises(ValueError, match="`compiled` cannot be combined with `einsum`"):
        make_encoder(reference_config, compiled=True, einsum=True)


def test_packing_by_hand():
    mask = tf.constant([[1, 0, 1], [0, 0, 1]])
    rows = tf.reshape(tf.range(12.0), [2, 3, 2])
    layout = UnpaddedLayout(mask)
    packed = layout.tokens(rows)
    np.testing.assert_array_equal(packed, [[0, 1], [4, 5], [10, 11]])
    np.testing.assert_array_equal(
        layout.sequences(packed), [[[0, 1], [0, 0], [4, 5]], [[0, 0], [0, 0], [10, 11]]])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        loss = tf.reduce_sum(layout.tokens(rows) * [[2.0, 3.0], [5.0, 7.0], [11.0, 13.0]])
    np.testing.assert_array_equal(tape.gradient(loss, rows), [[[2, 3], [0, 0], [5, 7]], [[0, 0], [0, 0], [11, 13]]])
    np.testing.assert_array_equal(PaddedLayout(mask).sequences(PaddedLayout(mask).tokens(rows)), rows)


def test_tokens_filled_up_by_hand():
    """Three real tokens and a multiple of 2: the first padding comes along, after them."""
    layout = UnpaddedLayout(tf.constant([[1, 0, 1], [0, 0, 1]]), multiple=2)
    rows = tf.reshape(tf.range(12.0), [2, 3, 2])
    packed = layout.tokens(rows)
    assert layout.num_tokens == 3
    np.testing.assert_array_equal(packed, [[0, 1], [4, 5], [10, 11], [2, 3]])
    np.testing.assert_array_equal(
        layout.sequences(packed), [[[0, 1], [2, 3], [4, 5]], [[0, 0], [0, 0], [10, 11]]])
    assert UnpaddedLayout(tf.ones([1, 3], tf.int32), multiple=2).tokens(rows[:1]).shape == [3, 2]  # there are no more


@pytest.mark.parametrize("prune", [False, True])
def test_a_batch_of_padding_alone_is_finite(reference_config, prune):
    encoder = make_encoder(reference_config, remove_padding=True, last_where_read=prune)
    empty = {name: tf.zeros([2, 5], tf.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    assert np.isfinite(encoder(empty)["pooled_output"]).all()
    assert np.isfinite(models.BertClassifier(encoder, 3)(empty)["logits"]).all()


def test_attention_scores_are_those_that_made_the_output(reference, reference_config, batch):
    encoder = make_pretrainer(reference, reference_config).encoder
    outputs = encoder.observe(batch)
    plain = encoder(batch)
    assert outputs.keys() - plain.keys() == {"attention"}
    np.testing.assert_array_equal(outputs["sequence_output"], plain["sequence_output"])
    batch_size, length = batch["input_ids"].shape
    assert [each.probabilities.shape for each in outputs["attention"]] == [[batch_size, 4, length, length]] * 2
    np.testing.assert_allclose(tf.reduce_sum(outputs["attention"][0].probabilities, axis=-1), np.ones([4, 4, 32]),
                               rtol=1e-5)

    attention = encoder.encoder_layers[0].attention
    qkv = attention.qkv(tf.reshape(outputs["embedding_output"], [-1, 32])).numpy().reshape(batch_size, length, 3, 4, 8)
    query, key = qkv[:, :, 0], qkv[:, :, 1]
    scores = np.einsum("bfnd,btnd->bnft", query, key) / np.sqrt(8) + attention_bias(batch["input_mask"]).numpy()
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(outputs["attention"][0].probabilities,
                               exponentials / exponentials.sum(-1, keepdims=True), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("options", [{}, {"recompute": True}], ids=["plain", "recompute"])
def test_xla_gives_the_same(reference, reference_config, batch, options):
    loss, gradients = loss_and_gradients(make_pretrainer(reference, reference_config), batch)
    model = make_pretrainer(reference, reference_config, **options)
    other_loss, other_gradients = loss_and_gradients(model, batch, jit_compile=True)
    np.testing.assert_allclose(other_loss, loss, rtol=0, atol=CLOSE)
    for first, second in zip(other_gradients, gradients, strict=True):
        np.testing.assert_allclose(first, second, rtol=0, atol=CLOSE)


def test_a_training_step_under_xla(reference, reference_config, batch):
    def after_two_steps(jit_compile):
        model = make_pretrainer(reference, reference_config)
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
    for plain, compiled in zip(after_two_steps(None), after_two_steps(True), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=CLOSE)


def test_blocks_are_compiled_once_for_all_layers(reference, reference_config, batch):
    """Forward and backward of two blocks: four functions, which every layer of every model calls."""
    def functions_of(num_layers):
        config = dataclasses.replace(reference_config, num_hidden_layers=num_layers)
        model = models.BertPretrainer(make_encoder(config, compiled=True))
        graph = tf.function(lambda: tf.gradients(
            losses.pretraining_loss(model(batch, training=True), batch)["loss"], model.trainable_variables)
        ).get_concrete_function().graph
        calls = [operation for operation in graph.get_operations() if "_XlaMustCompile" in operation.node_def.attr
                 and operation.get_attr("_XlaMustCompile")]
        assert len(calls) == 6 * num_layers
        return {call.get_attr("f").name for call in calls}
    assert len(functions_of(3)) == 4
    assert functions_of(2) == functions_of(3)


def test_blocks_are_of_training_alone(reference_config, batch):
    """Elsewhere the graph optimizer fuses product, bias and activation, which it cannot with a block between them."""
    model = models.BertPretrainer(make_encoder(reference_config, compiled=True))
    graph = tf.function(lambda: model(batch)).get_concrete_function().graph
    assert not any("_XlaMustCompile" in operation.node_def.attr for operation in graph.get_operations())


def test_a_pruned_last_layer_multiplies_less(reference_config, batch):
    """3 positions of 32 and [CLS] of 6 predictions: the last products have 4 * 7 rows."""
    def rows_of_products(**options):
        model = models.BertPretrainer(make_encoder(reference_config, **options))
        graph = tf.function(lambda: model(batch)["masked_lm_logits"]).get_concrete_function().graph
        return [operation.outputs[0].shape[0] for operation in graph.get_operations() if operation.type == "MatMul"]
    batch_size, length = batch["input_ids"].shape
    predictions = batch["masked_lm_positions"].shape[1]
    whole, pruned = rows_of_products(), rows_of_products(last_where_read=True)
    assert whole.count(batch_size * length) == pruned.count(batch_size * length) + 3  # of four in a layer
    assert pruned.count(batch_size * (1 + predictions)) == 3


# Unit roundoff: 2^-8 of bfloat16, 2^-11 of float16; activations here are of size 1 to 3, after two layers.
@pytest.mark.parametrize(("policy", "tolerance"), [("mixed_bfloat16", 0.1), ("mixed_float16", 0.02)])
def test_mixed_precision(reference, reference_config, batch, policy, tolerance):
    plain = make_pretrainer(reference, reference_config)
    mixed = make_pretrainer(reference, reference_config, dtype=policy)
    assert all(variable.dtype == tf.float32 for variable in mixed.trainable_variables)
    encoded = mixed.encoder(batch)
    assert encoded["sequence_output"].dtype == tf_keras.mixed_precision.Policy(policy).compute_dtype
    difference = np.abs(tf.cast(encoded["sequence_output"], tf.float32) - plain.encoder(batch)["sequence_output"])
    assert 1e-4 < difference.max() < tolerance  # it is another precision, and close
    outputs = mixed(batch)
    assert outputs["masked_lm_logits"].dtype == outputs["next_sentence_logits"].dtype == tf.float32
    np.testing.assert_allclose(losses.pretraining_loss(outputs, batch)["loss"],
                               losses.pretraining_loss(plain(batch), batch)["loss"], rtol=tolerance / 10)


def test_softmax_and_layer_norm_stay_in_float32(reference_config):
    layer = models.BertEncoder(reference_config, dtype="mixed_bfloat16").encoder_layers[0]
    assert layer.attention_norm.gamma.dtype == tf.float32
    # 1000 + 0..3 in bfloat16 would be one value; statistics in float32 see x as it is given.
    x = tf.cast(tf.reshape(tf.range(64.0) % 8 * 8, [2, 32]), tf.bfloat16)
    normed = tf.cast(layer.attention_norm(x), tf.float32).numpy()
    expected = (x.numpy().astype(np.float32) - 28) / np.sqrt(336)
    np.testing.assert_allclose(normed, expected, rtol=2**-8)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-7), ("bfloat16", 2**-8), ("float16", 2**-10)])
def test_the_gradient_of_probabilities_in_16_bits(dtype, tolerance):
    """Beside TensorFlow's own in float64, of values near 1; and what is kept for it is in 16 bits too."""
    random = np.random.default_rng(3)
    scores, upstream = (tf.constant(random.normal(size=(2, 3, 5, 7)), dtype) for _ in range(2))
    bias = tf.constant(random.normal(size=(2, 1, 1, 7)), tf.float32)

    @tf.function
    def gradient(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            probabilities = FastArithmetic().softmax(scores, bias, training=True)
        return probabilities, tape.gradient(probabilities, scores, upstream)

    wide = tf.cast(scores, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(wide)
        expected = tf.nn.softmax(wide + tf.cast(bias, tf.float64))
    ours = gradient(scores)
    assert [value.dtype for value in ours] == [scores.dtype] * 2
    exact = expected, tape.gradient(expected, wide, tf.cast(upstream, tf.float64))
    for value, other in zip(ours, exact, strict=True):
        np.testing.assert_allclose(tf.cast(value, tf.float64), other, rtol=0, atol=tolerance)
    operations = gradient.get_concrete_function(scores).graph.get_operations()
    softmax, = (operation for operation in operations if operation.type == "Softmax")
    assert (len(softmax.outputs[0].consumers()) == 1) == (dtype != "float32")  # else the gradient reads it again


def test_loss_scaling_with_float16(reference, reference_config, batch):
    """Scaled by 2^10 and back, a step of AdamW lands where the unscaled one does, to float16's precision."""
    def after_a_step(scale):
        model = make_pretrainer(reference, reference_config, dtype="mixed_float16")
        optimizer = create_optimizer(1e-3, 10, 0)
        if scale:
            optimizer = tf_keras.mixed_precision.LossScaleOptimizer(optimizer, dynamic=False, initial_scale=2**10)
        with tf.GradientTape() as tape:
            loss = losses.pretraining_loss(model(batch, training=True), batch)["loss"]
            scaled = optimizer.get_scaled_loss(loss) if scale else loss
        gradients = tape.gradient(scaled, model.trainable_variables)
        if scale:
            gradients = optimizer.get_unscaled_gradients(gradients)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return model.encoder.pooler.kernel.numpy()
    before = make_pretrainer(reference, reference_config).encoder.pooler.kernel.numpy()
    plain, scaled = after_a_step(False), after_a_step(True)
    assert np.abs(plain - before).max() > 1e-3  # 3.16 rates
    assert np.median(np.abs(scaled - plain)) < 1e-4


def test_two_trainings_with_one_seed_end_alike(reference_config, batch):
    config = dataclasses.replace(reference_config, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)

    def train():
        model = models.BertPretrainer(models.BertEncoder(config, seed=3))
        optimizer = create_optimizer(1e-3, 5, 1)

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = losses.pretraining_loss(model(batch, training=True), batch)["loss"]
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        for _ in range(3):
            step()
        return model.trainable_variables
    for first, second in zip(train(), train(), strict=True):
        np.testing.assert_array_equal(first, second)
