"""The layers of the plain encoder on a matrix of tokens, [T, H].

Their operations save memory, casts, or padding. TensorFlow's graph optimizer fuses the product of
two matrices with the bias and the activation that follow it.

Shape legend: B batch, S sequence, P positions, T tokens, H hidden, N heads, D head width, V
vocabulary.
"""

import tensorflow as tf

from bert_tf.fast.layout import gather_rows
from bert_tf.layers import Embeddings, EncoderLayer, MaskedLMHead, SelfAttention
from bert_tf.layers.basic import ACTIVATIONS, LAYER_NORM_EPSILON


class FastEmbeddings(Embeddings):
    """Embeddings of a batch's tokens as a matrix.

    Attributes:
      one_hot: bool. Look words up by a matrix multiplication with one-hot vectors. LiteRT's
        converter turns it into one int8 lookup with a scale per row; a gather would get one scale
        for all rows. In training steps compiled for TPUs, it gains nothing.
    """

    one_hot = False

    def call(self, input_ids, segment_ids, context, seed=None):
        """Embeds a batch.

        Args:
          input_ids, segment_ids, seed: See Embeddings.
          context: FastContext.

        Returns:
          float32 [T, H].
        """
        layout = context.layout
        x = self.sum(input_ids, segment_ids, context.positions, layout.sequence_length)
        x = self.layer_norm(layout.tokens(x))
        if context.is_training:
            x = layout.create_row_drop(self.dropout.rate, tf.shape(x), seed)(x)
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


class FastAttention(SelfAttention):
    """SelfAttention of a matrix of tokens, [T, H] instead of [B, S, H].

    With `context.at`, it computes the queries of P positions per row, [B, N, P, D].
    """

    def project_to_heads(self, x, context):
        """Projects x [T, H] to query, key, and value, [B, N, S, D] each."""
        layout = context.layout
        qkv = layout.spread(self.qkv(x))
        shape = [layout.batch_size, layout.sequence_length, 3, self.num_heads, self.head_width]
        return tf.unstack(tf.transpose(tf.reshape(qkv, shape), [2, 0, 3, 1, 4]), num=3)

    def attend(self, query, key, value, context):
        """Computes the outputs of the heads, [T, N D], or [B * P, N D] with `context.at`."""
        if context.at is not None:
            query = self.take_queries(query, context.at)
        return super().attend(query, key, value, context)

    def take_queries(self, query, at):
        """Selects positions `at`, int32 [B, P], of query [B, N, S, D]; returns [B, N, P, D]."""
        return gather_rows(
            tf.reshape(query, [-1, query.shape[-1]]), tf.shape(query)[:2], at[:, tf.newaxis]
        )

    def softmax(self, scores, context):
        """Computes the attention probabilities; see `compute_probabilities`."""
        return compute_probabilities(scores, context.query_bias, context.is_training)

    def create_drop(self, context):
        """Creates the Drop of the probabilities, [B, N, S, S] or [B, N, P, S], for training."""
        if not context.is_training:
            return None
        layout = context.layout
        length = layout.sequence_length
        shape = tf.stack([layout.batch_size, self.num_heads, length, length])
        drop = layout.create_drop(self.dropout.rate, shape, context.seeds.probabilities)
        if context.at is None:
            return drop
        return drop.select(lambda keep: tf.gather(keep, context.at, axis=2, batch_dims=1))


class FastLayer(EncoderLayer):
    """An EncoderLayer on a matrix of tokens, which can omit padding.

    The call is the one of EncoderLayer, with [T, H], or [B * P, H] with `context.at`, instead of
    [B, S, H].
    """

    attention_class = FastAttention

    def attend(self, x, context):
        """Computes multi-head self-attention; see EncoderLayer.

        It does not call the attention through Keras, whose scopes name operations: the last bits
        after oneDNN's fusion depend on names.
        """
        heads, maps = self.attention.call(x, context)
        return self.attention_output(heads), maps

    def create_drop(self, x, context, seed):
        """Creates the Drop for outputs of x's shape; None when not training. See EncoderLayer."""
        if not context.is_training:
            return None
        return context.layout.create_output_drop(x, context.at, self.dropout.rate, seed)


class LiteRTAttention(FastAttention):
    """A FastAttention in operations that suit LiteRT, for batches of a fixed shape."""

    def project_to_heads(self, x, context):
        """Projects x [T, H] to query, key, and value, [B, N, S, D] each.

        It splits before it transposes the heads: XNNPACK has no kernel that unstacks another axis,
        so LiteRT's own kernels would run in each layer.
        """
        layout = context.layout
        shape = [layout.batch_size, layout.sequence_length, -1, self.head_width]
        return [
            tf.transpose(tf.reshape(part, shape), [0, 2, 1, 3])
            for part in tf.split(layout.spread(self.qkv(x)), 3, axis=-1)
        ]

    def softmax(self, scores, context):
        """Computes attention probabilities from float32 scores, without casts."""
        return tf.nn.softmax(scores + context.query_bias)


class LiteRTLayer(FastLayer):
    """A FastLayer in operations that suit LiteRT, for batches of a fixed shape."""

    attention_class = LiteRTAttention


class OpenVINOAttention(FastAttention):
    """A FastAttention of [B, S, H] in operations that suit OpenVINO.

    Query, key, and value come from three products: OpenVINO would copy the parts of one product.
    """

    def project_to_heads(self, x, context):
        """Projects x [B, S, H] to query, key, and value, [B, N, S, D] each."""
        layout = context.layout
        shape = [layout.batch_size, layout.sequence_length, self.num_heads, self.head_width]
        kernels = tf.split(self.qkv.kernel, 3, axis=1)
        biases = tf.split(self.qkv.bias, 3)
        return [
            tf.transpose(tf.reshape(tf.matmul(x, kernel) + bias, shape), [0, 2, 1, 3])
            for kernel, bias in zip(kernels, biases, strict=True)
        ]


class OpenVINOLayer(FastLayer):
    """A FastLayer of [B, S, H] in operations that suit OpenVINO, without hooks and training.

    OpenVINO computes the int8 inputs of a product together with the operation before it only if
    this has three axes.
    """

    attention_class = OpenVINOAttention

    def attend(self, x, context):
        """Computes multi-head self-attention; see EncoderLayer."""
        heads, maps = self.attention.call(x, context)
        return _project(heads, self.attention_output), maps

    def feed_forward(self, x, context):
        """Applies the feed-forward network to x; see EncoderLayer."""
        del context
        return _project(_project(x, self.intermediate), self.output_projection)

    def add_and_normalize(self, y, x, norm, drop):
        """Returns norm(y + x), in operations that OpenVINO fuses; it rejects scalar axes."""
        del drop
        x = y + x
        centered = x - tf.reduce_mean(x, axis=[-1], keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), axis=[-1], keepdims=True)
        return centered / tf.sqrt(variance + LAYER_NORM_EPSILON) * norm.gamma + norm.beta


def _project(x, projection):
    """Returns the output of a Projection for x [B, S, ...], by one operation MatMul."""
    y = tf.matmul(x, projection.kernel) + projection.bias
    activate = ACTIVATIONS[projection.activation]
    return activate(y) if activate else y


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
        # Added before the rows are removed, so that oneDNN fuses it and rounds once.
        bias = tf.pad(bias, [[0, padding]])
        return tf.slice(super().score(x, table, projection, bias), [0, 0], [-1, size])
