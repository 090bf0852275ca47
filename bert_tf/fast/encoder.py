"""The encoder that drivers and exports run: BertEncoder's results in less time or memory."""

import dataclasses

import tensorflow as tf

from bert_tf.encoder import BertEncoder, PositionOutputs
from bert_tf.fast.compiled import TOKENS_MULTIPLE, CompiledLayer
from bert_tf.fast.dropout import PackedDropout
from bert_tf.fast.einsum import EinsumLayer
from bert_tf.fast.layers import FastEmbeddings, FastLayer, FastMaskedLMHead, LiteRTLayer
from bert_tf.fast.layout import Layout, SequenceLayout, UnpaddedLayout
from bert_tf.keras_support.model import check_values
from bert_tf.layers import NO_SEEDS, attention_bias
from bert_tf.saved_objects import register, set_untracked

LAYERS = {
    "padded": FastLayer,
    "unpadded": FastLayer,
    "compiled": CompiledLayer,
    "unpadded_compiled": CompiledLayer,
    "einsum": EinsumLayer,
    "litert": LiteRTLayer,
}


@dataclasses.dataclass(frozen=True)
class Fast:
    """The accelerations of a FastEncoder.

    Attributes:
      layers: str. How layers are computed, one of LAYERS:
        padded: As matrices of all positions.
        unpadded: Only on non-padding tokens. Outputs at tokens stay the same, those at padding
          become zero. Shapes then depend on the batch's values: not for TPUs or XLA.
        compiled: As padded; in training, XLA compiles the element-wise work of a layer and of its
          gradient, which is faster on a CPU; see bert_tf.fast.compiled.
        unpadded_compiled: Both. Outputs at padding are then not all zero.
        einsum: As XLA compiles them best for TPUs and GPUs; slower on a CPU.
        litert: For conversion to LiteRT.
      last_where_read: Compute the last layer only at the positions that a task model reads.
      recompute: In training, keep only each layer's output and recompute its other activations in
        the backward pass (activation checkpointing): less memory for about a third more work.
      one_hot: See FastEmbeddings.
      vocabulary_multiple, float32_scores: See FastMaskedLMHead.
    """

    layers: str = "padded"
    last_where_read: bool = False
    recompute: bool = False
    one_hot: bool = False
    vocabulary_multiple: int = 1
    float32_scores: bool = False


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
    dropout_class = PackedDropout

    def __init__(self, config, fast, *, seed=0, dtype=None, name="bert"):
        # The constructor of BertEncoder, which calls Keras's, creates the layers.
        set_untracked(self, fast=fast, layer_class=LAYERS[fast.layers])
        super().__init__(config, seed=seed, dtype=dtype, name=name)
        self.has_static_shapes = not fast.layers.startswith("unpadded")
        self.embeddings.one_hot = fast.one_hot or fast.layers == "litert"

    def get_config(self):
        """Returns the arguments of the constructor, for Keras."""
        return {**super().get_config(), "fast": dataclasses.asdict(self.fast)}

    @classmethod
    def from_config(cls, config):
        """Creates the encoder from the result of `get_config`."""
        return super().from_config({**config, "fast": Fast(**config["fast"])})

    def call(self, features, training=False, return_attention_scores=False):
        """Encodes a batch; see BertEncoder."""
        layout = self._layout(features, training)
        states, attention = self._compute_states(
            features, layout, training, return_attention_scores
        )
        return self.collect(features, [layout.sequences(state) for state in states], attention)

    def compute_layer(self, number, layer, x, *batch, seeds=NO_SEEDS, **options):
        """Computes one layer, with `recompute` by activation checkpointing; see BertEncoder."""
        compute = super().compute_layer
        if not self.fast.recompute or seeds[0] is None:
            return compute(number, layer, x, *batch, seeds=seeds, **options)
        return tf.recompute_grad(
            lambda x: compute(number, layer, x, *batch, seeds=seeds, **options)
        )(x)

    def encode_positions(
        self,
        features,
        positions=None,
        training=False,
        pooled_positions=None,
        return_attention_scores=False,
    ):
        """Encodes a batch, and returns the outputs at some positions; see BertEncoder."""
        if return_attention_scores or not self.fast.last_where_read:
            return super().encode_positions(
                features, positions, training, pooled_positions, return_attention_scores
            )
        first = self.find_pooled(features, pooled_positions)
        # [B, 1 + P] or [B, K + P].
        at = first if positions is None else tf.concat([first, positions], axis=1)
        states, _ = self._compute_states(
            features, self._layout(features, training), training, at=at
        )
        output = tf.reshape(states[-1], [*tf.unstack(tf.shape(at)), self.config.hidden_size])
        num_pooled = tf.shape(first)[1]
        pooled = self.pooler(tf.reshape(output[:, :num_pooled], [-1, self.config.hidden_size]))
        at_positions = None if positions is None else output[:, num_pooled:]
        return PositionOutputs(at_positions, pooled, encoded=None)

    def create_masked_lm_head(self):
        """Creates the head that scores the vocabulary."""
        return FastMaskedLMHead(
            self.config,
            self.initializer,
            self.fast.vocabulary_multiple,
            self.fast.float32_scores,
            dtype=self.dtype_policy,
        )

    def _layout(self, features, training):
        """Creates the Layout of a batch."""
        if self.fast.layers == "einsum":
            return SequenceLayout(features["input_mask"])
        if self.has_static_shapes:
            return Layout(features["input_mask"])
        is_compiled = training and self.layer_class is CompiledLayer
        return UnpaddedLayout(features["input_mask"], TOKENS_MULTIPLE if is_compiled else 1)

    def _compute_states(self, features, layout, training, return_attention_scores=False, at=None):
        """Computes the embeddings and the layers.

        Args:
          features, training, return_attention_scores: See `call`.
          layout: Layout of the batch.
          at: int32 [B, P]. Positions at which to compute the last layer; None for all.

        Returns:
          1 + L states [T, H], the last one [B * P, H] with `at`; and L or no AttentionMaps.
        """
        check_values(features, self.config)
        bias = attention_bias(features["input_mask"], "positions" in features, self.is_causal)
        embedding_seed, *layer_seeds = self.next_dropout_seeds(training)
        x = self.embeddings(
            features["input_ids"],
            features["segment_ids"],
            layout,
            features.get("positions"),
            embedding_seed,
        )
        states = [self.stop_gradient(0, tf.cast(x, self.compute_dtype))]
        attention = []
        for number, (layer, seeds) in enumerate(zip(self.encoder_layers, layer_seeds, strict=True)):
            options = {"return_attention_scores": return_attention_scores}
            if at is not None and number == len(self.encoder_layers) - 1:
                # Not called through Keras, whose scopes name operations: the last bits after
                # oneDNN's fusion depend on names.
                layer = layer.call
                options = {"at": at}
            x = self.compute_layer(number, layer, states[-1], layout, bias, seeds=seeds, **options)
            if return_attention_scores:
                x, maps = x
                attention.append(maps)
            states.append(self.stop_gradient(number + 1, x))
        return states, attention


def create_fast_encoder(config, **arguments):
    """Creates the FastEncoder of `BertEncoder.from_pretrained`, whose shapes are dynamic."""
    return FastEncoder(config, Fast("unpadded", last_where_read=True), **arguments)


BertEncoder.create_fast = staticmethod(create_fast_encoder)
