"""The layers of the plain encoder on a matrix of tokens, [T, H].

Their operations save memory, casts, or padding. TensorFlow's graph optimizer fuses the product of
two matrices with the bias and the activation that follow it.

Shape legend: B batch, S sequence, P positions, T tokens, H hidden, N heads, D head width, V
vocabulary.
"""

import typing

import tensorflow as tf

from bert_tf.fast.dropout import Drop
from bert_tf.fast.layout import flatten
from bert_tf.layers import NO_SEEDS, AttentionMaps, Embeddings, EncoderLayer, MaskedLMHead


class FastEmbeddings(Embeddings):
    """Embeddings of a batch's tokens as a matrix.

    Attributes:
      one_hot: bool. Look words up by a matrix multiplication with one-hot vectors, which suits a
        TPU. LiteRT's converter turns it into one int8 lookup with a scale per row; a gather would
        get one scale for all rows.
    """

    one_hot = False

    def call(self, input_ids, segment_ids, layout, positions=None, seed=None):
        """Embeds a batch.

        Args:
          input_ids, segment_ids, positions, seed: See Embeddings.
          layout: Layout of the batch.

        Returns:
          float32 [T, H].
        """
        x = self.layer_norm(
            layout.tokens(self.sum(input_ids, segment_ids, positions, layout.sequence_length))
        )
        if seed is not None:
            x = layout.draw_for(x, self.dropout.rate, seed)(x)
        return self.project(x)

    def look_up(self, ids):
        """Returns the rows of the word embedding matrix for IDs int32 [B, S]."""
        if not self.one_hot:
            return super().look_up(ids)
        return tf.matmul(tf.one_hot(ids, self.word_embeddings.shape[0]), self.word_embeddings)


def compute_probabilities(scores, bias, training):
    """Computes attention probabilities in float32, and returns them in the dtype of the scores.

    In 16 bits, the gradient keeps the probabilities in 16 bits only. TensorFlow's gradient would
    also keep them in float32, the largest tensor of all that a long sequence keeps.

    Args:
      scores: [B, N, S, S].
      bias: float32, added to the scores.
      training: bool.

    Returns:
      scores' shape and dtype.
    """

    def compute(scores):
        return tf.cast(tf.nn.softmax(tf.cast(scores, tf.float32) + bias), scores.dtype)

    if scores.dtype == tf.float32 or not training:
        return compute(scores)

    @tf.custom_gradient
    def compute_in_16_bits(scores):
        probabilities = compute(scores)

        def gradient(upstream):
            kept = tf.cast(probabilities, tf.float32)
            upstream = tf.cast(upstream, tf.float32)
            product = kept * upstream
            return tf.cast(
                product - kept * tf.reduce_sum(product, axis=-1, keepdims=True), scores.dtype
            )

        return probabilities, gradient

    return compute_in_16_bits(scores)


class LayerDrops(typing.NamedTuple):
    """The dropout of one use of a layer; all None when not training.

    Attributes:
      probabilities: Drop of the attention probabilities, [B, N, Q, S] for Q queries.
      attended: Drop of the output of the attention, of the layer's output shape.
      output: Drop of the output of the feed-forward network, of the layer's output shape.
    """

    probabilities: Drop | None
    attended: Drop | None
    output: Drop | None


class FastLayer(EncoderLayer):
    """An EncoderLayer on a matrix of tokens."""

    softmax = staticmethod(compute_probabilities)

    def call(self, x, layout, bias, seeds=NO_SEEDS, at=None, return_attention_scores=False):
        """Transforms a batch.

        Args:
          x: [T, H].
          layout: Layout of the batch.
          bias, seeds, return_attention_scores: See EncoderLayer.
          at: int32 [B, P], each in [0, S). Positions to compute, with the dropout that they have if
            all are computed; None for all.

        Returns:
          [T, H], or [B * P, H] with `at`; and AttentionMaps if requested, [B, N, P, S] with `at`.
        """
        # Each is [B, N, S, D].
        query, key, value = self.split_heads(layout.spread(self.attention.qkv(x)), layout)
        drops = self.draw(x, layout.sequence_length, layout, seeds)
        is_training = drops.probabilities is not None
        tokens = layout.tokens
        if at is not None:
            query = self.take_queries(query, at)
            bias = take_bias(bias, at)
            tokens = flatten
            x = take_tokens(layout.sequences(x), at)
            if is_training:
                drops = _select_positions(drops, layout, at)
        scores = tf.matmul(query * query.shape[-1] ** -0.5, key, transpose_b=True)
        probabilities = self.softmax(scores, bias, is_training)
        dropped = drops.probabilities(probabilities) if is_training else probabilities
        context = tf.transpose(tf.matmul(dropped, value), [0, 2, 1, 3])
        x = self.add_and_normalize(
            self.attention_output(tokens(context)), x, self.attention_norm, drops.attended
        )
        inner = self.activate(x, is_training)
        x = self.add_and_normalize(self.output_projection(inner), x, self.output_norm, drops.output)
        return (x, AttentionMaps(scores, probabilities)) if return_attention_scores else x

    def draw(self, x, num_queries, layout, seeds):
        """Draws the LayerDrops for `num_queries` queries, Q, and for outputs of x's shape.

        Args:
          x: Input of the layer.
          num_queries: int, or int32 scalar.
          layout: Layout of the batch.
          seeds: See EncoderLayer.
        """
        if seeds[0] is None:
            return LayerDrops(None, None, None)
        shape = tf.stack(
            [layout.batch_size, self.attention.num_heads, num_queries, layout.sequence_length]
        )
        return LayerDrops(
            layout.draw(self.attention.dropout.rate, shape, seeds[0]),
            *(layout.draw_for(x, self.dropout.rate, seed) for seed in seeds[1:]),
        )

    def split_heads(self, qkv, layout):
        """Splits qkv [B * S, 3 N D] into query, key, and value, [B, N, S, D] each."""
        shape = [
            layout.batch_size,
            layout.sequence_length,
            3,
            self.attention.num_heads,
            self.attention.head_width,
        ]
        return tf.unstack(tf.transpose(tf.reshape(qkv, shape), [2, 0, 3, 1, 4]), num=3)

    def take_queries(self, query, at):
        """Selects positions `at`, int32 [B, P], of query [B, N, S, D]; returns [B, N, P, D]."""
        return gather_rows(
            tf.reshape(query, [-1, query.shape[-1]]), tf.shape(query)[:2], at[:, tf.newaxis]
        )

    def activate(self, x, training):
        """Applies the intermediate projection to x [T, H]."""
        del training
        return self.intermediate(x)

    def add_and_normalize(self, y, x, norm, drop):
        """Returns norm(drop(y) + x), all [T, H]; `drop` is a Drop, or None when not training."""
        return norm((y if drop is None else drop(y)) + x)


