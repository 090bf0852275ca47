"""The operations for XLA in 16 bits: attention, GELU, and layer normalization."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.fast.dropout import Drop, create_drop, hash_words
from bert_tf.fast.einsum import attend, normalize_in_one_pass
from bert_tf.layers import attention_bias
from bert_tf.layers.basic import normalize
from tests.encoders import make_encoder
from tests.gradients import compute_gradients

BATCH = 2
QUERIES = 3
KEYS = 5
HEADS = 4
WIDTH = 6
MASK = tf.constant([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
PACKED = tf.constant([[1, 1, 2, 2, 0], [1, 2, 2, 3, 3]])
BIASES = {
    "masked": attention_bias(MASK),
    "packed": attention_bias(PACKED, is_packed=True)[:, :, :QUERIES],
    "no token": attention_bias(tf.zeros([BATCH, KEYS], tf.int32)),
}


def differentiate(function, inputs, upstream):
    """Returns a function's output and its gradients, float64 arrays."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = function(*inputs)
    gradients = tape.gradient(output, inputs, tf.cast(upstream, output.dtype))
    return [tf.cast(each, tf.float64).numpy() for each in (output, *gradients)]


def check(found, expected, tolerance):
    """Compares arrays by the norm of their difference, relative to that of the expected array."""
    for value, exact in zip(found, expected, strict=True):
        assert np.linalg.norm(value - exact) <= tolerance * np.linalg.norm(exact)


@pytest.mark.parametrize("bias", BIASES.values(), ids=BIASES)
@pytest.mark.parametrize("rate", [None, 0.0, 0.3])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float64", 1e-10), ("bfloat16", 2**-5), ("float16", 2**-8)]
)
def test_attention_equals_automatic_differentiation(bias, rate, dtype, tolerance):
    """Both are computed in float64 on the same, rounded inputs.

    The tolerance is eight units of roundoff in 16 bits.
    """
    random = np.random.default_rng(7)
    shapes = [
        [BATCH, QUERIES, HEADS, WIDTH],
        [BATCH, KEYS, HEADS, WIDTH],
        [BATCH, KEYS, HEADS, WIDTH],
    ]
    inputs = [tf.constant(random.normal(size=shape), dtype) for shape in shapes]
    upstream = tf.constant(random.normal(size=shapes[0]), dtype)
    keep = tf.constant(random.random([BATCH, HEADS, QUERIES, KEYS]) >= (rate or 0))
    drop = {None: None, 0.0: Drop(tf.constant(True), 1.0)}.get(
        rate, Drop(keep, 1 / (1 - (rate or 0)))
    )

    def plain(query, key, value):
        scores = tf.einsum("bqnd,bknd->bnqk", query, key) + tf.cast(bias, tf.float64)
        probabilities = tf.nn.softmax(scores)
        return tf.einsum(
            "bnqk,bknd->bqnd", probabilities if drop is None else drop(probabilities), value
        )

    found = differentiate(lambda *each: attend(*each, bias, drop), inputs, upstream)
    expected = differentiate(plain, [tf.cast(each, tf.float64) for each in inputs], upstream)
    check(found, expected, tolerance)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float64", 1e-4), ("bfloat16", 2**-6), ("float16", 2**-9)]
)
def test_layer_normalization_in_one_pass(dtype, tolerance):
    """Statistics are float32, also for a mean of thirty standard deviations."""
    random = np.random.default_rng(8)
    x, upstream = (tf.constant(random.normal(size=[3, 4, 64]) + mean, dtype) for mean in (30, 0))
    parameters = [tf.constant(random.normal(size=[64]), tf.float32) for _ in range(2)]
    found = differentiate(normalize_in_one_pass, [x, *parameters], upstream)
    exact = differentiate(
        normalize, [tf.cast(each, tf.float64) for each in (x, *parameters)], upstream
    )
    check(found, exact, tolerance)


@pytest.mark.parametrize("shape", [[701, 768], [2, 12, 67, 131]], ids=str)
def test_hashed_dropout_keeps_elements_independently(shape):
    """The frequencies are those of independent elements.

    The tolerance is five standard deviations.
    """
    keep, same, other = (
        create_drop(0.1, tf.constant(shape), tf.constant(seed), hash_words).keep.numpy()
        for seed in ([3, 4], [3, 4], [3, 5])
    )
    np.testing.assert_array_equal(keep, same)
    assert keep.shape == tuple(shape)
    rows = keep.reshape([-1, shape[-1]])
    groups = {
        "rate": [rows],
        "seeds": [keep, other],
        "next column": [rows[:, 1:], rows[:, :-1]],
        "next row": [rows[1:], rows[:-1]],
        "far row": [rows[500:], rows[:-500]],
        "corners of a rectangle": [rows[9:, 13:], rows[:-9, 13:], rows[9:, :-13], rows[:-9, :-13]],
    }
    for name, group in groups.items():
        expected = (1 - round(0.1 * 2**16) / 2**16) ** len(group)
        frequency = np.logical_and.reduce(group)
        tolerance = 5 * (expected * (1 - expected) / frequency.size) ** 0.5
        assert frequency.mean() == pytest.approx(expected, abs=tolerance), name
    for axis in (0, 1):
        counts = rows.sum(axis)
        assert counts.var() == pytest.approx(
            rows.shape[axis] * 0.09, rel=5 * (2 / counts.size) ** 0.5
        ), axis


@pytest.mark.parametrize(
    "options", [{"layer": "einsum"}, {"layer": "einsum", "last_where_read": True}], ids=str
)
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_losses_and_gradients_in_16_bits_are_as_close_to_float32_as_the_plain_ones(
    reference, reference_config, batch, options, policy
):
    def compute(**options):
        model = models.BertPretrainer(make_encoder(reference_config, **options))
        load_pretrained(model, str(reference / "pretrain_init.ckpt"))
        return compute_gradients(model, batch, losses.pretraining_loss)

    exact = compute()
    plain = compute(dtype=policy)
    found = compute(dtype=policy, **options)
    assert found.keys() == exact.keys()

    def error(values):
        return np.sqrt(sum(np.sum((values[name] - exact[name]) ** 2) for name in exact))

    assert abs(found["loss"] - exact["loss"]) <= 2 * abs(plain["loss"] - exact["loss"]) + 1e-4
    assert 0 < error(found) <= 1.25 * error(plain)


def test_the_bits_of_a_drop_are_halves_of_words():
    """A half keeps an element if it is at least 65,536 times the rate, the bound included."""
    shape = (512, 1024)
    seed = tf.constant([3, 5])
    drop = create_drop(0.25, tf.constant(shape), seed)
    words = tf.random.stateless_uniform(
        [shape[0] // 2, shape[1]], seed, minval=None, maxval=None, dtype=tf.uint32
    ).numpy()
    halves = np.concatenate([words >> 16, words & 0xFFFF])
    bound = 2**16 // 4
    assert all((half == bound).any() for half in np.split(halves, 2))
    np.testing.assert_array_equal(drop.keep, halves >= bound)
    assert drop.scale == 4 / 3
