"""Floating-point operations of a model's matrix products, and the rate of such products on this machine."""

import time

import numpy as np
import tensorflow as tf

from run.compression.selection import count_encoder_flops

MATRIX_WIDTH = 1024  # A CPU reaches its peak rate with 512.
TIMED_PRODUCTS, TIMINGS = 20, 5
FORWARD_AND_BACKWARD = 3  # The backward pass has two matmuls: gradients of the inputs and of the weights.


def encoder_flops(config, batch_size, length):
    """Returns the forward FLOPs of the encoder's matmuls for `length` tokens per example."""
    return batch_size * count_encoder_flops(config, length)


def masked_lm_flops(config, batch_size, predictions):
    """Returns the forward FLOPs of the masked LM head for `predictions` predictions per example."""
    width = config.embedding_size or config.hidden_size
    to_table = config.hidden_size * width if config.embedding_size else 0
    return 2 * batch_size * predictions * (config.hidden_size**2 + to_table + width * config.vocab_size)


def pretraining_flops(config, tokens, predictions):
    """Returns the FLOPs of a pre-training step, forward and backward, per example of `tokens` tokens."""
    return FORWARD_AND_BACKWARD * (encoder_flops(config, 1, tokens) + masked_lm_flops(config, 1, predictions))


def measure_matmul_rate(dtype):
    """Returns the FLOPs per second of square matmuls in a dtype: the fastest of several timings."""
    # Entries of variance 1 / width keep their magnitude over any number of multiplications.
    normal = np.random.default_rng(1).standard_normal([MATRIX_WIDTH] * 2, np.float32)
    matrix = tf.cast(normal / MATRIX_WIDTH**0.5, dtype)

    @tf.function(autograph=False)
    def multiply():
        product = matrix
        for _ in range(TIMED_PRODUCTS):
            product = tf.matmul(product, matrix)
        return tf.cast(product[0, 0], tf.float32)

    multiply()  # traces
    seconds = []
    for _ in range(TIMINGS):
        started = time.perf_counter()
        multiply().numpy()
        seconds.append(time.perf_counter() - started)
    return TIMED_PRODUCTS * 2 * MATRIX_WIDTH**3 / min(seconds)
