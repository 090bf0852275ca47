"""The encoder that drivers and exports run: BertEncoder's results in less time or memory."""

import dataclasses

import tensorflow as tf

from bert_tf.encoder import BertEncoder, PositionOutputs
from bert_tf.errors import InputError
from bert_tf.fast.compiled import TOKENS_MULTIPLE, CompiledLayer
from bert_tf.fast.context import FastContext
from bert_tf.fast.dropout import BitDropout
from bert_tf.fast.einsum import EinsumLayer
from bert_tf.fast.layers import (
    FastEmbeddings,
    FastLayer,
    FastMaskedLMHead,
    LiteRTLayer,
    OpenVINOLayer,
)
from bert_tf.fast.layout import InferenceLayout, Layout, SequenceLayout, UnpaddedLayout
from bert_tf.saved_objects import register, set_untracked

LAYERS = {
    "matrix": FastLayer,
    "compiled": CompiledLayer,
    "einsum": EinsumLayer,
    "litert": LiteRTLayer,
    "openvino": OpenVINOLayer,
}


@dataclasses.dataclass(frozen=True)
class Fast:
    """The accelerations of a FastEncoder.

    Attributes:
      layer: str. How a layer is computed, one of LAYERS:
        matrix: On a matrix of tokens.
        compiled: As matrix; in training, XLA compiles the element-wise work of a layer and of its
          gradient, which is faster on a CPU; see bert_tf.fast.compiled.
        einsum: As XLA compiles it best for TPUs and GPUs; slower on a CPU.
        litert: For conversion to LiteRT.
        openvino: For conversion to OpenVINO.
      remove_padding: Compute layers only on non-padding tokens. Outputs at tokens stay the same,
        those at padding become zero, except some after training with "compiled". Shapes then depend
        on the batch's values: not for TPUs or XLA. Only for the layers "matrix" and "compiled".
      last_where_read: Compute the last layer only at the positions that a task model reads. The
        results are the same, including dropout, except with the layer "einsum".
      recompute: In training, keep only each layer's output and recompute its other activations in
        the backward pass (activation checkpointing): less memory for about a third more work.
      one_hot: See FastEmbeddings.
      vocabulary_multiple, float32_scores: See FastMaskedLMHead.

    Raises:
      InputError: If the layer does not exist, or cannot be combined with `remove_padding`.
    """

    layer: str = "matrix"
    remove_padding: bool = False
    last_where_read: bool = False
    recompute: bool = False
    one_hot: bool = False
    vocabulary_multiple: int = 1
    float32_scores: bool = False

    def __post_init__(self):
        if self.layer not in LAYERS:
            raise InputError(f"must be one of {', '.join(LAYERS)}", "layer", self.layer)
        if self.remove_padding and self.layer in ("einsum", "litert", "openvino"):
            raise InputError(
                f"cannot be combined with `layer`={self.layer}, whose shapes are static; choose "
                '"matrix" or "compiled"',
                "remove_padding",
                True,
            )


@register
class FastEncoder(BertEncoder):
    """A BertEncoder that computes the same results in less time or memory.

    It has the same variables. Only the dropout that it draws and the outputs at padding differ.

    Args:
      config: BertConfig.
      fast: Fast.
      seed, dtype, name: See BertEncoder.

    Attributes:
      fast: Fast.
    """

    embeddings_class = FastEmbeddings
    dropout_class = BitDropout

    def __init__(self, config, fast, *, seed=0, dtype=None, name="bert"):
        # The constructor of BertEncoder, which calls Keras's, creates the layers.
        set_untracked(self, fast=fast, layer_class=LAYERS[fast.layer])
        super().__init__(config, seed=seed, dtype=dtype, name=name)
        self.has_static_shapes = not fast.remove_padding
        self.embeddings.one_hot = fast.one_hot or fast.layer == "litert"

    def get_config(self):
        """Returns the arguments of the constructor, for Keras."""
        return {**super().get_config(), "fast": dataclasses.asdict(self.fast)}

    @classmethod
    def from_config(cls, config):
        """Creates the encoder from the result of `get_config`."""
        return super().from_config({**config, "fast": Fast(**config["fast"])})

    def create_context(self, features, training, return_attention_scores=False, at=None):
        """Creates the FastContext of a batch.

        Args:
          features, training, return_attention_scores: See BertEncoder.
          at: int32 [B, P]. Positions at which to compute the last layer; None for all.
        """
        layout = self._create_layout(features["input_mask"], training)
        return FastContext.from_features(
            features,
            is_causal=self.is_causal,
            is_training=training,
            return_attention=return_attention_scores,
            layout=layout,
            at=at,
        )

    def compute_layer(self, number, layer, x, context):
        """Computes one layer, with `recompute` by activation checkpointing; see BertEncoder."""
        if context.at is not None:
            # Not called through Keras, whose scopes name operations: the last bits after oneDNN's
            # fusion depend on names.
            layer = layer.call
        compute = super().compute_layer
        if not (self.fast.recompute and context.is_training):
            return compute(number, layer, x, context)
        return tf.recompute_grad(lambda x: compute(number, layer, x, context))(x)

    def call_at_positions(
        self,
        features,
        positions=None,
        training=False,
        pooled_positions=None,
        return_attention_scores=False,
    ):
        """Encodes a batch, and returns the outputs at some positions; see BertEncoder."""
        if return_attention_scores or not self.fast.last_where_read:
            return super().call_at_positions(
                features, positions, training, pooled_positions, return_attention_scores
            )
        first = self.find_pooled(features, pooled_positions)
        # [B, 1 + P] or [B, K + P].
        at = first if positions is None else tf.concat([first, positions], axis=1)
        states, _ = self.compute_states(features, self.create_context(features, training, at=at))
        output = tf.reshape(states[-1], [*tf.unstack(tf.shape(at)), self.config.hidden_size])
        num_pooled = tf.shape(first)[1]
        pooled = self.pooler(tf.reshape(output[:, :num_pooled], [-1, self.config.hidden_size]))
        at_positions = None if positions is None else output[:, num_pooled:]
        return PositionOutputs(at_positions, pooled, all_outputs=None)

    def create_masked_lm_head(self):
        """Creates the head that scores the vocabulary."""
        return FastMaskedLMHead(
            self.config,
            self.initializer,
            self.fast.vocabulary_multiple,
            self.fast.float32_scores,
            dtype=self.dtype_policy,
        )

    def _create_layout(self, input_mask, training):
        """Creates the Layout of a batch."""
        if self.fast.layer == "einsum":
            return SequenceLayout(input_mask)
        if self.fast.layer == "openvino":
            return InferenceLayout(input_mask)
        if not self.fast.remove_padding:
            return Layout(input_mask)
        is_compiled = training and self.fast.layer == "compiled"
        return UnpaddedLayout(input_mask, TOKENS_MULTIPLE if is_compiled else 1)


def create_fast_encoder(config, **arguments):
    """Creates the FastEncoder of `BertEncoder.from_pretrained`, whose shapes are dynamic."""
    return FastEncoder(config, Fast(remove_padding=True, last_where_read=True), **arguments)


BertEncoder.create_fast = staticmethod(create_fast_encoder)
