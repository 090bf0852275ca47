import numpy as np
import pytest
import tensorflow as tf

from bert_tf.optimization import BertAdamW, DynamicLossScale, WarmupDecay, create_optimizer

PEAK = 0.5


def apply(optimizer, *pairs):
    optimizer.apply_gradients([(gradient if isinstance(gradient, tf.IndexedSlices) else tf.constant(gradient), variable)
                               for gradient, variable in pairs])


def first_moment(optimizer, index=0):
    """The first moment of a variable, 0.1 of its clipped gradient after one step."""
    return optimizer._first_moments[index].numpy() / optimizer.gradient_scale


def test_schedule_rises_then_falls_as_if_it_had_fallen_from_the_start():
    schedule = WarmupDecay(PEAK, num_train_steps=10, num_warmup_steps=4)
    rates = [float(schedule(tf.constant(step, tf.int64))) for step in range(12)]
    warming_up = [PEAK * step / 4 for step in range(4)]
    falling = [PEAK * (1 - step / 10) for step in range(4, 11)]
    np.testing.assert_allclose(rates, [*warming_up, *falling, 0], atol=1e-7)
    assert rates[4] == pytest.approx(0.3)  # not PEAK: the drop where warm-up ends


def test_no_warmup_starts_at_the_peak():
    assert float(WarmupDecay(PEAK, 7, 0)(tf.constant(0))) == PEAK


def test_decay_to_a_power():
    """Half-way through, sqrt(1/2) of the peak is left."""
    assert float(WarmupDecay(PEAK, 10, 2, power=0.5)(tf.constant(5))) == pytest.approx(PEAK * 0.5**0.5)


def test_first_step_has_no_bias_correction():
    """m = 0.1 g and v = 0.001 g^2, so the step is -0.1 / sqrt(0.001) = -3.16 rates; corrected it would be -1."""
    variable = tf.Variable([0.0, 0.0, 0.0], name="scope/bias")
    apply(BertAdamW(PEAK), ([0.1, -0.2, 0.3], variable))
    step = 0.1 / np.sqrt(0.001)
    np.testing.assert_allclose(variable.numpy(), [-PEAK * step, PEAK * step, -PEAK * step], rtol=1e-3)


def test_two_steps_by_hand():
    variable = tf.Variable([2.0], name="scope/kernel")
    optimizer = BertAdamW(0.25, weight_decay=0.125)
    first = second = 0.0
    expected = 2.0
    for gradient in (0.5, -0.25):
        apply(optimizer, ([gradient], variable))
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        expected -= 0.25 * (first / (np.sqrt(second) + 1e-6) + 0.125 * expected)
    np.testing.assert_allclose(variable.numpy(), [expected], rtol=1e-6)
    assert int(optimizer.iterations) == 2


@pytest.mark.parametrize(("name", "decays"), [
    ("bert/encoder/layer_0/output/dense/kernel", True),
    ("bert/encoder/layer_0/output/dense/bias", False),
    ("bert/encoder/layer_0/output/LayerNorm/gamma", False),
    ("bert/embeddings/word_embeddings", True),
    ("cls/seq_relationship/output_weights", True),
    ("cls/predictions/output_bias", False),
])
def test_weight_decay_by_name(name, decays):
    variable = tf.Variable([3.0, 5.0], name=name)
    apply(BertAdamW(PEAK), ([0.0, 0.0], variable))
    factor = 1 - PEAK * 0.01 if decays else 1
    np.testing.assert_allclose(variable.numpy(), [3.0 * factor, 5.0 * factor], rtol=1e-6)


def test_what_does_not_decay_can_be_chosen():
    first, second = tf.Variable([3.0], name="layer_0/kernel"), tf.Variable([3.0], name="layer_1/bias")
    apply(create_optimizer(PEAK, 10, 0, weight_decay=0.2, no_decay=["layer_0/"]), ([0.0], first), ([0.0], second))
    np.testing.assert_allclose([first.numpy(), second.numpy()], [[3.0], [3.0 * (1 - PEAK * 0.2)]], rtol=1e-6)


