"""Differences between heads: Jensen-Shannon divergence of their attention (Clark et al. 2019, section 6).

Legend: B texts, K heads of all layers, S sequence.
"""

import tensorflow as tf

from bert_tf.analysis.behaviors import LEAST_PROBABILITY


def divergences(attention, real):
    """Computes the Jensen-Shannon divergence of each pair of heads, summed over the tokens of a batch.

    Args:
      attention: float32 [B, K, S, S]. Probabilities.
      real: float32 [B, S], 1 at non-padding tokens and 0 at padding.

    Returns:
      float32 [K, K], in nats; symmetric, 0 on the diagonal.
    """
    weights = real[:, tf.newaxis]
    own = _entropies(attention, weights)  # [K]

    def compare_to(head):  # one head at a time: all pairs at once would require K times the memory
        mixed = _entropies(0.5 * (attention + attention[:, head, tf.newaxis]), weights)
        return mixed - 0.5 * (own + own[head])

    heads = tf.range(tf.shape(attention)[1])
    result = tf.map_fn(compare_to, heads, fn_output_signature=tf.TensorSpec([None], tf.float32),
                       parallel_iterations=1)
    result = tf.maximum(0.5 * (result + tf.transpose(result)), 0.0)
    return tf.linalg.set_diag(result, tf.zeros_like(own))


def _entropies(attention, weights):
    """Sums the entropy of each token's attention: [B, K, S, S] and [B, 1, S] -> [K]."""
    logs = tf.math.log(tf.maximum(attention, LEAST_PROBABILITY))
    return -tf.reduce_sum(tf.reduce_sum(attention * logs, axis=-1) * weights, axis=[0, 2])
