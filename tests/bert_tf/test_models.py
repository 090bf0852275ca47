"""Task models and basic layers: rejected features, initial weights, dropout, and BiLSTM heads."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import models
from bert_tf.fast import BitDropout
from bert_tf.layers import LayerNorm, Projection, WeightInitializer
from bert_tf.layers.recurrent import BiLSTMHead
from tests.bert_tf.keras_cases import CONFIG, FEATURES, LABELS, B, H, P, V
from tests.encoders import make_encoder, make_features
from tests.errors import Message, raises_message, rejects
from tests.numpy_lstm import bidirectional


def test_a_sequence_longer_than_the_position_embeddings():
    too_long = {name: tf.ones([B, 14], tf.int32) for name in FEATURES}
    with rejects(None, "the sequence length, 14", "max_position_embeddings, 13"):
        models.BertEncoder(CONFIG)(too_long)


@pytest.mark.parametrize(
    "options", [{}, {"remove_padding": True, "last_where_read": True}, {"one_hot": True}]
)
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "segment_ids",
            CONFIG.type_vocab_size,
            Message(None, "segment_ids", "from 0 to 7", "contain 8"),
        ),
        ("input_ids", -1, Message(None, "input_ids", f"from 0 to {V - 1}", "contain -1")),
    ],
)
def test_eager_calls_check_ids(options, name, value, message):
    invalid = FEATURES[name].numpy()
    invalid[1, 2] = value
    encoder = make_encoder(CONFIG, **options)
    for model in (encoder, models.BertClassifier(encoder, LABELS), models.BertSpanLabeler(encoder)):
        model(FEATURES)
        with raises_message(message):
            model({**FEATURES, name: tf.constant(invalid)})


@pytest.mark.parametrize(
    "make",
    [
        models.BertEncoder,
        models.BertPretrainer,
        lambda config: models.BertClassifier(config, LABELS),
        models.BertMultipleChoice,
        lambda config: models.BertLongTextClassifier(config, LABELS),
    ],
)
@pytest.mark.parametrize(
    "invalid",
    [
        {name: tf.ones([1, 2], tf.int32) for name in ("input_ids", "input_mask")},
        tf.ones([1, 2], tf.int32),
    ],
)
def test_other_features(make, invalid):
    with rejects("features", "a dict of input_ids, input_mask, segment_ids", "BertTok"):
        make(CONFIG)(invalid)


def test_features_of_64_bits():
    """Other tokenizers return them; NumPy's integers have them."""
    model = models.BertClassifier(
        make_encoder(CONFIG, remove_padding=True, last_where_read=True), LABELS
    )
    expected = model(FEATURES)["logits"]
    for features in (
        {name: tf.cast(value, tf.int64) for name, value in FEATURES.items()},
        {name: value.numpy().astype(np.int64) for name, value in FEATURES.items()},
    ):
        np.testing.assert_array_equal(model(features)["logits"], expected)
        np.testing.assert_allclose(
            model.predict(features, verbose=0)["logits"], expected, rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("embedding_size", [None, 5])
@pytest.mark.parametrize("options", [{}, {"vocabulary_multiple": 16, "last_where_read": True}])
def test_an_output_matrix_of_its_own(options, embedding_size):
    """The scores, and their gradients, are those of this matrix, not of the word embeddings."""
    config = dataclasses.replace(CONFIG, embedding_size=embedding_size)
    untied = dataclasses.replace(config, tie_word_embeddings=False)
    features = {**FEATURES, "masked_lm_positions": tf.zeros([B, P], tf.int32) + 1}
    model = models.BertPretrainer(make_encoder(untied, **options))
    head = model.masked_lm
    assert head.output_weights.name == "cls/predictions/output_weights:0"
    assert head.output_weights.shape == [V, H]
    with tf.GradientTape() as tape:
        logits = model(features)["masked_lm_logits"]
    gradient = tape.gradient(logits, head.output_weights)
    assert np.abs(gradient).max() > 0
    states = model.encoder(features)["sequence_output"][:, 1]
    expected = head.layer_norm(head.transform(states)).numpy() @ head.output_weights.numpy().T
    np.testing.assert_allclose(logits[:, 0], expected, rtol=0, atol=1e-4)
    tied = models.BertPretrainer(make_encoder(config, **options))
    assert tied.masked_lm.output_weights is None
    assert len(tied.variables) == len(model.variables) - 1


def test_initial_weights_depend_on_the_seed_alone():
    first, again, other = (
        models.BertPretrainer(models.BertEncoder(CONFIG, seed=seed)) for seed in (5, 5, 6)
    )
    for a, b, c in zip(first.variables, again.variables, other.variables, strict=True):
        np.testing.assert_array_equal(a, b)
        if "kernel" in a.name or ("embeddings" in a.name and "LayerNorm" not in a.name):
            assert np.any(a != c), a.name


def test_initial_weights_are_a_truncated_normal():
    values = WeightInitializer(0.02, seed=1)([211, 307]).numpy()
    assert np.abs(values).max() <= 0.04
    # A normal truncated at two standard deviations has 0.8796 of its standard deviation.
    assert values.std() == pytest.approx(0.02 * 0.8796, rel=0.02)


def test_dropout_differs_between_calls_and_depends_on_the_seed_alone():
    def compute(seed):
        model = models.BertClassifier(models.BertEncoder(CONFIG, seed=seed), LABELS)
        # There is no dropout in inference.
        np.testing.assert_array_equal(model(FEATURES)["logits"], model(FEATURES)["logits"])
        return [model(FEATURES, training=True)["logits"].numpy() for _ in range(2)]

    first, second = compute(5)
    assert np.abs(first - second).max() > 1e-4
    np.testing.assert_array_equal(compute(5), [first, second])


@pytest.mark.parametrize("rows", [302, 301, 1])
def test_dropout_samples_each_half_of_the_rows_independently(rows):
    """Each word of random bits decides on an element of the first half and on one of the second."""
    ones = tf.ones([rows, 2003])
    dropped = BitDropout(0.3)(ones, seed=tf.constant([3, 4])).numpy()
    np.testing.assert_array_equal(BitDropout(0.3)(ones, seed=tf.constant([3, 4])), dropped)
    scale = 2**16 / (2**16 - round(0.3 * 2**16))  # 1 / 0.7, except for the rounding of the rate.
    assert set(np.unique(dropped)) == {0.0, np.float32(scale)}
    first, second = np.split(dropped > 0, [(rows + 1) // 2])
    for half in (first, second):
        if half.size:
            assert half.mean() == pytest.approx(0.7, abs=4 * (0.3 * 0.7 / half.size) ** 0.5)
    if second.size:
        both = (first[: len(second)] & second).mean()
        assert both == pytest.approx(0.49, abs=4 * (0.49 * 0.51 / second.size) ** 0.5)


def test_dropout_and_its_gradient_have_the_same_mask():
    x = tf.constant([[1.0, -2.0, 3.0, 4.0], [5.0, 6.0, -7.0, 8.0], [9.0, 1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        dropped = BitDropout(0.5)(x, seed=tf.constant([3, 5]))
    gradient = tape.gradient(dropped, x, output_gradients=tf.fill([3, 4], 3.0)).numpy()
    assert set(np.unique(gradient)) == {0.0, 6.0}
    np.testing.assert_array_equal(dropped, gradient / 3 * x)


@pytest.mark.parametrize(("hidden", "attention"), [(0.3, 0.0), (0.0, 0.3)])
def test_hidden_and_attention_dropout_have_separate_rates(hidden, attention):
    config = dataclasses.replace(
        CONFIG, hidden_dropout_prob=hidden, attention_probs_dropout_prob=attention
    )
    encoder = models.BertEncoder(config)
    plain = encoder(FEATURES)
    training = encoder(FEATURES, training=True)
    assert np.any(training["embedding_output"] == 0) == (hidden > 0)
    assert np.abs(training["sequence_output"] - plain["sequence_output"]).max() > 1e-3


def test_pretraining_heads_have_no_dropout():
    """With the same dropout in the encoder, the heads add none."""
    model, parts = (models.BertPretrainer(models.BertEncoder(CONFIG, seed=5)) for _ in range(2))
    outputs = model(FEATURES, training=True)
    all_outputs = parts.encoder(FEATURES, training=True)
    np.testing.assert_array_equal(
        outputs["next_sentence_logits"], parts.next_sentence(all_outputs["pooled_output"])
    )
    masked = tf.gather(
        all_outputs["sequence_output"], FEATURES["masked_lm_positions"], batch_dims=1
    )
    logits = parts.masked_lm(tf.reshape(masked, [-1, H]), parts.encoder.embeddings)
    np.testing.assert_array_equal(outputs["masked_lm_logits"], tf.reshape(logits, [B, P, V]))


def test_layer_norm_of_a_small_variance():
    """The variance is 2.5e-9: an epsilon of 1e-12 is negligible, and 1e-5 gives values near 0."""
    np.testing.assert_allclose(LayerNorm(2)(tf.constant([[0.0, 1e-4]])), [[-1, 1]], rtol=1e-3)


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("gelu", -0.158808),
        ("gelu_exact", -0.158655),
        ("relu", 0.0),
        ("tanh", -0.761594),
        ("linear", -1.0),
    ],
)
def test_activations(activation, expected):
    """At -1, the tanh form of GELU and the exact one differ in the fourth digit."""
    layer = Projection(2, 3, WeightInitializer(1.0, 0), activation, name="dense")
    layer.kernel.assign(np.eye(2, 3))
    assert float(layer(tf.constant([[-1.0, 0.0]]))[0, 0]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"remove_padding": True}])
@pytest.mark.parametrize(("pooling", "pool"), [("mean", np.mean), ("max", np.max)])
def test_pooled_logits_of_long_texts(pooling, pool, options):
    """The logits of texts of 2, 4, and 1 windows are those of a plain classifier.

    The logits of a single window are not pooled.
    """
    config = dataclasses.replace(CONFIG, initializer_range=0.3)
    windows = make_features(config, (5, 3, 0, 0, 5, 5, 5, 2, 4, 0, 0, 0))
    texts = {name: tf.reshape(value, [3, 4, 5]) for name, value in windows.items()}
    plain = models.BertClassifier(models.BertEncoder(config, seed=5), 3)
    model = models.BertLongTextClassifier(make_encoder(config, seed=5, **options), 3, pooling)
    expected = [
        pool(
            plain({name: values[number, :count] for name, values in texts.items()})["logits"],
            axis=0,
        )
        for number, count in enumerate((2, 4, 1))
    ]
    np.testing.assert_allclose(model(texts)["logits"], expected, rtol=0, atol=1e-5)
    observed = model(texts, return_attention_scores=True)
    np.testing.assert_allclose(observed["logits"], expected, rtol=0, atol=1e-5)
    single = {name: values[:, 0] for name, values in texts.items()}
    np.testing.assert_allclose(model(single)["logits"], plain(single)["logits"], rtol=0, atol=1e-5)


LENGTHS = (7, 1, 4, 5)
WITH_BILSTM = dataclasses.replace(
    CONFIG, attention="causal", bilstm_head=True, initializer_range=0.3
)
ROWS = make_features(WITH_BILSTM, LENGTHS)
CHOICES = {name: tf.reshape(value, [2, 2, 7]) for name, value in ROWS.items()}
MODELS = {
    "classifier": lambda encoder: models.BertClassifier(encoder, LABELS),
    "tagger": lambda encoder: models.BertTokenClassifier(encoder, LABELS),
    "spans": models.BertSpanLabeler,
    "choices": models.BertMultipleChoice,
    "long texts": lambda encoder: models.BertLongTextClassifier(encoder, LABELS),
}


def test_initial_weights_of_a_bilstm():
    """Of a head with the seed s, the directions have the seeds 2 s and 2 s + 1."""
    lstm = BiLSTMHead(6, seed=5).lstm.both
    for layer, seed in ((lstm.forward_layer, 10), (lstm.backward_layer, 11)):
        kernel, recurrent, _ = layer.cell.get_weights()
        expected = tf_keras.initializers.GlorotUniform(2 * seed)(kernel.shape)
        np.testing.assert_array_equal(kernel, expected)
        expected = tf_keras.initializers.Orthogonal(seed=2 * seed + 1)(recurrent.shape)
        np.testing.assert_array_equal(recurrent, expected)


def read_plainly(model):
    """Returns the BiLSTM's outputs, computed in NumPy, a list of [length, H] for ROWS."""
    states = make_encoder(WITH_BILSTM)(ROWS)["sequence_output"].numpy()
    weights = [variable.numpy() for variable in model.bilstm.trainable_variables]
    return [
        bidirectional(row[:length], weights) for row, length in zip(states, LENGTHS, strict=True)
    ]


def apply_head(model, vectors):
    return vectors @ model.head.output_weights.numpy().T + model.head.output_bias.numpy()


def summarize(outputs):
    """Returns the last output of each direction, [rows, H]."""
    return np.stack([np.concatenate([row[-1, : H // 2], row[0, H // 2 :]]) for row in outputs])


@pytest.mark.parametrize(
    "options", [{}, {"remove_padding": True, "last_where_read": True}], ids=["plain", "fast"]
)
@pytest.mark.parametrize("name", MODELS)
def test_outputs_with_a_bilstm(name, options):
    model = MODELS[name](make_encoder(WITH_BILSTM, **options))
    for number, variable in enumerate(model.bilstm.trainable_variables):
        variable.assign(np.random.default_rng(number).normal(size=variable.shape))
    features = CHOICES if name in ("choices", "long texts") else ROWS
    outputs = model(features)
    rows = read_plainly(model)
    if name in ("tagger", "spans"):
        found = outputs["logits"] if name == "tagger" else tf.stack(list(outputs.values()), axis=-1)
        for row, logits in zip(rows, found.numpy(), strict=True):
            np.testing.assert_allclose(logits[: len(row)], apply_head(model, row), atol=2e-6)
    else:
        expected = apply_head(model, summarize(rows))
        if name != "classifier":
            expected = expected.reshape(2, 2, -1)
            expected = expected[..., 0] if name == "choices" else expected.mean(axis=1)
        np.testing.assert_allclose(outputs["logits"], expected, atol=2e-6)
    complete = model(features, return_attention_scores=True)
    for key, value in outputs.items():
        np.testing.assert_allclose(complete[key], value, atol=2e-6)
    assert complete["encoder"]["sequence_output"].shape == [4, 7, H]


def test_packed_rows_with_a_bilstm():
    with rejects(None, "packed rows cannot be combined", "BiLSTM"):
        models.BertTokenClassifier(WITH_BILSTM, LABELS)({**ROWS, "positions": ROWS["input_mask"]})
