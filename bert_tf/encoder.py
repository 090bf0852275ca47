"""The encoder, and the features that every model is called with.

Features are a dict:

  input_ids: int32 [B, S], WordPiece IDs, below the config's vocab_size.
  input_mask: int32 [B, S], 1 at tokens and 0 at padding.
  segment_ids: int32 [B, S], 0 in the first text and 1 in the second; below the config's type_vocab_size.

Eager calls raise an InputError for IDs out of range. Graphs do not check them, to save the time: such a segment ID has
the embedding zero, and so has an input ID on a GPU, or if words are looked up by one-hot matrices. On a CPU, the lookup
of such an input ID fails.

A row may contain several sequences (a packed row). The features then also have

  positions: int32 [B, S]. Position of each token in its own sequence, in [0, S),

and input_mask has the 1-based number of each token's sequence. Tokens attend only to tokens of the same sequence.

With causal attention, a token attends only to itself and earlier tokens. Only the last token of a sequence, its final
[SEP], then attends to all of it, so the pooler reads the last token instead of [CLS].

Variables have the same names as in the original, so that checkpoints can be matched by name.
Shape legend: B batch, S sequence, T tokens, H hidden, N heads, P positions, L layers.
"""

from collections.abc import Mapping

import tensorflow as tf
import tf_keras

from bert_tf.errors import InputError
from bert_tf.layers import (
    Arithmetic,
    Embeddings,
    EncoderLayer,
    LayerRun,
    Layout,
    Projection,
    WeightInitializer,
    attention_bias,
    causal_attention_bias,
    packed_attention_bias,
)
from bert_tf.saved_objects import OURS, SavedLayer, to_object, to_plain

FEATURES = ("input_ids", "input_mask", "segment_ids")


class FeatureCheck:
    """A base class of models that are called with a dict of features, which it checks."""

    def __call__(self, features, *args, **kwargs):
        if type(self).__module__.startswith(OURS):  # A user's subclass can have other inputs.
            _check_features(features)
        return super().__call__(features, *args, **kwargs)


