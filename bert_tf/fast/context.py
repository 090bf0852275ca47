"""The context of a batch whose tokens are laid out as a device demands.

Shape legend: B batch, S sequence, P positions, F numbers per token.
"""

import dataclasses

import tensorflow as tf

from bert_tf.fast.layout import Layout, flatten
from bert_tf.layers import BatchContext


@dataclasses.dataclass(frozen=True, kw_only=True)
class FastContext(BatchContext):
    """A BatchContext of layers whose input has a Layout.

    Attributes:
      layout: Layout of the batch.
      at: int32 [B, P], each in [0, S). Positions at which to compute the last layer; None for all.
    """

    layout: Layout
    at: tf.Tensor | None = None

    def for_layer(self, seeds, is_last):
        """Returns the context of a layer; only the last can be computed at some positions."""
        at = self.at if is_last else None
        return dataclasses.replace(super().for_layer(seeds, is_last), at=at)

    def take_outputs(self, x):
        """Selects the rows of a layer's input at which its outputs are computed.

        Args:
          x: Input of the layer.

        Returns:
          x, or [B * P, F] with `at`.
        """
        return x if self.at is None else self.layout.take(x, self.at)

    def to_rows(self, x):
        """Converts x [B, S, ...] to the layout, or x [B, P, ...] with `at` to [B * P, F]."""
        return self.layout.tokens(x) if self.at is None else flatten(x)

    def to_sequences(self, x):
        """Converts the input or output of a layer to [B, S, F]."""
        return self.layout.sequences(x)

    @property
    def query_bias(self):
        """Bias of the queries' scores, float32 [B, 1, 1, S], [B, 1, S, S], or [B, 1, P, S]."""
        if self.at is None or self.bias.shape[2] == 1:
            return self.bias
        # Packed rows and causal attention.
        return tf.gather(self.bias, self.at, axis=2, batch_dims=1)
