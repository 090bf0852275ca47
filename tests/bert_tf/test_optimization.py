import numpy as np
import pytest
import tensorflow as tf

from bert_tf.optimization import AdamW, WarmupLinearDecay, create_optimizer

PEAK = 0.5


def apply(optimizer, *pairs):
    optimizer.apply_gradients([(gradient if isinstance(gradient, tf.IndexedSlices) else tf.constant(gradient), variable)
                               for gradient, variable in pairs])


def first_moment(optimizer, index=0):
    """The first moment of a variable, 0.1 of its clipped gradient after one step."""
    return optimizer._first_moments[index].numpy() / optimizer.gradient_scale


def test_schedule_rises_then_falls_as_if_it_had_fallen_from_the_start():
    schedule = WarmupLinearDecay(PEAK, num_train_steps=10, num_warmup_steps=4)
    rates = [float(schedule(tf.constant(step, tf.int64))) for step in range(12)]
    warming_up = [PEAK * step / 4 for step in range(4)]
    falling = [PEAK * (1 - step / 10) for step in range(4, 11)]
    np.testing.assert_allclose(rates, [*warming_up, *falling, 0], atol=1e-7)
    assert rates[4] == pytest.approx(0.3)  # not PEAK: the drop where warm-up ends


def test_no_warmup_starts_at_the_peak():
    assert float(WarmupLinearDecay(PEAK, 7, 0)(tf.constant(0))) == PEAK


def test_first_step_has_no_bias_correction():
    """m = 0.1 g and v = 0.001 g^2, so the step is -0.1 / sqrt(0.001) = -3.16 rates; corrected it would be -1."""
    variable = tf.Variable([0.0, 0.0, 0.0], name="scope/bias")
    apply(AdamW(PEAK), ([0.1, -0.2, 0.3], variable))
    step = 0.1 / np.sqrt(0.001)
    np.testing.assert_allclose(variable.numpy(), [-PEAK * step, PEAK * step, -PEAK * step], rtol=1e-3)


def test_two_steps_by_hand():
    variable = tf.Variable([2.0], name="scope/kernel")
    optimizer = AdamW(0.25, weight_decay=0.125)
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
    apply(AdamW(PEAK), ([0.0, 0.0], variable))
    factor = 1 - PEAK * 0.01 if decays else 1
    np.testing.assert_allclose(variable.numpy(), [3.0 * factor, 5.0 * factor], rtol=1e-6)


def test_clipping_is_by_the_norm_of_all_gradients_together():
    first, second = tf.Variable([0.0], name="a/bias"), tf.Variable([0.0, 0.0], name="b/bias")
    optimizer = AdamW(PEAK)
    apply(optimizer, ([12.0], first), ([3.0, 4.0], second))  # norm 13
    np.testing.assert_allclose(first_moment(optimizer), [0.1 * 12 / 13], rtol=1e-6)
    np.testing.assert_allclose(first_moment(optimizer, 1), [0.1 * 3 / 13, 0.1 * 4 / 13], rtol=1e-6)


def test_small_gradients_are_not_clipped():
    variable = tf.Variable([0.0, 0.0], name="bias")
    optimizer = AdamW(PEAK)
    apply(optimizer, ([0.3, 0.4], variable))
    np.testing.assert_allclose(first_moment(optimizer), [0.03, 0.04], rtol=1e-6)


def test_sparse_gradients_are_clipped_before_duplicate_rows_are_summed():
    """The slices 3 and 4 have norm 5, though both fall on row 1, whose sum is 7."""
    variable = tf.Variable(tf.zeros([3, 1]), name="bias")
    optimizer = AdamW(PEAK)
    slices = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([1, 1]), tf.constant([3, 1]))
    apply(optimizer, (slices, variable))
    np.testing.assert_allclose(first_moment(optimizer), [[0], [0.1 * 7 / 5], [0]], rtol=1e-6)


def test_a_variable_without_gradient_stays():
    moved, still = tf.Variable([1.0], name="a/bias"), tf.Variable([1.0], name="b/kernel")
    AdamW(PEAK).apply_gradients([(tf.constant([0.5]), moved), (None, still)])
    assert moved.numpy() != 1
    assert still.numpy() == 1


def test_replicas_are_averaged_after_each_has_clipped(two_replicas):
    """Gradients 3 and 0.5 on two replicas: clipped to 1 and 0.5, mean 0.75."""
    strategy = two_replicas
    with strategy.scope():
        variable = tf.Variable([0.0], name="bias")
        optimizer = AdamW(PEAK)
        optimizer.build([variable])
    gradients = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([[3.0], [0.5]][context.replica_id_in_sync_group]))

    @tf.function
    def step():
        strategy.run(lambda gradient: optimizer.apply_gradients([(gradient, variable)]), args=(gradients,))

    step()
    np.testing.assert_allclose(first_moment(optimizer), [0.075], rtol=1e-6)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"optimizer": "sgd"}, "optimizer is 'sgd': it must be 'adamw'"),
    ({"num_train_steps": 0}, "num_train_steps is 0: it must be at least 1"),
    ({"num_warmup_steps": -1}, "num_warmup_steps is -1: it must be at least 0"),
])
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        create_optimizer(**{"learning_rate": 1e-3, "num_train_steps": 8, "num_warmup_steps": 2, **arguments})
