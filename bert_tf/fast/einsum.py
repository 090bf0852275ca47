"""Attention for TPUs: heads stay where the projections put them.

A TPU's compiler then moves less data between layouts. CPUs are slower with it.

Shape legend: B batch, S sequence, H hidden, N heads, D head width.
"""

import tensorflow as tf

from bert_tf.fast.arithmetic import FastArithmetic
from bert_tf.layers import AttentionMaps
from bert_tf.layers.hooks import merge_kernel

SCORES, CONTEXT = "bqnd,bknd->bnqk", "bnqk,bknd->bqnd"  # of query and key, and of probabilities and value


class EinsumArithmetic(FastArithmetic):
    """See Arithmetic. Query, key, and value come from three products, and are [B, S, N, D] each."""

    needs_kernels = True

    def heads(self, attention, x, layout):
        """See Arithmetic."""
        heads = [attention.num_heads, attention.head_width]
        x = tf.reshape(layout.spread(x), [layout.batch_size, layout.sequence_length, x.shape[-1]])
        kernel, bias = (tf.cast(weight, x.dtype) for weight in (
            merge_kernel(attention.qkv, attention.qkv.kernel), attention.qkv.bias))
        kernels = tf.unstack(tf.reshape(kernel, [x.shape[-1], 3, *heads]), axis=1)  # each [H, N, D]
        biases = tf.unstack(tf.reshape(bias, [3, *heads]))
        return [tf.einsum("bsh,hnd->bsnd", x, kernel) + bias for kernel, bias in zip(kernels, biases, strict=True)]

    def at_positions(self, query, positions):
        """See FastArithmetic."""
        return tf.gather(query, positions, axis=1, batch_dims=1)

    def attend(self, query, key, value, bias, drop):
        """See Arithmetic."""
        scores = tf.einsum(SCORES, query * query.shape[-1]**-0.5, key)
        probabilities = self.softmax(scores, bias, drop is not None)
        dropped = probabilities if drop is None else drop(probabilities)
        return tf.einsum(CONTEXT, dropped, value), AttentionMaps(scores, probabilities)  # context [B, S, N, D]
