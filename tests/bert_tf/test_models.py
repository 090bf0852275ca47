import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.layers.attention import attention_bias
from bert_tf.layers.basic import LayerNorm, Projection, SeededDropout, WeightInitializer

B, S, H, N, L, V, P, SEGMENTS, LABELS = 2, 5, 6, 3, 4, 23, 7, 8, 9
CONFIG = BertConfig(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=N, intermediate_size=11,
                    max_position_embeddings=13, type_vocab_size=SEGMENTS, hidden_dropout_prob=0.2,
                    attention_probs_dropout_prob=0.3)


@pytest.fixture
def features():
    generator = np.random.default_rng(3)
    return {
        "input_ids": tf.constant(generator.integers(0, V, [B, S]), tf.int32),
        "input_mask": tf.constant([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], tf.int32),
        "segment_ids": tf.constant(generator.integers(0, SEGMENTS, [B, S]), tf.int32),
        "masked_lm_positions": tf.constant(generator.integers(0, S, [B, P]), tf.int32),
    }


def test_encoder_shapes(features):
    outputs = models.BertEncoder(CONFIG)(features)
    assert outputs["sequence_output"].shape == [B, S, H]
    assert outputs["embedding_output"].shape == [B, S, H]
    assert outputs["pooled_output"].shape == [B, H]
    assert [output.shape for output in outputs["encoder_outputs"]] == [[B, S, H]] * L


@pytest.mark.parametrize(("make", "shapes"), [
    (models.BertPretrainer, {"masked_lm_logits": [B, P, V], "next_sentence_logits": [B, 2]}),
    (lambda config: models.BertClassifier(config, LABELS), {"logits": [B, LABELS]}),
    (lambda config: models.BertTokenClassifier(config, LABELS), {"logits": [B, S, LABELS]}),
    (models.BertSpanLabeler, {"start_logits": [B, S], "end_logits": [B, S]}),
])
def test_task_model_shapes(features, make, shapes):
    model = make(CONFIG)
    eager = model(features)
    graph = tf.function(model)(features)
    for outputs in (eager, graph):
        assert {name: value.shape for name, value in outputs.items()} == shapes
    for name, value in eager.items():
        assert value.dtype == tf.float32
        np.testing.assert_allclose(value, graph[name], rtol=0, atol=1e-6)
    assert isinstance(model.encoder, models.BertEncoder)


def test_multiple_choice_scores_each_choice_alone(features):
    choices = 4
    model = models.BertMultipleChoice(CONFIG)
    texts = {name: tf.stack([tf.roll(value, shift, axis=1) for shift in range(choices)], axis=1)
             for name, value in features.items()}  # [B, choices, S]
    logits = model(texts)["logits"]
    assert logits.shape == [B, choices]
    alone = models.BertClassifier.call(model, {name: value[:, 2] for name, value in texts.items()})["logits"]
    np.testing.assert_allclose(logits[:, 2], alone[:, 0], rtol=0, atol=1e-6)


def test_padding_does_not_reach_real_tokens(features):
    encoder = models.BertEncoder(CONFIG)
    other = features["input_ids"].numpy()
    other[1, 3:] = (other[1, 3:] + 1) % V
    before = encoder(features)["sequence_output"].numpy()
    after = encoder({**features, "input_ids": tf.constant(other)})["sequence_output"].numpy()
    np.testing.assert_array_equal(before[1, :3], after[1, :3])
    assert np.abs(before[1, 3:] - after[1, 3:]).max() > 1e-3


def test_mask_is_minus_ten_thousand():
    np.testing.assert_array_equal(attention_bias(tf.constant([[1, 0, 1]])), [[[[0, -10000, 0]]]])


def test_a_row_without_real_tokens_is_finite(features):
    outputs = models.BertEncoder(CONFIG)({**features, "input_mask": tf.zeros([B, S], tf.int32)})
    assert np.isfinite(outputs["pooled_output"]).all()


