"""The layer from token IDs and segment IDs to embeddings."""

import tensorflow as tf
import tf_keras

from bert_tf.layers.basic import LayerNorm, SeededDropout, multiply
from bert_tf.saved_objects import SavedLayer


class Embeddings(SavedLayer, tf_keras.layers.Layer):
    """The normalized sum of word, segment, and position embeddings.

    See section 3 of the paper, "Input/Output Representations". The original's functions are
    `embedding_lookup` and `embedding_postprocessor`.

    Weights: `word_embeddings` [V, H], `token_type_embeddings` [segment types, H],
    `position_embeddings` [longest sequence, H], and LayerNorm's. If factorized, `word_embeddings`
    [V, E] and `embedding_projection` [E, H], whose product replaces it. With
    `project_embedding_sum`, all tables and LayerNorm have E columns, and the projection of their
    output has a bias, `embedding_projection_bias` [H]. All are float32 under any dtype policy.

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
    """

    def __init__(self, config, initializer):
        super().__init__(name="embeddings", dtype="float32")
        self._config = config
        width = config.embedding_width
        with tf.name_scope("embeddings"):
            self.word_embeddings = self.add_weight(
                "word_embeddings",
                [config.vocab_size, config.embedding_size or width],
                initializer=initializer,
            )
            self.embedding_projection = None
            self.embedding_projection_bias = None
            self.token_type_embeddings = None
            if config.embedding_size:
                self.embedding_projection = self.add_weight(
                    "embedding_projection",
                    [config.embedding_size, config.hidden_size],
                    initializer=initializer,
                )
            if config.project_embedding_sum:
                self.embedding_projection_bias = self.add_weight(
                    "embedding_projection_bias", [config.hidden_size], initializer="zeros"
                )
            if config.type_vocab_size:
                self.token_type_embeddings = self.add_weight(
                    "token_type_embeddings",
                    [config.type_vocab_size, width],
                    initializer=initializer,
                )
            self.position_embeddings = self.add_weight(
                "position_embeddings",
                [config.max_position_embeddings, width],
                initializer=initializer,
            )
            self.layer_norm = LayerNorm(width)
        self.dropout = SeededDropout(config.hidden_dropout_prob, dtype="float32")

    def call(self, input_ids, segment_ids, context, seed=None):
        """Embeds a batch.

        Args:
          input_ids: int32 [B, S], each in [0, V).
          segment_ids: int32 [B, S], each in [0, segment types); unused if there are no segment
            types.
          context: BatchContext.
          seed: int [2], of dropout; None when not training.

        Returns:
          float32 [B, S, H].
        """
        length = tf.shape(input_ids)[1]
        x = self.layer_norm(self.sum(input_ids, segment_ids, context.positions, length))
        return self.project(self.dropout(x, seed))

    def sum(self, input_ids, segment_ids, positions, length):
        """Sums the three embeddings.

        Args:
          input_ids, segment_ids: See `call`.
          positions: See BatchContext.
          length: int, or int32 scalar. S.

        Returns:
          float32 [B, S, H], or [B, S, E] with `project_embedding_sum`.
        """
        x = self.look_up(input_ids)
        for hook in self.hooks:
            x = hook.rows(x, self.word_embeddings)
        if self.embedding_projection is not None and self.embedding_projection_bias is None:
            rows = tf.reshape(x, [-1, self._config.embedding_size])
            shape = tf.concat([tf.shape(input_ids), [self._config.hidden_size]], axis=0)
            x = tf.reshape(multiply(rows, self.embedding_projection, self.hooks), shape)
        if self.token_type_embeddings is not None:
            # A one-hot matmul instead of a gather, since the table is small: its gradient is dense,
            # and the original's clipping by global norm depends on that.
            x += tf.matmul(
                tf.one_hot(segment_ids, self._config.type_vocab_size), self.token_type_embeddings
            )
        table = self.position_embeddings[:length]  # [S, H]
        if positions is None:
            return x + table
        # [B, S, H]; the gradient is dense, like that of a slice.
        return x + tf.gather(table, positions)

    def project(self, x):
        """Projects a normalized sum [..., E] to [..., H] with `project_embedding_sum`.

        Otherwise, returns it.
        """
        if self.embedding_projection_bias is None:
            return x
        return tf.nn.bias_add(
            multiply(x, self.embedding_projection, self.hooks), self.embedding_projection_bias
        )

    def look_up(self, ids):
        """Returns the rows of the word embedding matrix for IDs int32 [B, S]."""
        # Read the table as a tensor: TensorFlow copies a variable at each read once a gather has
        # used it directly.
        return tf.gather(tf.convert_to_tensor(self.word_embeddings), ids)
