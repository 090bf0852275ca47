"""Fixtures of the library's tests."""

import pytest


@pytest.fixture(scope="session")
def batch(reference_batches):
    """The features of the first reference batch, B=4, S=32, P=6; 60% of its positions are tokens."""
    import tensorflow as tf

    return {name: tf.constant(values[0]) for name, values in reference_batches.items()}