def test_sequence_over_the_position_table(features):
    too_long = {name: tf.ones([B, 14], tf.int32) for name in features}
    with pytest.raises(ValueError, match="the sequence length, 14, is over max_position_embeddings, 13"):
        models.BertEncoder(CONFIG)(too_long)


def test_variable_names_are_the_originals(reference, reference_config):
    import json

    from bert_tf.checkpoints.tf1 import original_names

    for kind, model in (("pretrain", models.BertPretrainer(reference_config)),
                        ("classify", models.BertClassifier(reference_config, 3))):
        found = [name for variable in model.variables for name in original_names(variable.name.removesuffix(":0"))]
        assert sorted(found) == sorted(json.loads((reference / f"{kind}_variables.json").read_text()))


def test_names_do_not_depend_on_where_a_model_is_made():
    with tf.name_scope("somewhere"):
        model = models.BertClassifier(CONFIG, LABELS)
    assert {variable.name.split("/")[0] for variable in model.variables} == {"bert", "output_weights:0",
                                                                            "output_bias:0"}


def test_initial_weights_depend_on_the_seed_alone():
    first, again, other = (models.BertPretrainer(models.BertEncoder(CONFIG, seed=seed)) for seed in (5, 5, 6))
    for a, b, c in zip(first.variables, again.variables, other.variables, strict=True):
        np.testing.assert_array_equal(a, b)
        if "kernel" in a.name or ("embeddings" in a.name and "LayerNorm" not in a.name):
            assert np.abs(a.numpy() - c.numpy()).max() > 0


def test_initial_weights_are_a_truncated_normal():
    values = WeightInitializer(0.02, seed=1)([211, 307]).numpy()
    assert np.abs(values).max() <= 0.04
    # A normal cut at two standard deviations has 0.8796 of its deviation.
    assert values.std() == pytest.approx(0.02 * 0.8796, rel=0.02)


def test_dropout_draws_anew_at_each_call_and_repeats_with_the_seed(features):
    def outputs(seed):
        model = models.BertClassifier(models.BertEncoder(CONFIG, seed=seed), LABELS)
        return [model(features, training=True)["logits"].numpy() for _ in range(2)]

    first, second = outputs(5)
    assert np.abs(first - second).max() > 1e-4
    np.testing.assert_array_equal(outputs(5), [first, second])


def test_no_dropout_outside_training(features):
    model = models.BertClassifier(CONFIG, LABELS)
    np.testing.assert_array_equal(model(features)["logits"], model(features)["logits"])


def test_dropout_keeps_the_mean():
    ones = tf.ones([301, 401])
    dropped = SeededDropout(0.2)(ones, seed=tf.constant([3, 4])).numpy()
    kept = 2**16 / (2**16 - round(0.2 * 2**16))  # 1.25, but for the rounding of the rate
    assert set(np.unique(dropped)) == {0.0, np.float32(kept)}
    assert (dropped == 0).mean() == pytest.approx(0.2, abs=0.005)
    assert dropped.mean() == pytest.approx(1, abs=0.005)
    np.testing.assert_array_equal(SeededDropout(0.2)(ones, seed=tf.constant([3, 4])), dropped)


