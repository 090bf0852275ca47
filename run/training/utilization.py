"""Device utilization of a training run: model FLOPs per second relative to the rate of a plain matmul.

The numerator counts the multiplications and additions of matmuls on non-padding tokens: the model FLOP utilization of
PaLM, appendix B. Padding and recomputed activations do not count. The last layer counts only where it is computed.
Otherwise, the fraction could exceed 1.
"""

import functools
import time

import numpy as np
import tensorflow as tf

from bert_tf.losses import Term
from run.training import strategies

# By device. A matmul of size 2048 takes a fast GPU about 30 microseconds, no longer than its launch; a CPU reaches its
# peak rate with 512.
MATRIX_WIDTHS = {"CPU": 1024, "GPU": 8192, "TPU": 2048}
TIMED_SECONDS = 0.1
TIMINGS = 5  # The fastest counts, since other processes only slow a device down.
FORWARD_AND_BACKWARD = 3  # The backward pass has two matmuls: gradients of the inputs and of the weights.
TOKENS = "tokens"
TOKENS_PER_EXAMPLE = Term(  # Counted by a training step along with its loss.
    TOKENS, lambda outputs, features: tf.cast(features["input_mask"] > 0, tf.float32), counts=1, factor=0.0)


def encoder_flops(config, batch_size, length, num_read=None):
    """Returns the forward FLOPs of the encoder's matmuls for `length` tokens per example.

    Args:
      config: BertConfig.
      batch_size: int.
      length: Number of tokens per example.
      num_read: Positions per example at which the last layer is computed, except for queries, keys, and values; None
        for all.
    """
    embedding = 0 if not config.embedding_size else 2 * config.embedding_size * config.hidden_size
    total, reads = length * embedding, [length] * len(config.layer_sizes)
    if num_read is not None:
        reads[-1] = num_read
    for (heads, inner), read in zip(config.layer_sizes, reads, strict=True):
        context = heads * config.head_width
        per_read = 2 * config.hidden_size * context + 4 * config.hidden_size * inner + 4 * length * context
        total += length * 6 * config.hidden_size * context + read * per_read
    return batch_size * total


def masked_lm_flops(config, batch_size, predictions):
    """Returns the forward FLOPs of the masked LM head for `predictions` predictions per example."""
    width = config.embedding_size or config.hidden_size
    to_table = config.hidden_size * width if config.embedding_size else 0
    return 2 * batch_size * predictions * (config.hidden_size**2 + to_table + width * config.vocab_size)


def pretraining_flops(config, tokens, predictions, last_where_read=False):
    """Returns the FLOPs of a pre-training step, forward and backward, per example of `tokens` non-padding tokens."""
    num_read = 1 + predictions if last_where_read else None
    return FORWARD_AND_BACKWARD * (encoder_flops(config, 1, tokens, num_read) + masked_lm_flops(config, 1, predictions))


def finetuning_flops(config, tokens, frozen_layers=0, trains_kernels=True, num_read=None):
    """Returns the encoder FLOPs of a fine-tuning step per example of `tokens` non-padding tokens.

    Args:
      config: BertConfig.
      tokens: float.
      frozen_layers: int. Number of lowest layers that the backward pass skips.
      trains_kernels: bool. Whether gradients of the kernels are computed. Those of adapters are small and not counted.
      num_read: See `encoder_flops`.
    """
    backward = (2 if trains_kernels else 1) * (1 - frozen_layers / config.num_hidden_layers)
    return (1 + backward) * encoder_flops(config, 1, tokens, num_read)


def measure_matmul_rate(strategy, dtype):
    """Measures the FLOPs per second of square matmuls in a dtype on all replicas; the first call takes a second."""
    return _rate(strategy, tf.as_dtype(dtype).name)


def compare(flops_per_second, matmul_rate):
    """Returns dict of "model_flop_utilisation" to the fraction of the matmul rate, empty for a fraction over 1.

    Such a fraction is wrong: other processes slowed the device down while the matmul rate was measured.
    """
    fraction = flops_per_second / matmul_rate
    return {"model_flop_utilisation": fraction} if fraction <= 1 else {}


@functools.lru_cache(maxsize=1)
def _rate(strategy, dtype):
    width = MATRIX_WIDTHS[strategies.device_type(strategy)]
    # Entries of variance 1 / width keep their magnitude over any number of multiplications.
    normal = np.random.default_rng(1).standard_normal([width] * 2, np.float32)
    matrix = tf.cast(normal / width**0.5, dtype)

    def multiply(count):
        product = tf.while_loop(lambda number, _: number < count,
                                lambda number, product: (number + 1, tf.matmul(product, matrix)), [0, matrix])[1]
        return tf.cast(product[0, 0], tf.float32)

    run = tf.function(lambda count: strategy.reduce("SUM", strategy.run(multiply, args=(count,)), axis=None),
                      autograph=False)

    def seconds(count):
        started = time.perf_counter()
        run(tf.constant(count)).numpy()
        return time.perf_counter() - started

    seconds(1)  # traces
    count = max(1, min(1000, round(TIMED_SECONDS / seconds(1))))
    return strategy.num_replicas_in_sync * count * 2 * width**3 / min(seconds(count) for _ in range(TIMINGS))