def test_clipping_is_by_the_norm_of_all_gradients_together():
    first, second = tf.Variable([0.0], name="a/bias"), tf.Variable([0.0, 0.0], name="b/bias")
    optimizer = BertAdamW(PEAK)
    apply(optimizer, ([12.0], first), ([3.0, 4.0], second))  # norm 13
    np.testing.assert_allclose(first_moment(optimizer), [0.1 * 12 / 13], rtol=1e-6)
    np.testing.assert_allclose(first_moment(optimizer, 1), [0.1 * 3 / 13, 0.1 * 4 / 13], rtol=1e-6)


def test_small_gradients_are_not_clipped():
    variable = tf.Variable([0.0, 0.0], name="bias")
    optimizer = BertAdamW(PEAK)
    apply(optimizer, ([0.3, 0.4], variable))
    np.testing.assert_allclose(first_moment(optimizer), [0.03, 0.04], rtol=1e-6)


@pytest.mark.parametrize(("clip_norm", "factor"), [(2.0, 2 / 13), (0, 1)])
def test_the_norm_of_the_clip_can_be_chosen(clip_norm, factor):
    variable = tf.Variable([0.0, 0.0], name="bias")
    optimizer = create_optimizer(PEAK, 10, 0, clip_norm=clip_norm)
    apply(optimizer, ([5.0, 12.0], variable))
    np.testing.assert_allclose(first_moment(optimizer), [0.5 * factor, 1.2 * factor], rtol=1e-6)


def test_sparse_gradients_are_clipped_before_duplicate_rows_are_summed():
    """The slices 3 and 4 have norm 5, though both fall on row 1, whose sum is 7."""
    variable = tf.Variable(tf.zeros([3, 1]), name="bias")
    optimizer = BertAdamW(PEAK)
    slices = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([1, 1]), tf.constant([3, 1]))
    apply(optimizer, (slices, variable))
    np.testing.assert_allclose(first_moment(optimizer), [[0], [0.1 * 7 / 5], [0]], rtol=1e-6)


def test_a_variable_without_gradient_stays():
    moved, still = tf.Variable([1.0], name="a/bias"), tf.Variable([1.0], name="b/kernel")
    BertAdamW(PEAK).apply_gradients([(tf.constant([0.5]), moved), (None, still)])
    assert moved.numpy() != 1
    assert still.numpy() == 1


def apply_on_replicas(strategy, gradients, shape):
    """An optimizer of a variable of zeros, and a step on it.

    The step takes a function that makes a replica's gradient of its number [1], one of `gradients`.
    """
    with strategy.scope():
        variable = tf.Variable(tf.zeros(shape), name="bias")
        optimizer = BertAdamW(PEAK)
        optimizer.build([variable])
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([gradients[context.replica_id_in_sync_group]]))

    @tf.function
    def step(make_gradient):
        strategy.run(lambda value: optimizer.apply_gradients([(make_gradient(value), variable)]), args=(values,))
    return optimizer, step


def test_replicas_are_summed_then_clipped_once(two_replicas):
    """Shares 3 and 0.5 of the gradient sum to 3.5, which is clipped to 1. (Each clipped, then averaged: 0.75.)"""
    optimizer, step = apply_on_replicas(two_replicas, [3.0, 0.5], [1])
    step(lambda value: value)
    np.testing.assert_allclose(first_moment(optimizer), [0.1], rtol=1e-6)


def test_sparse_gradients_of_replicas_are_clipped_before_their_rows_are_summed(two_replicas):
    """Slices 3 and 4 of two replicas have norm 5, though both fall on row 1, whose sum is 7."""
    optimizer, step = apply_on_replicas(two_replicas, [3.0, 4.0], [3, 1])
    step(lambda value: tf.IndexedSlices(value[:, tf.newaxis], tf.constant([1]), tf.constant([3, 1])))
    np.testing.assert_allclose(first_moment(optimizer), [[0], [0.1 * 7 / 5], [0]], rtol=1e-6)


