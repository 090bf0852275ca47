"""The encoder, called with the features of bert_tf.features.

Variables have the original's names, except `qkv`, so that checkpoints can be matched by name; see
bert_tf.variables. Shape legend: B batch, S sequence, H hidden, N heads, P positions, K sequences of
a packed row, L layers.
"""

import typing

import tensorflow as tf
import tf_keras

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.keras_support.model import KerasModel
from bert_tf.layers import (
    NO_SEEDS,
    BatchContext,
    Embeddings,
    EncoderLayer,
    LayerSeeds,
    MaskedLMHead,
    Projection,
    SeededDropout,
    WeightInitializer,
)
from bert_tf.saved_objects import register


class PositionOutputs(typing.NamedTuple):
    """Outputs of an encoder at some positions, in its compute dtype.

    Attributes:
      at_positions: [B, P, H]. Output of the last layer at the positions; None without positions.
      pooled: [B, H], or [B * K, H] for packed sequences. Pooled output.
      all_outputs: Dict of `BertEncoder.call`; None if it was not requested.
    """

    at_positions: tf.Tensor | None
    pooled: tf.Tensor
    all_outputs: dict | None


@register
class BertEncoder(KerasModel, tf_keras.Model):
    """Embeddings, L Transformer layers, and the pooler (the original's `BertModel`).

    `bert_tf.fast.FastEncoder` computes the same in less time.

    Args:
      config: BertConfig.
      seed: int. Determines the initial weights and the dropout of later calls.
      dtype: Keras dtype policy or its name, such as "mixed_bfloat16"; None for the global policy.
      name: str. Name of the Keras layer. The variables are named "bert/..." in any case.

    Attributes:
      embeddings_class, layer_class, dropout_class: Classes for the embeddings, a layer, and a
        head's dropout.
      has_static_shapes: bool. Whether the shapes of all tensors follow from the shapes of the
        features.
      create_fast: Function of the arguments of the constructor that creates its accelerated version
        for `from_pretrained`; None before bert_tf.fast is imported.
      num_frozen_layers: int. Number of lowest layers that gradients do not reach, together with the
        embeddings; None if gradients reach all. See bert_tf.techniques.freezing.
    """

    kind = "encoder"
    embeddings_class = Embeddings
    layer_class = EncoderLayer
    dropout_class = SeededDropout
    has_static_shapes = True
    num_frozen_layers = None
    create_fast = None  # bert_tf.fast sets it.

    def __init__(self, config, *, seed=0, dtype=None, name="bert"):
        super().__init__(name=name, dtype=dtype)
        self.config = config
        self.is_causal = config.is_causal
        self.initializer = WeightInitializer(config.initializer_range, seed)
        # In checkpoints, so that a resumed run samples the same dropout.
        self.dropout_generator = tf.random.Generator.from_seed(seed)
        with tf.name_scope("bert/"):
            self.embeddings = self.embeddings_class(config, self.initializer)
            with tf.name_scope("encoder"):
                own_layers = [
                    self.layer_class(
                        config, self.initializer, sizes=sizes, name=f"layer_{i}", dtype=dtype
                    )
                    for i, sizes in enumerate(config.layer_sizes[: config.num_hidden_groups])
                ]
                self.encoder_layers = [own_layers[i] for i in config.layer_groups]
            with tf.name_scope("pooler"):
                self.pooler = Projection(
                    config.hidden_size,
                    config.hidden_size,
                    self.initializer,
                    activation=config.pooler_act or "tanh",
                    name="dense",
                    dtype=dtype,
                )

    def get_config(self):
        """Returns the arguments of the constructor, which Keras saves."""
        return {
            **super().get_config(),
            "config": self.config.to_dict(),
            "seed": self.initializer.seed,
            "dtype": self.dtype_policy.name,
        }

    @classmethod
    def from_config(cls, config):
        """Creates the encoder from what `get_config` returned."""
        return super().from_config({**config, "config": BertConfig.from_dict(config["config"])})

    def call(self, features, training=False, return_attention_scores=False):
        """Encodes a batch.

        Args:
          features: dict with input_ids, input_mask, segment_ids, int32 [B, S]; of packed rows, see
            bert_tf.features.
          training: bool. Whether to apply dropout.
          return_attention_scores: bool. Whether to return what the tokens attend to.

        Returns:
          Dict in the compute dtype: sequence_output [B, S, H], the last layer; pooled_output [B,
          H]; embedding_output [B, S, H]; encoder_outputs, L tensors [B, S, H]. With
          return_attention_scores also attention, L times AttentionMaps: scores and probabilities
          [B, N, S, S].

        Raises:
          InputError: If the sequence is longer than the position embeddings; in eager mode, if IDs
            are out of range.
        """
        context = self.create_context(features, training, return_attention_scores)
        states, attention = self.compute_states(features, context)
        states = [context.to_sequences(state) for state in states]
        output = states[-1]
        if self.is_causal:
            output = tf.gather(output, self.find_pooled(features), batch_dims=1)  # [B, 1, H]
        outputs = {
            "sequence_output": states[-1],
            "pooled_output": self.pooler(output[:, 0]),
            "embedding_output": states[0],
            "encoder_outputs": states[1:],
        }
        return {**outputs, "attention": attention} if return_attention_scores else outputs

    def create_context(self, features, training, return_attention_scores=False):
        """Creates the BatchContext of a batch; for the arguments, see `call`."""
        return BatchContext.from_features(
            features,
            is_causal=self.is_causal,
            is_training=training,
            return_attention=return_attention_scores,
        )

    def compute_states(self, features, context):
        """Computes the embeddings and the layers.

        Args:
          features: See `call`.
          context: BatchContext from `create_context`.

        Returns:
          1 + L states [B, S, H], the embeddings and the output of each layer; and L AttentionMaps,
          or none unless `context.return_attention`.
        """
        _check_values(features, self.config)
        embedding_seed, *layer_seeds = self._next_dropout_seeds(context.is_training)
        x = self.embeddings(
            features["input_ids"], features["segment_ids"], context, seed=embedding_seed
        )
        states = [self._stop_gradient(0, tf.cast(x, self.compute_dtype))]
        attention = []
        last = len(self.encoder_layers) - 1
        for number, (layer, seeds) in enumerate(zip(self.encoder_layers, layer_seeds, strict=True)):
            layer_context = context.for_layer(seeds, is_last=number == last)
            x = self.compute_layer(number, layer, states[-1], layer_context)
            if context.return_attention:
                x, maps = x
                attention.append(maps)
            states.append(self._stop_gradient(number + 1, x))
        return states, attention

    def compute_layer(self, number, layer, x, context):
        """Computes one layer. Training techniques override this method.

        Args:
          number: int. Number of the layer, from 0.
          layer: Layer to compute, of the class `layer_class`.
          x: The layer's input.
          context: BatchContext with the seeds of this use of the layer.

        Returns:
          What the layer returns.
        """
        del number
        return layer(x, context)

    def _stop_gradient(self, number, x):
        """Returns state `number` of a batch; 0 is the embeddings, n the output of layer n - 1."""
        return tf.stop_gradient(x) if number == self.num_frozen_layers else x

    def call_at_positions(
        self,
        features,
        positions=None,
        training=False,
        pooled_positions=None,
        return_attention_scores=False,
    ):
        """Returns the last layer's output at some positions of each row, and the pooled output.

        Args:
          features: See `call`.
          positions: int32 [B, P], each in [0, S); None for none.
          training: bool. Whether to apply dropout.
          pooled_positions: int32 [B, K]. Position of each packed sequence's [CLS]; None for the
            first one of a row. A causal model pools the last token of these sequences.
          return_attention_scores: bool. Whether to also return the outputs at all positions, and
            what tokens attend to.

        Returns:
          PositionOutputs, with `all_outputs` if return_attention_scores is True.
        """
        outputs = self(features, training=training, return_attention_scores=return_attention_scores)
        at_positions = None
        if positions is not None:
            at_positions = tf.gather(outputs["sequence_output"], positions, batch_dims=1)
        pooled = outputs["pooled_output"]
        if pooled_positions is not None:
            output = tf.gather(
                outputs["sequence_output"],
                self.find_pooled(features, pooled_positions),
                batch_dims=1,
            )
            pooled = self.pooler(tf.reshape(output, [-1, self.config.hidden_size]))
        return PositionOutputs(at_positions, pooled, outputs if return_attention_scores else None)

    def find_pooled(self, features, starts=None):
        """Returns the position of the token that the pooler reads in each sequence.

        Callers pass the starts of sequences in any case, so heads do not depend on the attention.

        Args:
          features: See `call`.
          starts: int32 [B, K]. Position of each packed sequence's [CLS]; None if rows are not
            packed.

        Returns:
          int32 [B, K], or [B, 1] if rows are not packed.
        """
        if self.is_causal:
            return _find_last(features["input_mask"], starts)
        return tf.zeros_like(features["input_ids"][:, :1]) if starts is None else starts

    def next_dropout_seed(self, training):
        """Returns a new seed int64 [2] for a head's own dropout, or None when not training."""
        return self.dropout_generator.make_seeds(1)[:, 0] if training else None

    def _next_dropout_seeds(self, training):
        """Returns a new seed for the embeddings, then the LayerSeeds of each layer.

        Without training, these are None and NO_SEEDS.
        """
        num_layers = self.config.num_hidden_layers
        if not training:
            return [None, *[NO_SEEDS] * num_layers]
        seeds = tf.unstack(self.dropout_generator.make_seeds(1 + 3 * num_layers), axis=1)
        return [seeds[0], *(LayerSeeds(*seeds[1 + 3 * i : 4 + 3 * i]) for i in range(num_layers))]

    def create_masked_lm_head(self):
        """Creates the head that scores the vocabulary."""
        return MaskedLMHead(self.config, self.initializer, dtype=self.dtype_policy)


