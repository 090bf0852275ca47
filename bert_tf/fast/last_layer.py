"""The last layer computed only at the positions that a task model reads.

Shape legend: B batch, S sequence, P positions, H hidden.
"""

import dataclasses

import tensorflow as tf

from bert_tf.fast.arithmetic import rows_at
from bert_tf.layers import Drop, LayerRun


@dataclasses.dataclass(frozen=True)
class LastLayerRun(LayerRun):
    """See LayerRun. Computes a layer at some positions; dropout is what it would be for all.

    Attributes:
      positions: int32 [B, P], each in [0, S).
    """

    positions: tf.Tensor

    def compute(self, layer, x):
        """Computes the layer's output [B * P, H] and AttentionMaps [B, N, P, S] at the positions, for x [T, H]."""
        attention, layout, bias = layer.attention, self.layout, self.attention_bias
        probability_seed, *sum_seeds = self.dropout_seeds or [None] * layer.NUM_DROPOUTS
        query, key, value = layer.arithmetic.heads(attention, x, layout)
        if bias.shape[2] != 1:  # of packed rows
            bias = tf.gather(bias, self.positions, axis=2, batch_dims=1)  # [B, 1, P, S]
        drop = self._at_positions(attention.draw(layout, probability_seed), lambda keep: tf.gather(
            keep, self.positions, axis=2, batch_dims=1))  # [B, N, P, S]
        context, attended = layer.arithmetic.attend(
            layer.arithmetic.at_positions(query, self.positions), key, value, bias, drop)
        drops = [self._at_positions(layout.drop(layer.dropout, x, seed), self._rows) for seed in sum_seeds]
        context = tf.reshape(context, [-1, attention.num_heads * attention.head_width])  # [B * P, N D]
        return layer.transform(context, self._rows(x), drops), attended

    def _at_positions(self, drop, gather):
        """Gathers a Drop of all positions at the positions; returns None if it is None."""
        return drop if drop is None or not drop.keep.shape.rank else Drop(gather(drop.keep), drop.scale)

    def _rows(self, x):
        """Gathers the rows of x [T, W] at the positions, [B * P, W]."""
        flat = tf.reshape(self.layout.sequences(x), [-1, x.shape[-1]])  # [B * S, W]
        return tf.reshape(rows_at(flat, tf.shape(self.positions)[:1], self.positions), [-1, x.shape[-1]])
