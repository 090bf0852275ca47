"""The last layer computed only at the positions that a task model reads.

Shape legend: B batch, S sequence, P positions, H hidden.
"""

import dataclasses

import tensorflow as tf

from bert_tf.layers import Drop, LayerRun, Layout


@dataclasses.dataclass(frozen=True)
class LastLayerRun(LayerRun):
    """See LayerRun. Computes a layer at some positions; dropout is what it would be for all.

    Attributes:
      positions: int32 [B, P], each in [0, S).
    """

    positions: tf.Tensor

    def compute(self, layer, x):
        """Computes the layer's output [B * P, H] and AttentionMaps [B, N, P, S] at the positions, for x [T, H]."""
        arithmetic, attention, bias = layer.arithmetic, layer.attention, self.attention_bias
        query, key, value = arithmetic.heads(attention, x, self.layout)
        if bias.shape[2] != 1:  # of packed rows, or causal
            bias = tf.gather(bias, self.positions, axis=2, batch_dims=1)  # [B, 1, P, S]
        probability_drop, *sum_drops = self._drops(layer, x)
        context, attended = arithmetic.attend(
            arithmetic.query_at(query, self.positions), key, value, bias, probability_drop)
        x = Layout.tokens(arithmetic.rows_at(self.layout.sequences(x), self.positions))
        return layer.transform(context, x, Layout.tokens, sum_drops), attended

    def _drops(self, layer, x):
        """Returns the Drops for the probabilities [B, N, P, S] and for two sums [B * P, H]; None when not training."""
        if self.dropout_seeds is None:
            return [None] * layer.NUM_DROPOUTS
        probability_seed, *sum_seeds = self.dropout_seeds
        attention, layout = layer.attention, self.layout
        if not layer.arithmetic.draws_for_all:
            read = Layout(self.positions)
            probabilities = [layout.batch_size, attention.num_heads, read.sequence_length, layout.sequence_length]
            sums = [layout.batch_size * read.sequence_length, x.shape[-1]]
            return [layout.draw(attention.dropout, tf.stack(probabilities), probability_seed),
                    *(layout.draw(layer.dropout, tf.stack(sums), seed) for seed in sum_seeds)]
        drop = self._at_positions(attention.draw(layout, probability_seed), lambda keep: tf.gather(
            keep, self.positions, axis=2, batch_dims=1))
        return [drop, *(self._at_positions(layout.drop(layer.dropout, x, seed), lambda keep: Layout.tokens(
            layer.arithmetic.rows_at(layout.sequences(keep), self.positions))) for seed in sum_seeds)]

    @staticmethod
    def _at_positions(drop, gather):
        """Gathers a Drop of all positions at the positions."""
        return Drop(gather(drop.keep), drop.scale) if drop.keep.shape.rank else drop