@pytest.mark.parametrize("name", ["adamw", "lamb"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_step_that_is_not_finite_changes_nothing_but_the_step_counter(name, bad):
    variables = [tf.Variable([2.0, 3.0], name="kernel"), tf.Variable([5.0], name="bias")]
    optimizer = create_optimizer(PEAK, 10, 0, name)
    apply(optimizer, ([0.5, -0.25], variables[0]), ([0.125], variables[1]))
    before = [each.numpy() for each in (*variables, *optimizer._first_moments, *optimizer._second_moments)]
    apply(optimizer, ([0.5, bad], variables[0]), ([0.125], variables[1]))
    after = [each.numpy() for each in (*variables, *optimizer._first_moments, *optimizer._second_moments)]
    for first, second in zip(before, after, strict=True):
        np.testing.assert_array_equal(first, second)
    assert int(optimizer.iterations) == 2
    assert not optimizer.apply_summed([tf.constant([0.5, 0.5])], variables[:1], loss=tf.constant(bad))
    np.testing.assert_array_equal(variables[0], before[0])


def test_a_loss_scale_is_divided_out_before_the_clip():
    """Gradients 3 and 4 times 2^15: norm 5, clipped to 1."""
    variable = tf.Variable([0.0, 0.0], name="bias")
    optimizer = create_optimizer(PEAK, 10, 0, scale_loss=True)
    assert float(optimizer.loss_scale) == 2**15
    apply(optimizer, ([3.0 * 2**15, 4.0 * 2**15], variable))
    np.testing.assert_allclose(first_moment(optimizer), [0.06, 0.08], rtol=1e-6)
    assert create_optimizer(PEAK, 10, 0).loss_scale is None


def test_the_loss_scale_falls_at_an_overflow_and_rises_after_steps_without():
    scale = DynamicLossScale(initial=4.0, growth_steps=3)
    found = []
    for is_finite in (True, True, False, True, True, True, False, False, False, False):
        scale.update(tf.constant(is_finite))
        found.append(float(scale.value))
    assert found == [4, 4, 2, 2, 2, 4, 2, 1, 1, 1]


def test_an_overflow_is_a_fault_only_where_the_loss_scale_can_fall_no_further():
    variable = tf.Variable([1.0], name="kernel")
    optimizer = BertAdamW(PEAK, loss_scale=DynamicLossScale(initial=2.0))
    assert optimizer.apply_summed([tf.constant([np.inf])], [variable], loss=tf.constant(1.0))
    assert not optimizer.apply_summed([tf.constant([np.inf])], [variable], loss=tf.constant(1.0))
    assert variable.numpy() == 1


def test_a_checkpoint_holds_the_loss_scale(tmp_path):
    optimizer = BertAdamW(PEAK, loss_scale=DynamicLossScale(initial=8.0))
    optimizer.build([tf.Variable([1.0], name="kernel")])
    path = tf.train.Checkpoint(optimizer=optimizer).save(str(tmp_path / "ckpt"))
    other = BertAdamW(PEAK, loss_scale=DynamicLossScale(initial=2.0))
    other.build([tf.Variable([1.0], name="kernel")])
    tf.train.Checkpoint(optimizer=other).restore(path).assert_consumed()
    assert float(other.loss_scale) == 8


@pytest.mark.parametrize(("arguments", "message"), [
    ({"optimizer": "sgd"}, "`optimizer`=sgd: it must be one of adamw, lamb"),
    ({"num_train_steps": 0}, "`num_train_steps`=0: it must be at least 1"),
    ({"num_warmup_steps": -1}, "`num_warmup_steps`=-1: it must be at least 0"),
    ({"weight_decay": -0.1}, r"`weight_decay`=-0\.1: it must be at least 0"),
    ({"clip_norm": -1.0}, r"`clip_norm`=-1\.0: it must be at least 0"),
    ({"decay_power": 0.0}, r"`decay_power`=0\.0: it must be over 0"),
    ({"no_decay": ["bias", "layer_("]}, r"`no_decay` has 'layer_\(', which is no regular expression: "),
])
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        create_optimizer(**{"learning_rate": 1e-3, "num_train_steps": 8, "num_warmup_steps": 2, **arguments})
