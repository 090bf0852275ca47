"""Layers in operations that suit LiteRT, for batches of a fixed shape.

The encoder then also looks words up by a multiplication with one-hot matrices. The converter turns it into one int8
lookup with a scale per row; it would keep a gather in float32.
"""

import tensorflow as tf

from bert_tf.fast.layers import FastLayer


class LiteRTLayer(FastLayer):
    """See FastLayer."""

    def split_heads(self, qkv, layout):
        """See FastLayer. Splits before heads are transposed: XNNPACK has no kernel that unstacks another axis, so
        LiteRT's own kernels would run in each layer.
        """
        shape = [layout.batch_size, layout.sequence_length, -1, self.attention.head_width]
        return [tf.transpose(tf.reshape(part, shape), [0, 2, 1, 3]) for part in tf.split(qkv, 3, axis=-1)]

    def take_queries(self, query, at):
        """See FastLayer."""
        return tf.gather(query, at, axis=2, batch_dims=1)

    def softmax(self, scores, bias, training):
        """See FastLayer. In float32, without casts."""
        del training
        return tf.nn.softmax(scores + bias)