class LiteRTLayer(FastLayer):
    """A FastLayer in operations that suit LiteRT, for batches of a fixed shape."""

    def split_heads(self, qkv, layout):
        """Splits qkv [B * S, 3 N D] into query, key, and value, [B, N, S, D] each.

        It splits before it transposes the heads: XNNPACK has no kernel that unstacks another axis,
        so LiteRT's own kernels would run in each layer.
        """
        shape = [layout.batch_size, layout.sequence_length, -1, self.attention.head_width]
        return [
            tf.transpose(tf.reshape(part, shape), [0, 2, 1, 3])
            for part in tf.split(qkv, 3, axis=-1)
        ]

    def take_queries(self, query, at):
        """Selects positions `at`, int32 [B, P], of query [B, N, S, D]; returns [B, N, P, D]."""
        return tf.gather(query, at, axis=2, batch_dims=1)

    def softmax(self, scores, bias, training):
        """Computes attention probabilities from float32 scores, without casts."""
        del training
        return tf.nn.softmax(scores + bias)


class FastMaskedLMHead(MaskedLMHead):
    """A MaskedLMHead whose product with the word embedding matrix suits a device.

    Args:
      config, initializer: See MaskedLMHead.
      vocabulary_multiple: int. The product with the word embedding matrix is computed for this
        multiple of rows, the rest zeros, which are removed from the result. A GPU's matrix units
        need rows of 16 bytes: multiples of 8 in 16 bits.
      float32_scores: bool. Under mixed precision, compute that product in float32: for few
        positions, as in serving, this avoids a cast of the matrix and the rounding of the scores.
    """

    def __init__(
        self, config, initializer, vocabulary_multiple=1, float32_scores=False, *, dtype=None
    ):
        super().__init__(config, initializer, dtype=dtype)
        self._vocabulary_multiple = vocabulary_multiple
        self._float32_scores = float32_scores

    def score(self, x, table, projection, bias):
        """Returns logits float32 [T, V]; see MaskedLMHead."""
        if self._float32_scores:
            x = tf.cast(x, tf.float32)
        size = table.shape[0]
        padding = -size % self._vocabulary_multiple
        if not padding:
            return super().score(x, table, projection, bias)
        table = tf.cast(table, x.dtype)
        bias = tf.cast(bias, x.dtype)
        table = tf.pad(table, [[0, padding], [0, 0]])
        bias = tf.pad(bias, [[0, padding]])
        return tf.slice(super().score(x, table, projection, bias), [0, 0], [-1, size])


def _select_positions(drops, layout, at):
    """Restricts the LayerDrops of all positions to some of them, int32 [B, P]."""

    def select(keep):
        return take_tokens(layout.sequences(keep), at)

    return LayerDrops(
        drops.probabilities.select(lambda keep: tf.gather(keep, at, axis=2, batch_dims=1)),
        drops.attended.select(select),
        drops.output.select(select),
    )


def take_bias(bias, at):
    """Returns the bias of the scores at positions int32 [B, P]."""
    if bias.shape[2] == 1:
        return bias
    # Packed rows and causal attention: [B, 1, S, S] becomes [B, 1, P, S].
    return tf.gather(bias, at, axis=2, batch_dims=1)


def take_tokens(x, at):
    """Selects the positions `at`, int32 [B, P], of x [B, S, W], and returns [B * P, W]."""
    return flatten(gather_rows(tf.reshape(x, [-1, x.shape[-1]]), tf.shape(at)[:1], at))


def gather_rows(rows, sizes, positions):
    """Gathers rows at some positions of consecutive sequences.

    `tf.gather` with batch_dims returns the same. With its gradient it takes 122 operations of a
    graph, and this 41.

    Args:
      rows: [n * S, W], n sequences of S positions.
      sizes: int32 [k], n as it is laid out in k axes.
      positions: int32 [..., P], k + 1 axes, those before the last of `sizes` or 1; each in [0, S).

    Returns:
      [*sizes, P, W].
    """
    count = tf.shape(rows)[0]
    sequences = tf.reduce_prod(sizes)
    length = count // tf.maximum(sequences, 1)
    starts = tf.reshape(length * tf.range(sequences), tf.concat([sizes, [1]], axis=0))
    indices = positions + starts
    if not rows.dtype.is_floating:
        return tf.gather(rows, indices)

    @tf.custom_gradient
    def gather(rows):
        return tf.gather(rows, indices), lambda gradient: tf.math.unsorted_segment_sum(
            gradient, indices, count
        )

    return gather(rows)