class BertEncoder(FeatureCheck, SavedLayer, tf_keras.Model):
    """Embeddings, L Transformer layers, and the pooler (the original's `BertModel`).

    `bert_tf.fast.FastEncoder` computes the same faster.

    Args:
      config: BertConfig.
      seed: int. Determines the initial weights and the dropout of later calls.
      dtype: Keras dtype policy or its name, such as "mixed_bfloat16"; None for the global policy.
      name: str. Name of the Keras layer. The variables are named "bert/..." in any case.

    Attributes:
      hooks: tuple of functions (number, layer, x, run) that run around each layer, the last one outermost; see
        LayerRun. `bert_tf.layers.attach` adds one.
      arithmetic: Arithmetic of all layers; see `compute_with`.
      has_static_shapes: bool. Whether the shapes of all tensors follow from the shapes of the features.
    """

    hooks = ()
    arithmetic = Arithmetic()
    has_static_shapes = True

    def __init__(self, config, *, seed=0, dtype=None, name="bert"):
        super().__init__(name=name, dtype=dtype)
        self.config = config
        self.initializer = WeightInitializer(config.initializer_range, seed)
        self.dropout_generator = tf.random.Generator.from_seed(seed)
        with tf.name_scope("bert/"):
            self.embeddings = Embeddings(config, self.initializer)
            with tf.name_scope("encoder"):
                groups = [EncoderLayer(config, self.initializer, sizes=sizes, name=f"layer_{i}", dtype=dtype)
                          for i, sizes in enumerate(config.layer_sizes[: config.num_hidden_groups])]
                self.encoder_layers = [groups[i] for i in config.layer_groups]
            with tf.name_scope("pooler"):
                self.pooler = Projection(config.hidden_size, config.hidden_size, self.initializer,
                                         activation=config.pooler_act or "tanh", name="dense", dtype=dtype)

    def get_config(self):
        """Returns the arguments of the constructor and the arithmetic as a dict of plain values."""
        return {**super().get_config(), "arithmetic": to_plain(self.arithmetic)}

    @classmethod
    def from_config(cls, config):
        """Creates an encoder with newly initialized weights from what `get_config` returned."""
        config = dict(config)
        arithmetic = to_object(config.pop("arithmetic"))
        encoder = super().from_config(config)
        encoder.compute_with(arithmetic)
        return encoder

    def call(self, features, training=False):
        """Encodes a batch.

        Args:
          features: dict with input_ids, input_mask, segment_ids, each int32 [B, S]; positions too if rows are packed.
          training: bool. Whether to apply dropout.

        Returns:
          Dict in the compute dtype: sequence_output [B, S, H], the last layer; pooled_output [B, H];
          embedding_output [B, S, H]; encoder_outputs, L tensors [B, S, H].

        Raises:
          InputError: If the sequence is longer than the position embeddings; in eager mode, if IDs are out of range.
        """
        return self._encode(features, training)[0]

    def observe(self, features, training=False):
        """Encodes a batch and returns what its tokens attend to.

        Args:
          features, training: See `call`.

        Returns:
          The dict of `call`, with "attention" too: L times AttentionMaps, scores and probabilities [B, N, S, S].
        """
        encoded, attention = self._encode(features, training, observed=True)
        return {**encoded, "attention": attention}

    def encode_positions(self, features, positions=None, training=False, pooled_positions=None):
        """Returns the last layer's output at some positions of each row, and the pooled output.

        Args:
          features: See `call`.
          positions: int32 [B, P], each in [0, S); None for none.
          training: bool. Whether to apply dropout.
          pooled_positions: int32 [B, K]. Position of each packed sequence's [CLS]; None for the first one of a row.
            A causal model pools the last token of these sequences.

        Returns:
          [B, P, H], None without positions, and [B, H], or [B * K, H] with pooled_positions, in the compute dtype.
        """
        encoded = self(features, training=training)
        at_positions = None if positions is None else tf.gather(encoded["sequence_output"], positions, batch_dims=1)
        return at_positions, self.pool(encoded, features, pooled_positions)

    def pool(self, encoded, features, positions=None):
        """Pools an encoded batch to [B, H], or to [B * K, H] for packed rows; see `encode_positions`."""
        if positions is None:
            return encoded["pooled_output"]
        positions = self.find_pooled(features, positions)
        output = tf.gather(encoded["sequence_output"], positions, batch_dims=1)
        return self.pooler(tf.reshape(output, [-1, self.config.hidden_size]))

    def find_pooled(self, features, starts=None):
        """Returns the position of the token that the pooler reads in each sequence, int32 [B, K], [B, 1] if not packed.

        Args:
          features: See `call`.
          starts: int32 [B, K]. Position of each packed sequence's [CLS]; None if rows are not packed.
        """
        if self.config.is_causal:
            return _find_last(features["input_mask"], starts)
        return tf.zeros_like(features["input_ids"][:, :1]) if starts is None else starts

    def compute_with(self, arithmetic):
        """Makes all layers use an Arithmetic; call this before anything is traced."""
        self.arithmetic = arithmetic
        for layer in (self.embeddings, *self.encoder_layers, *(layer.attention for layer in self.encoder_layers)):
            layer.arithmetic = arithmetic

    def next_dropout_seed(self, training):
        """Returns a new seed int64 [2] for a head's own dropout, or None when not training."""
        return self.dropout_generator.make_seeds(1)[:, 0] if training else None

    def _encode(self, features, training, observed=False):
        """Returns the dict of `call`, and L times AttentionMaps, or None if not observed."""
        layout = self._layout(features, training)
        embedded, outputs, attention = self._run_layers(features, layout, training, observed)
        outputs = [layout.sequences(output) for output in outputs]
        output = outputs[-1]
        if self.config.is_causal:
            output = tf.gather(output, self.find_pooled(features), batch_dims=1)  # [B, 1, H]
        return {
            "sequence_output": outputs[-1],
            "pooled_output": self.pooler(output[:, 0]),
            "embedding_output": layout.sequences(embedded),
            "encoder_outputs": outputs,
        }, attention

    def _layout(self, features, training):
        """Creates the Layout of a batch."""
        del training
        return Layout(features["input_mask"])

    def _run_layers(self, features, layout, training, observed=False, last_run=LayerRun):
        """Computes the embeddings and the layers.

        Args:
          features, training: See `call`.
          layout: Layout of the batch.
          observed: bool. Whether to return the AttentionMaps.
          last_run: LayerRun or a subclass, which runs the last layer.

        Returns:
          The embeddings [T, H]; the layers' outputs, L tensors [T, H]; L times AttentionMaps, or None if not observed.
        """
        self._check_length(features["input_ids"].shape[1])
        if tf.executing_eagerly():
            self._check_ids(features)
        bias = self._bias(features)
        embedding_seed, *layer_seeds = self._dropout_seeds(training)
        embedded = self.embeddings(features["input_ids"], features["segment_ids"], layout, dropout_seed=embedding_seed,
                                   positions=features.get("positions"))
        x = embedded = tf.cast(embedded, self.compute_dtype)  # [T, H]
        outputs, attention = [], []
        for number, (layer, seeds) in enumerate(zip(self.encoder_layers, layer_seeds, strict=True)):
            make_run = last_run if number == len(self.encoder_layers) - 1 else LayerRun
            x, attended = make_run(layout, bias, seeds, observed, self.hooks, number)(layer, x)
            outputs.append(x)
            attention.append(attended)
        return embedded, outputs, attention

    def _bias(self, features):
        """Returns the bias of the attention scores, which determines what tokens attend to."""
        if self.config.is_causal:
            return causal_attention_bias(features["input_mask"])
        return (packed_attention_bias if "positions" in features else attention_bias)(features["input_mask"])

    def _dropout_seeds(self, training):
        """Returns one seed for the embeddings, then a list of seeds for each layer; each is None if unused."""
        num_layers, each = self.config.num_hidden_layers, EncoderLayer.NUM_DROPOUTS
        if not training:
            return [None] * (1 + num_layers)
        seeds = tf.unstack(self.dropout_generator.make_seeds(1 + each * num_layers), axis=1)
        return [seeds[0], *(seeds[1 + each * i : 1 + each * (i + 1)] for i in range(num_layers))]

    def _check_length(self, sequence_length):
        longest = self.config.max_position_embeddings
        if sequence_length is not None and sequence_length > longest:
            raise InputError(f"the sequence length, {sequence_length}, is greater than max_position_embeddings, "
                             f"{longest}")

    def _check_ids(self, features):
        for name, limit in (("input_ids", self.config.vocab_size), ("segment_ids", self.config.type_vocab_size)):
            ids = features[name]
            invalid = tf.boolean_mask(ids, (ids < 0) | (ids >= limit)) if limit else ()
            if len(invalid):
                raise InputError(f"{name} must be from 0 to {limit - 1}, but contain {int(invalid[0])}")


