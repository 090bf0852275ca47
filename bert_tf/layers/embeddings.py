"""Token ids and segment ids to vectors."""

import tensorflow as tf
import tf_keras

from bert_tf.layers.basic import Dropout, LayerNorm


class Embeddings(tf_keras.layers.Layer):
    """Word + segment + position embedding, normalised (the original's `embedding_lookup` and
    `embedding_postprocessor`; section 3 of the paper, "Input/Output Representations").

    Weights: `word_embeddings` [V, H], `token_type_embeddings` [segment types, H], `position_embeddings`
    [longest sequence, H], and LayerNorm's. A factorised word table has `word_embeddings` [V, E] and
    `embedding_projection` [E, H], of which the product stands for it.

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      use_one_hot_embeddings: look words up by a matrix product with one-hot vectors, which suits a TPU, in
        place of a gather; the output is the same.
    """

    quantization = None  # as Projection's

    def __init__(self, config, initializer, use_one_hot_embeddings=False, *, name="embeddings"):
        # In float32 under mixed precision too: a cast of the whole word table would cost more than it saves.
        super().__init__(name=name, dtype="float32")
        self._config = config
        self._use_one_hot_embeddings = use_one_hot_embeddings
        width = config.hidden_size
        with tf.name_scope(name):
            self.word_embeddings = self.add_weight(
                "word_embeddings", [config.vocab_size, config.embedding_size or width], initializer=initializer)
            self.embedding_projection = None
            if config.embedding_size:
                self.embedding_projection = self.add_weight(
                    "embedding_projection", [config.embedding_size, width], initializer=initializer)
            self.token_type_embeddings = self.add_weight(
                "token_type_embeddings", [config.type_vocab_size, width], initializer=initializer)
            self.position_embeddings = self.add_weight(
                "position_embeddings", [config.max_position_embeddings, width], initializer=initializer)
            self.layer_norm = LayerNorm(width)
        self.dropout = Dropout(config.hidden_dropout_prob, dtype="float32")

    def call(self, input_ids, segment_ids, tokens, dropout_seed=None, positions=None):
        """Embeds a batch.

        Args:
          input_ids: int32 [B, S], each in [0, V).
          segment_ids: int32 [B, S], each in [0, segment types).
          tokens: bert_tf.layers.padding.AllTokens or RealTokens of the batch.
          dropout_seed: int [2], or None when not training.
          positions: int32 [B, S], of each token in its sequence, each in [0, S); None for 0, 1, ..., S - 1.

        Returns:
          float32 [T, H].
        """
        sequence_length = tf.shape(input_ids)[1]
        # A one-hot product, not a gather, for so small a table: its gradient is dense, and the original's
        # clipping by global norm depends on that.
        segments = tf.matmul(
            tf.one_hot(segment_ids, self._config.type_vocab_size), self.token_type_embeddings)  # [B, S, H]
        places = self.position_embeddings[:sequence_length]  # [S, H]
        if positions is not None:
            places = tf.gather(places, positions)  # [B, S, H]; the gradient stays dense: it is that of a slice
        words = self._look_up_words(input_ids)
        if self.embedding_projection is not None:
            multiply = tf.matmul if self.quantization is None else self.quantization.product
            words = multiply(tf.reshape(words, [-1, self._config.embedding_size]), self.embedding_projection)
            words = tf.reshape(words, tf.shape(segments))  # [B, S, H]
        x = words + segments + places
        x = tokens.pack(tf.reshape(x, [-1, self._config.hidden_size]))  # [T, H]
        return self.dropout(self.layer_norm(x), seed=dropout_seed, num_rows=tokens.num_real)

    @property
    def word_table(self):
        """What MaskedLMHead scores by: the word table and, of a factorised one, its projection."""
        return [self.word_embeddings] if self.embedding_projection is None else [
            self.word_embeddings, self.embedding_projection]

    def _look_up_words(self, input_ids):
        if self._use_one_hot_embeddings:
            words = tf.matmul(tf.one_hot(input_ids, self._config.vocab_size), self.word_embeddings)
        else:
            # Of the table as a tensor: once a variable was gathered from, TensorFlow copies it each time it is read.
            words = tf.gather(tf.convert_to_tensor(self.word_embeddings), input_ids)
        return words if self.quantization is None else self.quantization.rows(words, self.word_embeddings)
