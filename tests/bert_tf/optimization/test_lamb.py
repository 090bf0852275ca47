"""LAMB against tf-models-official's, on the same gradients. Tolerance: 1e-6 relative, float32's own."""

import numpy as np
import pytest
import tensorflow as tf
from official.modeling.optimization import lamb as official

from bert_tf.optimization import NO_DECAY_PATTERNS, Lamb, WarmupDecay, create_optimizer

PARTS = ("query", "key", "value")
SHAPES = {"embeddings/word_embeddings": [5, 4], "self/{}/kernel": [4, 3], "self/{}/bias": [3],
          "output/LayerNorm/gamma": [4], "output/dense/kernel": [3, 4]}


def expand(name):
    """Returns the original's names of a variable: three for query, key, and value, which share one in this project."""
    return [name.format(part) for part in PARTS] if "{}" in name else [name]


def sample(seed):
    """Returns arrays by the original's names; the key kernel is larger than the others, so that the norms differ."""
    generator = np.random.default_rng(seed)
    arrays = {each: generator.normal(size=shape).astype(np.float32)
              for name, shape in SHAPES.items() for each in expand(name)}
    arrays["self/key/kernel"] *= 10
    return arrays


def fuse(arrays):
    """Concatenates query, key, and value."""
    return {name.format("qkv"): np.concatenate([arrays[each] for each in expand(name)], axis=-1) for name in SHAPES}


def train(optimizer, initial, gradients, *, steps):
    """Returns the variables by name after steps on gradients with alternating signs."""
    variables = {name: tf.Variable(value, name=name) for name, value in initial.items()}
    for step in range(steps):
        optimizer.apply_gradients(
            [(tf.constant(gradients[name] * (-1) ** step / (step + 1)), variable)
             for name, variable in variables.items()])
    return {name: variable.numpy() for name, variable in variables.items()}


@pytest.mark.parametrize("steps", [1, 4])
def test_weights_are_those_of_the_official_lamb(steps):
    schedule = WarmupDecay(0.05, 6, 0)
    patterns = list(NO_DECAY_PATTERNS)
    theirs = train(official.LAMB(schedule, weight_decay_rate=0.01, exclude_from_weight_decay=patterns),
                   sample(1), sample(2), steps=steps)
    ours = train(Lamb(schedule, clip_norm=0), fuse(sample(1)), fuse(sample(2)), steps=steps)
    for name, value in fuse(theirs).items():
        assert np.abs(value - fuse(sample(1))[name]).max() > 1e-3
        np.testing.assert_allclose(ours[name], value, rtol=1e-6, atol=1e-6, err_msg=name)


def test_gradients_are_clipped():
    def step(scale):
        gradients = {name: scale * value for name, value in fuse(sample(2)).items()}
        return train(create_optimizer(0.05, 6, 0, "lamb", epsilon=0.1), fuse(sample(1)), gradients, steps=1)
    for name, value in step(1.0).items():
        np.testing.assert_allclose(step(7.0)[name], value, rtol=1e-5, err_msg=name)


def test_a_variable_of_zeros_has_ratio_one():
    """Bias correction makes the first update the sign of the gradient: one rate, in float32 to 1e-6."""
    moved = train(Lamb(0.25, clip_norm=0, weight_decay=0), {"kernel": np.zeros([2, 1], np.float32)},
                  {"kernel": np.array([[3.0], [-2.0]], np.float32)}, steps=1)
    np.testing.assert_allclose(moved["kernel"], [[-0.25], [0.25]], rtol=1e-6)
