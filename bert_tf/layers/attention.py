"""Multi-head self-attention (section 3.2 of "Attention Is All You Need"; the original's `attention_layer`).

Shape legend: B batch, S sequence, T tokens, H hidden, N heads, D head width (H = N * D, unless heads were pruned).
"""

import tensorflow as tf
import tf_keras

from bert_tf.layers.basic import Dropout, Projection
from bert_tf.layers.positions import rows_at

SCORES, CONTEXT = "bqnd,bknd->bnqk", "bnqk,bknd->bqnd"  # einsum of query and key, and of probabilities and value
MASKED_SCORE = -10000.0  # the original's; -inf would turn a row without any real token into NaN


def attention_bias(input_mask, dtype=tf.float32):
    """input_mask [B, S], 1 at real tokens and 0 at padding -> [B, 1, 1, S] to add to attention scores."""
    return (1.0 - tf.cast(input_mask, dtype)[:, tf.newaxis, tf.newaxis, :]) * MASKED_SCORE


def packed_attention_bias(sequences, dtype=tf.float32):
    """sequences [B, S], the number of each token's sequence, from 1, and 0 at padding -> [B, 1, S, S].

    Tokens see those of their own sequence alone.
    """
    is_apart = sequences[:, :, tf.newaxis] != sequences[:, tf.newaxis, :]
    return tf.cast(is_apart, dtype)[:, tf.newaxis] * MASKED_SCORE


def softmax(scores, bias):
    """scores [B, N, S, S], with a float32 bias added, -> probabilities of the scores' type, computed in float32."""
    return tf.cast(tf.nn.softmax(tf.cast(scores, tf.float32) + bias), scores.dtype)


def softmax_of_training(scores, bias):
    """`softmax`, whose gradient needs the probabilities in the scores' type alone.

    TensorFlow's would keep them in float32 too, in 16 bits the largest of all that a long sequence has to keep.
    """
    if scores.dtype == tf.float32:
        return softmax(scores, bias)

    @tf.custom_gradient
    def compute(scores):
        probabilities = softmax(scores, bias)

        def gradient(upstream):
            share, upstream = tf.cast(probabilities, tf.float32), tf.cast(upstream, tf.float32)
            product = share * upstream
            return tf.cast(product - share * tf.reduce_sum(product, axis=-1, keepdims=True), scores.dtype)
        return probabilities, gradient
    return compute(scores)


class SelfAttention(tf_keras.layers.Layer):
    """Every token attends to every real token of its sequence.

    Query, key and value kernels lie side by side in `qkv/kernel` [H, 3 N D], so that one matrix product makes
    all three; checkpoints in and out see the original's three kernels.

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      num_heads: N; None takes the config's. Heads are as wide with any number.
      use_einsum: compute with heads left where the projections put them, three products for query, key and value: a
        TPU's compiler then moves less data. CPUs are slower so.
    """

    def __init__(self, config, initializer, *, num_heads=None, use_einsum=False, name="self", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.use_einsum = use_einsum
        self._num_heads = num_heads or config.num_attention_heads
        self._head_width = config.head_width
        with tf.name_scope(name):
            self.qkv = Projection(config.hidden_size, 3 * self._num_heads * self._head_width, initializer, name="qkv",
                                  dtype=dtype)
        self.dropout = Dropout(config.attention_probs_dropout_prob, dtype=dtype)

    def call(self, x, tokens, bias, dropout_seed=None, positions=None, raw_scores=False):
        """Attends.

        Args:
          x: [T, H].
          tokens: bert_tf.layers.padding.AllTokens or RealTokens of the batch.
          bias: [B, 1, 1, S] from `attention_bias`, or [B, 1, S, S] from `packed_attention_bias`.
          dropout_seed: int [2], or None when not training.
          positions: int32 [B, P], those whose tokens alone attend, to all; or None.
          raw_scores: whether the scores are given in place of the probabilities, before bias and softmax.

        Returns:
          The heads' outputs side by side, [T, N D], and the attention probabilities before dropout, [B, N, S, S]; with
          positions [B * P, N D] and [B, N, P, S].
        """
        query, key, value = self._project(x, tokens, tf.shape(bias)[-1])
        if positions is not None:
            query = self._at_positions(query, positions)
            if bias.shape[2] != 1:
                bias = tf.gather(bias, positions, axis=2, batch_dims=1)  # [B, 1, P, S]
        query *= self._head_width**-0.5
        scores = tf.einsum(SCORES, query, key) if self.use_einsum else tf.matmul(query, key, transpose_b=True)
        compute = softmax if dropout_seed is None else softmax_of_training
        dropped = probabilities = compute(scores, bias)  # [B, N, S, S]
        if dropout_seed is not None:
            shape = tf.stack([tf.shape(probabilities)[0], self._num_heads, tf.shape(bias)[-1]])
            dropped = self._drop(probabilities, shape, dropout_seed, positions)
        if self.use_einsum:
            context = tf.einsum(CONTEXT, dropped, value)  # [B, S, N, D]
        else:
            context = tf.transpose(tf.matmul(dropped, value), [0, 2, 1, 3])  # [B, S, N, D]
        context = tf.reshape(context, [-1, self._num_heads * self._head_width])  # [B * S, N D]
        attended = scores if raw_scores else probabilities
        return context if positions is not None else tokens.pack(context), attended

    def _project(self, x, tokens, sequence_length):
        """x [T, H] -> query, key and value, each [B, N, S, D], or [B, S, N, D] for einsum."""
        heads = [self._num_heads, self._head_width]
        if not self.use_einsum:
            qkv = tf.reshape(tokens.spread(self.qkv(x)), [-1, sequence_length, 3, *heads])  # [B, S, 3, N, D]
            return tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]), num=3)
        x = tf.reshape(tokens.spread(x), [-1, sequence_length, x.shape[-1]])
        kernels = tf.unstack(tf.reshape(self.qkv.whole_kernel, [x.shape[-1], 3, *heads]), axis=1)  # each [H, N, D]
        biases = tf.unstack(tf.reshape(self.qkv.bias, [3, *heads]))
        return [tf.einsum("bsh,hnd->bsnd", x, kernel) + bias for kernel, bias in zip(kernels, biases, strict=True)]

    def _at_positions(self, query, positions):
        """The query, as of `_project`, at positions int32 [B, P]."""
        if self.use_einsum:
            return tf.gather(query, positions, axis=1, batch_dims=1)
        return rows_at(tf.reshape(query, [-1, self._head_width]), tf.shape(query)[:2], positions[:, tf.newaxis])

    def _drop(self, probabilities, shape, seed, positions):
        """Drops probabilities by the mask of all positions; shape: [B, N, S]."""
        keep = self.dropout.mask(tf.concat([shape, shape[2:]], axis=0), seed)
        if positions is not None and keep.shape.rank:
            keep = tf.gather(keep, positions, axis=2, batch_dims=1)
        return self.dropout.drop(probabilities, keep) if keep.shape.rank else probabilities
