"""BertAdamW, and LAMB compared with tf-models-official: schedules, clipping, and loss scales."""

import numpy as np
import pytest
import tensorflow as tf
from official.modeling.optimization import lamb as official

from bert_tf.optimization import (
    NO_DECAY_PATTERNS,
    BertAdamW,
    Lamb,
    WarmupDecay,
    create_optimizer,
    layerwise_factors,
)
from bert_tf.optimization import optimizer as optimizer_module
from tests.errors import Message, raises_message

PEAK = 0.5


def apply(optimizer, *pairs):
    optimizer.apply_gradients(
        [
            (
                gradient if isinstance(gradient, tf.IndexedSlices) else tf.constant(gradient),
                variable,
            )
            for gradient, variable in pairs
        ]
    )


def clipped_gradients(optimizer):
    """Returns the clipped gradients of the first step, by variable.

    They are ten times the first moments.
    """
    moments = [
        variable.numpy() for variable in optimizer.variables if variable.name.startswith("AdamW/m/")
    ]
    return [10 * moment / optimizer.gradient_scale for moment in moments]


def test_schedule_decays_as_if_from_the_first_step():
    schedule = WarmupDecay(PEAK, num_train_steps=10, num_warmup_steps=4)
    rates = [float(schedule(tf.constant(step, tf.int64))) for step in range(12)]
    warming_up = [PEAK * step / 4 for step in range(4)]
    falling = [PEAK * (1 - step / 10) for step in range(4, 11)]
    np.testing.assert_allclose(rates, [*warming_up, *falling, 0], atol=1e-7)
    assert rates[4] == pytest.approx(0.3)  # Not PEAK: the drop at the end of warm-up.


def test_schedules_without_warmup_and_with_a_power():
    assert float(WarmupDecay(PEAK, 7, 0)(tf.constant(0))) == PEAK
    assert float(WarmupDecay(PEAK, 10, 2, power=0.5)(tf.constant(5))) == pytest.approx(
        PEAK * 0.5**0.5
    )


@pytest.mark.parametrize(
    ("name", "options", "decay"),
    [
        ("bert/encoder/layer_0/output/dense/kernel", {}, 0.01),
        ("bert/encoder/layer_0/output/LayerNorm/gamma", {}, 0),
        ("cls/predictions/output_bias", {}, 0),
        ("layer_0/kernel", {"no_decay": ["layer_0/"], "weight_decay": 0.2}, 0),
        ("layer_1/bias", {"no_decay": ["layer_0/"], "weight_decay": 0.2}, 0.2),
    ],
)
def test_weight_decay_by_name(name, options, decay):
    variable = tf.Variable([3.0, 5.0], name=name)
    apply(create_optimizer(PEAK, 10, 0, **options), ([0.0, 0.0], variable))
    np.testing.assert_allclose(
        variable.numpy(), [3.0 * (1 - PEAK * decay), 5.0 * (1 - PEAK * decay)], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("options", "gradients", "expected"),
    [
        # The norm of both together is 13.
        (
            {},
            ([12.0], [3.0, 4.0]),
            ([12 / 13], [3 / 13, 4 / 13]),
        ),
        ({}, ([0.0], [0.3, 0.4]), ([0.0], [0.3, 0.4])),
        ({"clip_norm": 2.0}, ([12.0], [3.0, 4.0]), ([24 / 13], [6 / 13, 8 / 13])),
        ({"clip_norm": 0}, ([12.0], [3.0, 4.0]), ([12.0], [3.0, 4.0])),
        # Gradients are divided by the loss scale before clipping, so their norm is 5.
        ({"scale_loss": True}, ([0.0], [3.0 * 2**15, 4.0 * 2**15]), ([0.0], [0.6, 0.8])),
    ],
)
def test_clipping_by_the_norm_of_all_gradients(options, gradients, expected):
    optimizer = create_optimizer(PEAK, 10, 0, **options)
    assert (optimizer.loss_scale is None) == ("scale_loss" not in options)
    variables = tf.Variable([0.0], name="a/bias"), tf.Variable([0.0, 0.0], name="b/bias")
    apply(optimizer, *zip(gradients, variables, strict=True))
    for found, values in zip(clipped_gradients(optimizer), expected, strict=True):
        np.testing.assert_allclose(found, values, rtol=1e-6)


