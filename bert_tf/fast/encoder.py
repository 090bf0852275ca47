"""The encoder that drivers and exports run: the numbers of BertEncoder, in less time or memory."""

import dataclasses
import functools

import tensorflow as tf

from bert_tf.encoder import BertEncoder
from bert_tf.fast.arithmetic import FastArithmetic
from bert_tf.fast.compiled import TOKENS_MULTIPLE, CompiledArithmetic
from bert_tf.fast.einsum import EinsumArithmetic
from bert_tf.fast.last_layer import LastLayerRun
from bert_tf.fast.layout import PaddedLayout, SequenceLayout, UnpaddedLayout
from bert_tf.layers import attach
from bert_tf.saved_objects import SavedObject


@dataclasses.dataclass(frozen=True)
class Fast(SavedObject):
    """The accelerations of a FastEncoder.

    Attributes:
      remove_padding: Run projections, normalization, and dropout only on non-padding tokens. Outputs at tokens stay the
        same, those at padding become zero. Shapes then depend on the batch's values: not for TPUs or XLA.
      last_where_read: Compute the last layer only at the positions that a task model reads.
      recompute: In training, keep only each layer's output and recompute its other activations in the backward pass
        (activation checkpointing): less memory for about a third more work.
      compiled: In training, have XLA compile the element-wise work of a layer and of its gradient, which is faster on a
        CPU; see bert_tf.fast.compiled. With remove_padding, outputs at padding are then not all zero.
      einsum: Compute layers as XLA compiles them best for TPUs and GPUs; slower on a CPU. Cannot be combined with
        `compiled` or `remove_padding`.
      one_hot, vocabulary_multiple, float32_scores: See FastArithmetic.
    """

    remove_padding: bool = False
    last_where_read: bool = False
    recompute: bool = False
    compiled: bool = False
    einsum: bool = False
    one_hot: bool = False
    vocabulary_multiple: int = 1
    float32_scores: bool = False

    def get_config(self):
        """Returns the fields."""
        return dataclasses.asdict(self)


class FastEncoder(BertEncoder):
    """A BertEncoder that computes the same by faster operations; it has the same variables.

    Args:
      config: BertConfig.
      fast: Fast.
      seed, dtype, name: See BertEncoder.

    Attributes:
      last_where_read: Whether `encode_positions` computes the last layer only at these positions.
    """

    def __init__(self, config, fast, *, seed=0, dtype=None, name="bert"):
        super().__init__(config, seed=seed, dtype=dtype, name=name)
        self._fast, self.last_where_read = fast, fast.last_where_read
        self.has_static_shapes = not fast.remove_padding
        if fast.einsum and (fast.compiled or fast.remove_padding):
            raise ValueError("`einsum` cannot be combined with `compiled` or `remove_padding`")
        options = (fast.one_hot, fast.vocabulary_multiple, fast.float32_scores)
        if fast.compiled:
            self.compute_with(CompiledArithmetic(config.hidden_act, *options))
        elif fast.einsum:
            self.compute_with(EinsumArithmetic(config.hidden_act, *options))
        else:
            self.compute_with(FastArithmetic(*options))
        if fast.recompute:
            attach(self, _recompute)

    def encode_positions(self, features, positions=None, training=False, pooled_positions=None):
        """See BertEncoder."""
        if not self.last_where_read:
            return super().encode_positions(features, positions, training, pooled_positions)
        first = self.find_pooled(features, pooled_positions)
        read = first if positions is None else tf.concat([first, positions], axis=1)  # [B, 1 + P] or [B, K + P]
        _, outputs, _ = self._run_layers(features, self._layout(features, training), training,
                                         last_run=functools.partial(LastLayerRun, positions=read))
        output = tf.reshape(outputs[-1], [*tf.unstack(tf.shape(read)), self.config.hidden_size])
        num_pooled = tf.shape(first)[1]
        pooled = tf.reshape(output[:, :num_pooled], [-1, self.config.hidden_size])
        return None if positions is None else output[:, num_pooled:], self.pooler(pooled)

    def _layout(self, features, training):
        if self._fast.einsum:
            return SequenceLayout(features["input_mask"])
        if not self._fast.remove_padding:
            return PaddedLayout(features["input_mask"])
        return UnpaddedLayout(features["input_mask"], TOKENS_MULTIPLE if self._fast.compiled and training else 1)


def _recompute(number, layer, x, run):
    """Keeps a layer's output, and recomputes its activations in the backward pass; a hook."""
    del number
    if run.dropout_seeds is None:
        return run(layer, x)
    if run.observed:
        return tf.recompute_grad(lambda x: run(layer, x))(x)
    return tf.recompute_grad(lambda x: run(layer, x)[0])(x), None
