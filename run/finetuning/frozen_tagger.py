"""The model on frozen features: combines layers to one embedding per word; two-layer BiLSTM, classifier, no CRF.

Shape legend: B sentences, W words, K layers of the encoder, H hidden size of the encoder, C labels.
"""

import itertools

import tensorflow as tf
import tf_keras

from bert_tf.layers import BiLSTM, ScalarMix, SeededDropout
from run.finetuning.frozen_settings import CONCATENATION, MIX, SUM

NUM_LAYERS = 2
SEEDS = 2 * NUM_LAYERS + 1  # Seeds of initial weights: one per direction of each layer, one for the classifier.
LARGEST_SEED = 2**24  # Keras accepts 31-bit seeds.


class FrozenTagger(tf_keras.Model):
    """A tagger of words on the embeddings of an encoder.

    Args:
      combination: Combination of the layers, a constant of run.finetuning.frozen_settings.
      num_layers: int. K.
      input_width: int. H.
      num_labels: int. C.
      width: int. Size of the BiLSTM's layers in each direction.
      dropout_rate: float. Dropout on the inputs of each BiLSTM layer and of the classifier.
      seed: int. Seed of initial weights and dropout.
    """

    def __init__(self, combination, num_layers, input_width, num_labels, *, width, dropout_rate, seed):
        super().__init__(name="frozen_tagger", dtype="float32")
        self._combination = combination
        initial = itertools.count(seed % LARGEST_SEED * SEEDS)
        self.dropout_generator = tf.random.Generator.from_seed(seed)
        self.dropout = SeededDropout(dropout_rate, dtype="float32")
        self.mix = ScalarMix(num_layers) if combination == MIX else None
        widths = [input_width * (num_layers if combination == CONCATENATION else 1)] + [2 * width] * NUM_LAYERS
        self.lstm_layers = [
            BiLSTM(widths[number], width, (next(initial), next(initial)), name=f"lstm_{number}")
            for number in range(NUM_LAYERS)]
        self.head = tf_keras.layers.Dense(
            num_labels, kernel_initializer=tf_keras.initializers.GlorotUniform(next(initial)), name="head",
            dtype="float32")
        self.head.build([None, widths[-1]])

    def call(self, features, training=False):
        """Computes logits of the labels of words.

        Args:
          features: Dict of vectors, float [B, W, K, H], and input_mask, int32 [B, W], 1 for words, 0 for padding.
          training: bool. Whether to apply dropout.

        Returns:
          Dict of logits, float32 [B, W, C].
        """
        x = self._combine_layers(tf.cast(features["vectors"], tf.float32))  # [B, W, H or K * H]
        mask = tf.cast(features["input_mask"], tf.bool)
        seeds = tf.unstack(self.dropout_generator.make_seeds(NUM_LAYERS + 1), axis=1) if training else (
            [None] * (NUM_LAYERS + 1))
        for layer, seed in zip(self.lstm_layers, seeds[:-1], strict=True):
            x = layer(self.dropout(x, seed=seed), mask)  # [B, W, 2 * width]
        return {"logits": self.head(self.dropout(x, seed=seeds[-1]))}

    def _combine_layers(self, vectors):
        """Combines [B, W, K, H] to [B, W, H], or concatenates to [B, W, K * H]."""
        if self._combination == MIX:
            return self.mix(vectors, axis=2)
        if self._combination == SUM:
            return tf.reduce_sum(vectors, axis=2)
        batch_size, num_words, *_ = tf.unstack(tf.shape(vectors))
        return tf.reshape(vectors, [batch_size, num_words, vectors.shape[2] * vectors.shape[3]])

    @property
    def flops_per_word(self):
        """Forward FLOPs of the matmuls per word, int."""
        return 2 * sum(variable.shape.num_elements() for variable in self.trainable_variables
                                       if len(variable.shape) == 2)