def test_sparse_gradients_are_clipped_before_duplicate_rows_are_summed():
    """The slices 3 and 4 have norm 5, though both fall on row 1, whose sum is 7."""
    variable = tf.Variable(tf.zeros([3, 1]), name="bias")
    optimizer = BertAdamW(PEAK)
    slices = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([1, 1]), tf.constant([3, 1]))
    apply(optimizer, (slices, variable))
    np.testing.assert_allclose(clipped_gradients(optimizer)[0], [[0], [7 / 5], [0]], rtol=1e-6)


@pytest.mark.parametrize("name", ["adamw", "lamb"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_step_that_is_not_finite_changes_only_the_step_counter(name, bad):
    variables = [tf.Variable([2.0, 3.0], name="kernel"), tf.Variable([5.0], name="bias")]
    optimizer = create_optimizer(PEAK, 10, 0, name)
    apply(optimizer, ([0.5, -0.25], variables[0]), ([0.125], variables[1]))

    def read_state():
        return [
            each.numpy() for each in (*variables, *optimizer.variables) if each.dtype == tf.float32
        ]

    before = read_state()
    apply(optimizer, ([0.5, bad], variables[0]), ([0.125], variables[1]))
    assert int(optimizer.iterations) == 2
    assert not optimizer.apply_summed(
        [tf.constant([0.5, 0.5])], variables[:1], loss=tf.constant(bad)
    ).is_good
    assert len(before) == 6
    for first, second in zip(before, read_state(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_loss_scale_halves_at_an_overflow_and_doubles_after_good_steps(monkeypatch):
    monkeypatch.setattr(optimizer_module, "INITIAL", 4.0)
    monkeypatch.setattr(optimizer_module, "GROWTH_STEPS", 3)
    scale = optimizer_module.DynamicLossScale()
    found = []
    for is_finite in (True, True, False, True, True, True, False, False, False, False):
        scale.update(tf.constant(is_finite))
        found.append(float(scale.value))
    assert found == [4, 4, 2, 2, 2, 4, 2, 1, 1, 1]


def test_an_overflow_is_an_error_only_at_the_minimum_loss_scale(monkeypatch):
    monkeypatch.setattr(optimizer_module, "INITIAL", 2.0)
    variable = tf.Variable([1.0], name="kernel")
    optimizer = BertAdamW(PEAK, scale_loss=True)
    assert optimizer.apply_summed(
        [tf.constant([np.inf])], [variable], loss=tf.constant(1.0)
    ).is_good
    assert not optimizer.apply_summed(
        [tf.constant([np.inf])], [variable], loss=tf.constant(1.0)
    ).is_good
    assert variable.numpy() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optimizer": "sgd"}, Message("optimizer", "must be one of adamw, lamb", value="sgd")),
        ({"num_train_steps": 0}, Message("num_train_steps", "must be at least 1", value=0)),
    ],
)
def test_rejected_arguments(arguments, message):
    with raises_message(message):
        create_optimizer(
            **{"learning_rate": 1e-3, "num_train_steps": 8, "num_warmup_steps": 2, **arguments}
        )


NAMES = {  # of a model of three layers -> power of the decay
    "bert/embeddings/word_embeddings": 3,
    "bert/encoder/layer_0/attention/self/qkv/kernel": 2,
    "bert/encoder/layer_1/output/dense/bias": 1,
    "bert/encoder/layer_2/intermediate/dense/kernel": 0,
    "bert/pooler/dense/kernel": 0,
    "output_weights": 0,
}


def test_factors_fall_from_layer_to_layer():
    variables = [tf.Variable(0.0, name=name) for name in NAMES]
    pairs = layerwise_factors(variables, 3, 0.5)
    assert {variable.name.removesuffix(":0"): factor for variable, factor in pairs} == {
        name: 0.5**power for name, power in NAMES.items()
    }


@pytest.mark.parametrize("name", ["adamw", "lamb"])
def test_a_variable_moves_and_decays_at_its_own_rate(name):
    """Twins get the same gradients; one of them has a quarter of the rate."""
    initial = np.float32([[2.0, -1.0, 0.5]])
    twins = [tf.Variable(initial, name=f"{scope}/kernel") for scope in ("whole", "quarter")]
    optimizer = create_optimizer(0.125, 7, 0, name, weight_decay=0.5)
    optimizer.set_rate_factors([(twins[1], 0.25)])
    gradient = tf.constant([[0.25, 0.5, -0.125]])
    optimizer.apply_gradients([(gradient, variable) for variable in twins])
    moves = [variable.numpy() - initial for variable in twins]
    np.testing.assert_allclose(moves[1], 0.25 * moves[0], rtol=1e-5)
    assert np.abs(moves[0]).min() > 0


PARTS = ("query", "key", "value")
SHAPES = {
    "embeddings/word_embeddings": [5, 4],
    "output/LayerNorm/gamma": [4],
    "output/dense/kernel": [3, 4],
    **{f"self/{part}/kernel": [4, 3] for part in PARTS},
    **{f"self/{part}/bias": [3] for part in PARTS},
}


def sample(seed):
    """Returns arrays by the original's names.

    The key kernel is larger than the others, so that the norms differ.
    """
    generator = np.random.default_rng(seed)
    arrays = {
        name: generator.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()
    }
    arrays["self/key/kernel"] *= 10
    return arrays


def fuse(arrays):
    """Concatenates query, key, and value, which share a variable in this project."""
    return {name: value for name, value in arrays.items() if not name.startswith("self/")} | {
        f"self/qkv/{leaf}": np.concatenate(
            [arrays[f"self/{part}/{leaf}"] for part in PARTS], axis=-1
        )
        for leaf in ("kernel", "bias")
    }


def train(optimizer, initial, gradients, *, steps):
    """Returns the variables by name after steps on gradients with alternating signs."""
    variables = {name: tf.Variable(value, name=name) for name, value in initial.items()}
    for step in range(steps):
        optimizer.apply_gradients(
            [
                (tf.constant(gradients[name] * (-1) ** step / (step + 1)), variable)
                for name, variable in variables.items()
            ]
        )
    return {name: variable.numpy() for name, variable in variables.items()}


@pytest.mark.parametrize("steps", [1, 4])
def test_weights_are_those_of_the_official_lamb(steps):
    schedule = WarmupDecay(0.05, 6, 0)
    patterns = list(NO_DECAY_PATTERNS)
    theirs = train(
        official.LAMB(schedule, weight_decay_rate=0.01, exclude_from_weight_decay=patterns),
        sample(1),
        sample(2),
        steps=steps,
    )
    ours = train(Lamb(schedule, clip_norm=0), fuse(sample(1)), fuse(sample(2)), steps=steps)
    for name, value in fuse(theirs).items():
        assert np.abs(value - fuse(sample(1))[name]).max() > 1e-3
        np.testing.assert_allclose(ours[name], value, rtol=1e-6, atol=1e-6, err_msg=name)


def test_a_variable_of_zeros_has_ratio_one():
    """Bias correction makes the first update the sign of the gradient, times the learning rate.

    In float32, this holds to 1e-6.
    """
    moved = train(
        Lamb(0.25, clip_norm=0, weight_decay=0),
        {"kernel": np.zeros([2, 1], np.float32)},
        {"kernel": np.array([[3.0], [-2.0]], np.float32)},
        steps=1,
    )
    np.testing.assert_allclose(moved["kernel"], [[-0.25], [0.25]], rtol=1e-6)


def test_epsilon_of_lamb_is_added_to_the_root_of_the_second_moment():
    """With the bias correction, the first update of a gradient g is g / (|g| + 1e-6)."""
    moved = train(
        Lamb(0.25, clip_norm=0, weight_decay=0),
        {"kernel": np.zeros([2, 1], np.float32)},
        {"kernel": np.array([[3e-6], [-1e-6]], np.float32)},
        steps=1,
    )
    np.testing.assert_allclose(moved["kernel"], [[-0.25 * 0.75], [0.25 * 0.5]], rtol=1e-4)
