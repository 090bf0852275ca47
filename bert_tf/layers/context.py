"""The context of a batch, and the bias of its attention.

Shape legend: B batch, S sequence, H hidden, N heads, D head width.
"""

import dataclasses
import math
import typing

import tensorflow as tf

MASKED_SCORE = -10000.0  # The original's value; -inf would turn a row without any token into NaN.


class LayerSeeds(typing.NamedTuple):
    """Seeds of the dropout of one use of a layer, int [2] each; None when not training.

    Attributes:
      probabilities: Seed for the attention probabilities.
      attended: Seed for the output of the attention.
      output: Seed for the output of the feed-forward network.
    """

    probabilities: tf.Tensor | None
    attended: tf.Tensor | None
    output: tf.Tensor | None


NO_SEEDS = LayerSeeds(None, None, None)  # A call outside of training.


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchContext:
    """The facts about a batch that all layers read, besides their input.

    Attributes:
      bias: float32 [B, 1, 1, S] or [B, 1, S, S], added to the attention scores.
      positions: int32 [B, S]. 0-based position of each token in its sequence, of packed rows; None
        for 0, 1, ..., S - 1.
      is_training: bool. Whether to apply dropout.
      return_attention: bool. Whether layers also return AttentionMaps.
      seeds: LayerSeeds of the layer that reads the context.
    """

    bias: tf.Tensor
    positions: tf.Tensor | None = None
    is_training: bool = False
    return_attention: bool = False
    seeds: LayerSeeds = NO_SEEDS

    @classmethod
    def from_features(cls, features, *, is_causal, is_training, return_attention, **fields):
        """Creates the context of a batch.

        Args:
          features: See bert_tf.features.
          is_causal: bool. See `attention_bias`.
          is_training, return_attention: See the attributes.
          **fields: Attributes of a subclass.
        """
        positions = features.get("positions")
        return cls(
            bias=attention_bias(features["input_mask"], positions is not None, is_causal),
            positions=positions,
            is_training=is_training,
            return_attention=return_attention,
            **fields,
        )

    def for_layer(self, seeds, is_last):
        """Returns the context for one use of a layer.

        Args:
          seeds: LayerSeeds of this use.
          is_last: bool. Whether the encoder has no layer after it.
        """
        del is_last
        return dataclasses.replace(self, seeds=seeds)

    def without_dropout(self):
        """Returns the context of the same batch outside of training."""
        return dataclasses.replace(self, is_training=False, seeds=NO_SEEDS)

    def take_outputs(self, x):
        """Selects the rows of a layer's input at which its outputs are computed: all."""
        return x

    def to_rows(self, x):
        """Converts x [B, S, N, D] to the shape of a layer's input, [B, S, N D]."""
        shape = tf.shape(x)
        return tf.reshape(x, [shape[0], shape[1], math.prod(x.shape[2:])])

    def to_sequences(self, x):
        """Converts the input or output of a layer to [B, S, H], which it is."""
        return x


def attention_bias(input_mask, is_packed=False, is_causal=False):
    """Returns the bias of attention scores, by which no token attends to padding.

    Args:
      input_mask: int32 [B, S], 1 at tokens and 0 at padding; in packed rows, the number of each
        token's sequence.
      is_packed: bool. Whether tokens attend only to tokens of the same sequence.
      is_causal: bool. Whether tokens attend only to themselves and earlier tokens, also of the same
        sequence.

    Returns:
      float32 [B, 1, 1, S], or [B, 1, S, S] if rows are packed or attention is causal.
    """
    if not (is_packed or is_causal):
        return (1.0 - tf.cast(input_mask, tf.float32)[:, tf.newaxis, tf.newaxis, :]) * MASKED_SCORE
    is_apart = input_mask[:, :, tf.newaxis] != input_mask[:, tf.newaxis, :]
    if is_causal:
        positions = tf.range(tf.shape(input_mask)[1])
        is_apart |= positions[:, tf.newaxis] < positions
    return tf.cast(is_apart, tf.float32)[:, tf.newaxis] * MASKED_SCORE