def _check_features(features):
    """Raises InputError unless an argument is a dict of FEATURES that the layers of tf_keras accept."""
    if not isinstance(features, Mapping):
        found = f"is of type {type(features).__name__}"
    elif any(name not in features for name in FEATURES):
        found = f"has {', '.join(map(str, features))}"
    elif any(type(features[name]).__module__.startswith("keras.") for name in FEATURES):
        found = "has tensors of Keras 3"
    else:
        return
    raise InputError(f"must be a dict of {', '.join(FEATURES)}, tensors of TensorFlow or of tf_keras, but {found}",
                     "features")


def _find_last(sequences, starts):
    """Returns the last position of each sequence that begins at `starts` int32 [B, K], also int32 [B, K].

    `sequences`: int32 [B, S], an input_mask, packed or not. If `starts` is None, K is 1, and all begin at 0.
    """
    if starts is None:
        starts = tf.zeros([tf.shape(sequences)[0], 1], tf.int32)
    sequences = tf.cast(sequences, tf.float32)  # A GPU slices int32 on the host, and has no maximum of them.
    is_inside = sequences[:, tf.newaxis] == tf.gather(sequences, starts, batch_dims=1)[:, :, tf.newaxis]  # [B, K, S]
    places = tf.cast(tf.range(tf.shape(sequences)[1]), tf.float32)
    return tf.cast(tf.reduce_max(tf.where(is_inside, places, 0.0), axis=-1), tf.int32)
