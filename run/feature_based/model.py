"""The model on frozen features: combines layers to one embedding per position.

Two-layer BiLSTM, linear output, no CRF.

Shape legend: B batch, WO words, LE layers and the embeddings, H hidden, CC classes.
"""

import itertools

import tensorflow as tf
import tf_keras

from bert_tf.fast import BitDropout
from bert_tf.layers import LSTM_SEEDS, BiLSTM, ScalarMix
from run.feature_based.settings import CONCATENATION, MIX, SUM

NUM_LAYERS = 2
# Seeds of initial weights: one per direction of each layer, one for the last layer.
SEEDS = 2 * NUM_LAYERS + 1


class FrozenFeatureModel(tf_keras.Model):
    """A tagger, a classifier, or a regression on the embeddings of an encoder.

    Args:
      combination: Combination of the layers, a constant of run.feature_based.settings.
      num_layers: int. K.
      input_width: int. H.
      num_outputs: int. C.
      pools: bool. Whether there is one output per row, from the maximum of each BiLSTM output over
        the row's positions, as in InferSent (Conneau et al. 2017), instead of one per position.
      width: int. Size of the BiLSTM's layers in each direction.
      dropout_rate: float. Dropout on the inputs of each BiLSTM layer and of the last layer.
      seed: int. Seed of initial weights and dropout.
    """

    def __init__(
        self,
        combination,
        num_layers,
        input_width,
        num_outputs,
        *,
        pools=False,
        width,
        dropout_rate,
        seed,
    ):
        super().__init__(name="frozen_features", dtype="float32")
        self._combination = combination
        self._pools = pools
        initial = itertools.count(seed % LSTM_SEEDS * SEEDS)
        self.dropout_generator = tf.random.Generator.from_seed(seed)
        self.dropout = BitDropout(dropout_rate, dtype="float32")
        self.mix = ScalarMix(num_layers) if combination == MIX else None
        widths = [input_width * (num_layers if combination == CONCATENATION else 1)] + [
            2 * width
        ] * NUM_LAYERS
        self.lstm_layers = [
            BiLSTM(widths[number], width, (next(initial), next(initial)), name=f"lstm_{number}")
            for number in range(NUM_LAYERS)
        ]
        self.head = tf_keras.layers.Dense(
            num_outputs,
            kernel_initializer=tf_keras.initializers.GlorotUniform(next(initial)),
            name="head",
            dtype="float32",
        )
        self.head.build([None, widths[-1]])

    def call(self, features, training=False):
        """Computes logits, or numbers in regression.

        Args:
          features: Dict of vectors, float [B, WO, LE, H], and input_mask, int32 [B, WO], 0 for
            padding, otherwise 1.
          training: bool. Whether to apply dropout.

        Returns:
          Dict of logits, float32 [B, WO, CC], or [B, CC] if the model pools.
        """
        x = self._combine_layers(tf.cast(features["vectors"], tf.float32))  # [B, WO, H or LE * H]
        mask = tf.cast(features["input_mask"], tf.bool)
        seeds = (
            tf.unstack(self.dropout_generator.make_seeds(NUM_LAYERS + 1), axis=1)
            if training
            else ([None] * (NUM_LAYERS + 1))
        )
        for layer, seed in zip(self.lstm_layers, seeds[:-1], strict=True):
            x = layer(self.dropout(x, seed=seed), mask)  # [B, WO, 2 * width]
        if self._pools:
            x = tf.reduce_max(tf.where(mask[:, :, tf.newaxis], x, x.dtype.min), axis=1)
        return {"logits": self.head(self.dropout(x, seed=seeds[-1]))}

    def _combine_layers(self, vectors):
        """Combines [B, WO, LE, H] to [B, WO, H], or concatenates to [B, WO, LE * H]."""
        if self._combination == MIX:
            return self.mix(vectors, axis=2)
        if self._combination == SUM:
            return tf.reduce_sum(vectors, axis=2)
        batch_size, num_words, *_ = tf.unstack(tf.shape(vectors))
        return tf.reshape(vectors, [batch_size, num_words, vectors.shape[2] * vectors.shape[3]])
