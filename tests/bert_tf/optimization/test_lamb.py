"""LAMB against tf-models-official's, on the same gradients. Tolerance: 1e-6 relative, float32's own."""

import numpy as np
import pytest
import tensorflow as tf
from official.modeling.optimization import lamb as official

from bert_tf.optimization import NO_DECAY_PATTERNS, Lamb, WarmupDecay, create_optimizer

PARTS = ("query", "key", "value")
SHAPES = {"embeddings/word_embeddings": [5, 4], "self/{}/kernel": [4, 3], "self/{}/bias": [3],
          "output/LayerNorm/gamma": [4], "output/dense/kernel": [3, 4]}


def expanded(name):
    """A variable's name, or those of the three that are one in this project."""
    return [name.format(part) for part in PARTS] if "{}" in name else [name]


def draw(seed):
    """Arrays by the original's names; one of query, key and value is large, so that the norms differ."""
    generator = np.random.default_rng(seed)
    arrays = {each: generator.normal(size=shape).astype(np.float32)
              for name, shape in SHAPES.items() for each in expanded(name)}
    arrays["self/key/kernel"] *= 10
    return arrays


def fused(arrays):
    """The same with query, key and value side by side."""
    return {name.format("qkv"): np.concatenate([arrays[each] for each in expanded(name)], axis=-1) for name in SHAPES}


def train(optimizer, initial, gradients, *, steps):
    """Variables by name after some steps on the same gradients, whose signs alternate."""
    variables = {name: tf.Variable(value, name=name) for name, value in initial.items()}
    for step in range(steps):
        optimizer.apply_gradients(
            [(tf.constant(gradients[name] * (-1) ** step / (step + 1)), variable)
             for name, variable in variables.items()])
    return {name: variable.numpy() for name, variable in variables.items()}


@pytest.mark.parametrize("steps", [1, 4])
def test_the_same_as_the_official_one(steps):
    schedule = WarmupDecay(0.05, 6, 0)
    patterns = list(NO_DECAY_PATTERNS)
    theirs = train(official.LAMB(schedule, weight_decay_rate=0.01, exclude_from_weight_decay=patterns),
                   draw(1), draw(2), steps=steps)
    ours = train(Lamb(schedule, clip_norm=0), fused(draw(1)), fused(draw(2)), steps=steps)
    for name, value in fused(theirs).items():
        assert np.abs(value - fused(draw(1))[name]).max() > 1e-3
        np.testing.assert_allclose(ours[name], value, rtol=1e-6, atol=1e-6, err_msg=name)


def test_one_norm_over_query_key_and_value_would_be_seen():
    schedule = WarmupDecay(0.05, 6, 0)
    renamed = [{name.replace("qkv", "all"): value for name, value in fused(draw(seed)).items()} for seed in (1, 2)]
    whole = train(Lamb(schedule, clip_norm=0), *renamed, steps=1)
    ours = train(Lamb(schedule, clip_norm=0), fused(draw(1)), fused(draw(2)), steps=1)
    assert np.abs(whole["self/all/kernel"] - ours["self/qkv/kernel"]).max() > 1e-2


def test_gradients_are_clipped():
    def step(scale):
        gradients = {name: scale * value for name, value in fused(draw(2)).items()}
        optimizer = create_optimizer(0.05, 6, 0, "lamb")
        train(optimizer, fused(draw(1)), gradients, steps=1)
        return [moment.numpy() for moment in optimizer._first_moments]
    for first, second in zip(step(1.0), step(7.0), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5)


def test_a_variable_of_zeros_has_ratio_one():
    """Bias correction makes the first update the sign of the gradient: one rate, in float32 to 1e-6."""
    moved = train(Lamb(0.25, clip_norm=0, weight_decay=0), {"kernel": np.zeros([2, 1], np.float32)},
                  {"kernel": np.array([[3.0], [-2.0]], np.float32)}, steps=1)
    np.testing.assert_allclose(moved["kernel"], [[-0.25], [0.25]], rtol=1e-6)