def _check_values(features, config):
    """Raises InputError if a batch is too long for a model, or has IDs out of range.

    The length is compared with the number of positions. IDs are only checked in eager mode.

    Args:
      features: See bert_tf.features.
      config: BertConfig of the model.
    """
    length = features["input_ids"].shape[1]
    max_length = config.max_position_embeddings
    if length is not None and length > max_length:
        raise InputError(
            f"the sequence length, {length}, is greater than max_position_embeddings, {max_length}"
        )
    if not tf.executing_eagerly():
        return
    for name, size in (("input_ids", config.vocab_size), ("segment_ids", config.type_vocab_size)):
        ids = features[name]
        invalid = tf.boolean_mask(ids, (ids < 0) | (ids >= size)) if size else ()
        if len(invalid):
            raise InputError(f"{name} must be from 0 to {size - 1}, but contain {int(invalid[0])}")


def _find_last(sequences, starts):
    """Returns the last position of each sequence.

    Args:
      sequences: int32 [B, S]. An input_mask, packed or not.
      starts: int32 [B, K]. First position of each sequence; None if rows are not packed, so that
        K is 1 and all begin at 0.

    Returns:
      int32 [B, K].
    """
    if starts is None:
        starts = tf.zeros([tf.shape(sequences)[0], 1], tf.int32)
    # A GPU slices int32 on the host, and has no maximum of them.
    sequences = tf.cast(sequences, tf.float32)
    # [B, K, S].
    is_inside = (
        sequences[:, tf.newaxis] == tf.gather(sequences, starts, batch_dims=1)[:, :, tf.newaxis]
    )
    positions = tf.cast(tf.range(tf.shape(sequences)[1]), tf.float32)
    return tf.cast(tf.reduce_max(tf.where(is_inside, positions, 0.0), axis=-1), tf.int32)