@pytest.mark.parametrize("rows", [302, 301, 1])
def test_dropout_decides_over_each_half_by_itself(rows):
    """One word of random bits decides over an element of the first half of the rows and over one of the second."""
    kept = SeededDropout(0.3)(tf.ones([rows, 2003]), seed=tf.constant([3, 4])).numpy() > 0
    first, second = kept[: (rows + 1) // 2], kept[(rows + 1) // 2 :]
    for half in (first, second):
        if half.size:
            deviation = (0.3 * 0.7 / half.size) ** 0.5
            assert half.mean() == pytest.approx(0.7, abs=4 * deviation)
    if second.size:
        pairs = second.size
        both = (first[: len(second)] & second).mean()
        assert both == pytest.approx(0.49, abs=4 * (0.49 * 0.51 / pairs) ** 0.5)


def test_dropout_and_its_gradient_have_one_mask():
    x = tf.constant([[1.0, -2.0, 3.0, 4.0], [5.0, 6.0, -7.0, 8.0], [9.0, 1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        dropped = SeededDropout(0.5)(x, seed=tf.constant([3, 5]))
    gradient = tape.gradient(dropped, x, output_gradients=tf.fill([3, 4], 3.0)).numpy()
    assert set(np.unique(gradient)) == {0.0, 6.0}
    np.testing.assert_array_equal(dropped, gradient / 3 * x)


def test_layer_norm_by_hand():
    layer = LayerNorm(4)
    layer.gamma.assign([1, 2, 3, 4])
    layer.beta.assign([5, 6, 7, 8])
    # mean 2, variance 5: deviations -2, -1, 0, 3 ... of 0, 1, 2, 5
    x = np.array([0.0, 1.0, 2.0, 5.0])
    expected = (x - 2) / np.sqrt(3.5) * [1, 2, 3, 4] + [5, 6, 7, 8]
    np.testing.assert_allclose(layer(tf.constant(x[None], tf.float32))[0], expected, rtol=1e-6)


def test_layer_norm_epsilon_is_tiny():
    """Values 1e-4 apart have variance 2.5e-9: with epsilon 1e-12 they come out as -1 and 1, with 1e-5 near 0."""
    x = tf.constant([[0.0, 1e-4]])
    np.testing.assert_allclose(LayerNorm(2)(x), [[-1, 1]], rtol=1e-3)


@pytest.mark.parametrize(("activation", "expected"), [
    ("gelu", 0.841192), ("gelu_exact", 0.841345), ("relu", 1.0), ("tanh", 0.761594), ("linear", 1.0)])
def test_activations(activation, expected):
    """At 1: the tanh form of GELU and the exact one differ in the fourth digit."""
    layer = Projection(2, 3, WeightInitializer(1.0, 0), activation, name="dense")
    layer.kernel.assign(np.eye(2, 3))
    assert float(layer(tf.constant([[1.0, 0.0]]))[0, 0]) == pytest.approx(expected, abs=1e-6)


def test_pretraining_heads_have_no_dropout_of_their_own(features):
    """With the same draws in the encoder, the heads add none: neither NSP nor the masked LM has dropout."""
    whole, parts = (models.BertPretrainer(models.BertEncoder(CONFIG, seed=5)) for _ in range(2))
    outputs = whole(features, training=True)
    encoded = parts.encoder(features, training=True)
    np.testing.assert_array_equal(outputs["next_sentence_logits"], parts.next_sentence(encoded["pooled_output"]))
    positions = features["masked_lm_positions"]
    masked = tf.reshape(tf.gather(encoded["sequence_output"], positions, batch_dims=1), [-1, H])
    logits = parts.masked_lm(masked, parts.encoder.embeddings)
    np.testing.assert_array_equal(outputs["masked_lm_logits"], tf.reshape(logits, [B, P, V]))


@pytest.mark.parametrize(("hidden", "attention"), [(0.3, 0.0), (0.0, 0.3)])
def test_hidden_and_attention_dropout_are_two_rates(features, hidden, attention):
    config = dataclasses.replace(CONFIG, hidden_dropout_prob=hidden, attention_probs_dropout_prob=attention)
    encoder = models.BertEncoder(config)
    plain, training = encoder(features), encoder(features, training=True)
    dropped = (training["embedding_output"].numpy() == 0).mean()
    assert dropped == pytest.approx(hidden, abs=0.15)  # of 60 elements; attention dropout must not reach these
    assert np.abs(training["sequence_output"] - plain["sequence_output"]).max() > 1e-3


def test_a_span_labeler_is_traced_for_any_length(reference_config):
    model = models.BertSpanLabeler(reference_config)
    traced = tf.function(lambda features: model(features), input_signature=[
        {name: tf.TensorSpec([None, None], tf.int32) for name in ("input_ids", "input_mask", "segment_ids")}])
    for length in (7, 11):
        ones = tf.ones([3, length], tf.int32)
        outputs = traced({"input_ids": ones, "input_mask": ones, "segment_ids": 0 * ones})
        assert outputs["start_logits"].shape == outputs["end_logits"].shape == (3, length)
