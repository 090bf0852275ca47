"""The encoder and one model a task.

Every model is called with a dict of features:

  input_ids: int32 [B, S], WordPiece ids.
  input_mask: int32 [B, S], 1 at real tokens and 0 at padding.
  segment_ids: int32 [B, S], 0 in the first text and 1 in the second.

A row may hold several sequences, packed: then there is also

  positions: int32 [B, S], of each token in its own sequence, each in [0, S),

and input_mask has the number of each token's sequence, from 1. Tokens see those of their own sequence alone.

Variables are named as the original names them, so that checkpoints can be matched by name.
Shape legend: B batch, S sequence, H hidden, P predictions, V vocabulary, L layers.
"""

import tensorflow as tf
import tf_keras

from bert_tf.errors import InputError
from bert_tf.layers import (
    AllTokens,
    Dropout,
    Embeddings,
    EncoderLayer,
    LinearHead,
    MaskedLMHead,
    Projection,
    RealTokens,
    WeightInitializer,
    attention_bias,
    packed_attention_bias,
)
from bert_tf.layers.compiled import TOKENS_MULTIPLE


class BertEncoder(tf_keras.Model):
    """Embeddings, L Transformer layers and the pooler (the original's `BertModel`).

    Args:
      config: BertConfig.
      seed: int; fixes the initial weights and the dropout of later calls.
      use_one_hot_embeddings: see Embeddings.
      remove_padding: run projections, normalisation and dropout on real tokens alone. Outputs at real positions
        stay the same, those at padding become zero. Shapes then depend on the batch's values: leave it off on TPU
        and under XLA.
      recompute_activations: in training, keep only each layer's output and compute the rest of its activations
        again in the backward pass: less memory for about a third more work.
      compile_blocks: in training, have XLA compile the element-wise work of a layer and of its gradient, which is
        faster on a CPU; see bert_tf.layers.compiled. With remove_padding outputs at padding are then not all zero.
      einsum_attention: compute attention as a TPU's compiler does best; slower on a CPU. See SelfAttention.
      prune_last_layer: compute the last layer only at the positions that a task model reads; what it answers stays.
      dtype: a Keras dtype policy or its name, as "mixed_bfloat16"; None takes the global policy.

    Attributes:
      frozen_layers: how many of the lowest layers bert_tf.freezing keeps as they are; None where nothing is frozen.
      remove_padding: as given.
    """

    frozen_layers = None

    def __init__(self, config, *, seed=0, use_one_hot_embeddings=False, remove_padding=False,
                 recompute_activations=False, compile_blocks=False, einsum_attention=False, prune_last_layer=False,
                 dtype=None):
        super().__init__(name="bert", dtype=dtype)
        self.config = config
        self.initializer = WeightInitializer(config.initializer_range, seed)
        self.dropout_generator = tf.random.Generator.from_seed(seed)
        self.remove_padding = remove_padding
        self._recompute_activations = recompute_activations
        self._compile_blocks = compile_blocks
        self._prune_last_layer = prune_last_layer
        with tf.name_scope("bert/"):
            self.embeddings = Embeddings(config, self.initializer, use_one_hot_embeddings)
            with tf.name_scope("encoder"):
                groups = [
                    EncoderLayer(config, self.initializer, sizes=sizes, compile_blocks=compile_blocks,
                                 einsum_attention=einsum_attention, name=f"layer_{i}", dtype=dtype)
                    for i, sizes in enumerate(config.layer_sizes[: config.num_hidden_groups])]
                self.encoder_layers = [groups[i] for i in config.layer_groups]
            with tf.name_scope("pooler"):
                self.pooler = Projection(config.hidden_size, config.hidden_size, self.initializer,
                                         activation="tanh", name="dense", dtype=dtype)

    def call(self, features, training=False, return_attention_scores=False, return_raw_scores=False):
        """Encodes a batch.

        Args:
          features: dict with input_ids, input_mask, segment_ids, each int32 [B, S]; packed, with positions too.
          training: bool, whether dropout is applied.
          return_attention_scores: bool, whether the attention probabilities are returned too.
          return_raw_scores: bool, whether the attention scores before mask and softmax are returned in their place;
            at padding they mean nothing.

        Returns:
          Dict in the compute dtype: sequence_output [B, S, H], the last layer; pooled_output [B, H];
          embedding_output [B, S, H]; encoder_outputs, L tensors [B, S, H]; if asked for, attention_scores or
          raw_scores, L tensors [B, N, S, S], before dropout.

        Raises:
          InputError: the sequence is longer than the position table.
        """
        tokens = self._tokens(features, training)
        embedded, outputs, scores = self._run_layers(features, tokens, training, raw_scores=return_raw_scores)
        shape = [*tf.unstack(tf.shape(features["input_ids"])), self.config.hidden_size]
        outputs = [tf.reshape(tokens.unpack(output), shape) for output in outputs]
        encoded = {
            "sequence_output": outputs[-1],
            "pooled_output": self.pooler(outputs[-1][:, 0]),
            "embedding_output": tf.reshape(tokens.unpack(embedded), shape),
            "encoder_outputs": outputs,
        }
        if return_raw_scores:
            return {**encoded, "raw_scores": scores}
        return {**encoded, "attention_scores": scores} if return_attention_scores else encoded

    def encode_positions(self, features, positions=None, training=False, pooled_positions=None):
        """The last layer's output at some positions of each row, and the pooled output.

        Args:
          features: as a call's.
          positions: int32 [B, P], each in [0, S); None for none.
          training: bool, whether dropout is applied.
          pooled_positions: int32 [B, K], those of each packed sequence's [CLS]; None for the first position of a row.

        Returns:
          [B, P, H], None without positions, and [B, H], or [B * K, H] with pooled_positions, in the compute dtype.
        """
        if not self._prune_last_layer:
            encoded = self(features, training=training)
            at_positions = None if positions is None else tf.gather(encoded["sequence_output"], positions, batch_dims=1)
            return at_positions, self.pool(encoded, pooled_positions)
        first = tf.zeros_like(features["input_ids"][:, :1]) if pooled_positions is None else pooled_positions
        read = first if positions is None else tf.concat([first, positions], axis=1)  # [B, 1 + P] or [B, K + P]
        _, outputs, _ = self._run_layers(features, self._tokens(features, training), training, read)
        output = tf.reshape(outputs[-1], [*tf.unstack(tf.shape(read)), self.config.hidden_size])
        num_pooled = tf.shape(first)[1]
        pooled = tf.reshape(output[:, :num_pooled], [-1, self.config.hidden_size])
        return None if positions is None else output[:, num_pooled:], self.pooler(pooled)

    def pool(self, encoded, positions=None):
        """The pooled output of what a call gave: [B, H], or at positions int32 [B, K] of packs [B * K, H]."""
        if positions is None:
            return encoded["pooled_output"]
        output = tf.gather(encoded["sequence_output"], positions, batch_dims=1)
        return self.pooler(tf.reshape(output, [-1, self.config.hidden_size]))

    def _tokens(self, features, training):
        """Which positions of a batch are computed: RealTokens or AllTokens."""
        if not self.remove_padding:
            return AllTokens()
        return RealTokens(features["input_mask"], TOKENS_MULTIPLE if self._compile_blocks and training else 1)

    def _run_layers(self, features, tokens, training, positions=None, raw_scores=False):
        """The embeddings [T, H], the layers' outputs, L tensors [T, H], and attention probabilities, L [B, N, S, S].

        With positions int32 [B, P] the last layer's are [B * P, H] and [B, N, P, S].
        """
        input_ids = features["input_ids"]
        self._check_length(input_ids.shape[1])
        positions_of_tokens = features.get("positions")
        bias = (attention_bias if positions_of_tokens is None else packed_attention_bias)(features["input_mask"])
        embedding_seed, *layer_seeds = self._dropout_seeds(training)
        embedded = self.embeddings(input_ids, features["segment_ids"], tokens, dropout_seed=embedding_seed,
                                   positions=positions_of_tokens)
        x = embedded = self._above_frozen(tf.cast(embedded, self.compute_dtype), 0)  # [T, H]
        outputs, scores = [], []
        for number, (layer, seeds) in enumerate(zip(self.encoder_layers, layer_seeds, strict=True), start=1):
            is_last = number == len(self.encoder_layers)
            x, probabilities = self._run_layer(layer, x, tokens, bias, seeds, positions if is_last else None,
                                               raw_scores, recompute=training and number > (self.frozen_layers or 0))
            x = self._above_frozen(x, number)
            outputs.append(x)
            scores.append(probabilities)
        return embedded, outputs, scores

    def _above_frozen(self, x, number):
        """What `number` layers gave; no gradient goes below it where they are those that are frozen."""
        return tf.stop_gradient(x) if number == self.frozen_layers else x

    def _run_layer(self, layer, x, tokens, bias, seeds, positions, raw_scores, recompute):
        """A layer's output; where asked for, its inner activations are computed again in the backward pass."""
        def run(x):
            return layer(x, tokens, bias, dropout_seeds=seeds, positions=positions, raw_scores=raw_scores)

        return tf.recompute_grad(run)(x) if self._recompute_activations and recompute else run(x)

    def next_dropout_seed(self, training):
        """A fresh seed int64 [2] for a head's own dropout, or None when not training."""
        return self.dropout_generator.make_seeds(1)[:, 0] if training else None

    def _dropout_seeds(self, training):
        """One seed for the embeddings, then a list of seeds for each layer; None in place of each if unused."""
        layers = range(self.config.num_hidden_layers)
        if not training:
            return [None, *(None for _ in layers)]
        each = EncoderLayer.NUM_DROPOUTS
        seeds = tf.unstack(self.dropout_generator.make_seeds(1 + each * len(layers)), axis=1)
        return [seeds[0], *(seeds[1 + each * i : 1 + each * (i + 1)] for i in layers)]

    def _check_length(self, sequence_length):
        longest = self.config.max_position_embeddings
        if sequence_length is not None and sequence_length > longest:
            raise InputError(f"the sequence length, {sequence_length}, is over max_position_embeddings, "
                             f"{longest}")


class _TaskModel(tf_keras.Model):
    """An encoder and what a task puts on it.

    Args:
      encoder: BertEncoder, or a BertConfig to make one of with its defaults.
    """

    def __init__(self, encoder):
        encoder = encoder if isinstance(encoder, BertEncoder) else BertEncoder(encoder)
        super().__init__(dtype=encoder.dtype_policy)
        self.encoder = encoder

    def tapped(self, features, training=False, return_raw_scores=False):
        """A call that also gives what the encoder computed on the way, at all positions.

        Args:
          features, training: as a call's.
          return_raw_scores: as BertEncoder's.

        Returns:
          A call's outputs, and the BertEncoder's. Those of multiple choice have B * choices for B.
        """
        encoded = self.encoder(self._texts(features), training=training, return_raw_scores=return_raw_scores)
        return self._outputs(features, encoded, training), encoded

    def _texts(self, features):
        """The features of the texts that the encoder reads."""
        return features

    def _outputs(self, features, encoded, training):
        """A call's outputs for what BertEncoder gave."""
        raise NotImplementedError

    def _linear_head(self, num_classes, name):
        return LinearHead(self.encoder.config, num_classes, self.encoder.initializer, name=name)


class BertPretrainer(_TaskModel):
    """Masked language model, and what is predicted of a whole sequence (section 3.1 of the paper).

    Args:
      encoder: BertEncoder or BertConfig.
      vocabulary_multiple, float32_logits: see MaskedLMHead; the first does not change the outputs.
      sentence_label: "next_sentence", or another binary label of a sequence after which features and outputs are named;
        None for the masked language model alone, whose pooler is not trained.
    """

    def __init__(self, encoder, vocabulary_multiple=1, float32_logits=False, sentence_label="next_sentence"):
        super().__init__(encoder)
        self._sentence_label = sentence_label
        with tf.name_scope("cls/"):
            self.masked_lm = MaskedLMHead(self.encoder.config, self.encoder.initializer, dtype=self.dtype_policy,
                                          vocabulary_multiple=vocabulary_multiple, float32_logits=float32_logits)
            if sentence_label:
                with tf.name_scope("seq_relationship"):
                    self.next_sentence = self._linear_head(2, sentence_label)
            else:
                self.encoder.pooler.trainable = False

    def call(self, features, training=False):
        """Scores masked positions and the whole sequence.

        Args:
          features: dict with input_ids, input_mask, segment_ids, each int32 [B, S], and
            masked_lm_positions int32 [B, P]; packed, with positions int32 [B, S] and, of a label,
            next_sentence_positions int32 [B, K], where each sequence begins.
          training: bool, whether dropout is applied.

        Returns:
          Dict: masked_lm_logits float32 [B, P, V]; next_sentence_logits float32 [B, 2], packed [B, K, 2], where class 1
          means that the second sentence is a random one; with another label sentence_order_logits and so on.
        """
        masked, pooled = self.encoder.encode_positions(
            features, features["masked_lm_positions"], training=training, pooled_positions=self._pooled_at(features))
        return self._scores(features, masked, pooled)

    def _outputs(self, features, encoded, training):
        masked = tf.gather(encoded["sequence_output"], features["masked_lm_positions"], batch_dims=1)
        return self._scores(features, masked, self.encoder.pool(encoded, self._pooled_at(features)))

    def _pooled_at(self, features):
        """Where the sequences of packs begin, int32 [B, K]; None without packs."""
        return features.get(f"{self._sentence_label}_positions")

    def _scores(self, features, masked, pooled):
        """A call's outputs for the states of masked positions, [B, P, H], and the pooled output, [B or B * K, H]."""
        masked = tf.reshape(masked, [-1, self.encoder.config.hidden_size])  # [B * P, H]
        logits = self.masked_lm(masked, *self.encoder.embeddings.word_table)  # [B * P, V]
        shape = [-1, tf.shape(features["masked_lm_positions"])[1], self.encoder.config.vocab_size]
        outputs = {"masked_lm_logits": tf.reshape(logits, shape)}
        if not self._sentence_label:
            return outputs
        scores, pooled_at = self.next_sentence(pooled), self._pooled_at(features)
        if pooled_at is not None:
            scores = tf.reshape(scores, [-1, tf.shape(pooled_at)[1], 2])
        return {**outputs, f"{self._sentence_label}_logits": scores}


class _LinearModel(_TaskModel):
    """Dropout and a linear layer, with the variables of the original's run_classifier."""

    def __init__(self, encoder, num_labels, dropout_rate=None):
        super().__init__(encoder)
        self.num_labels = num_labels
        rate = self.encoder.config.hidden_dropout_prob if dropout_rate is None else dropout_rate
        self.dropout = Dropout(rate, dtype=self.dtype_policy)
        with tf.name_scope(""):
            self.head = self._linear_head(num_labels, "output")


class BertClassifier(_LinearModel):
    """A linear classifier on the pooled output (section 4.1; the original's `run_classifier.create_model`).

    Args:
      encoder: BertEncoder or BertConfig.
      num_labels: int; 1 makes it a regression model.
      dropout_rate: of the pooled output; None takes config.hidden_dropout_prob (the original fixes 0.1).
    """

    def call(self, features, training=False):
        """features as BertEncoder's -> {"logits": float32 [B, num_labels]}.

        Packed, with sequence_positions int32 [B, K], where each sequence begins -> float32 [B, K, num_labels].
        """
        starts = features.get("sequence_positions")
        _, pooled = self.encoder.encode_positions(features, training=training, pooled_positions=starts)
        logits = self._scores(pooled, training)
        return {"logits": logits if starts is None else tf.reshape(logits, [-1, starts.shape[1], self.num_labels])}

    def _outputs(self, features, encoded, training):
        return {"logits": self._scores(encoded["pooled_output"], training)}

    def _scores(self, pooled, training):
        """Logits [B, num_labels] of the pooled output [B, H]."""
        return self.head(self.dropout(pooled, seed=self.encoder.next_dropout_seed(training)))


class BertTokenClassifier(_LinearModel):
    """A linear classifier on every token (section 5.3's tagging model). Arguments as BertClassifier's."""

    def call(self, features, training=False):
        """features as BertEncoder's -> {"logits": float32 [B, S, num_labels]}."""
        return self._outputs(features, self.encoder(features, training=training), training)

    def _outputs(self, features, encoded, training):
        sequence = self.dropout(encoded["sequence_output"], seed=self.encoder.next_dropout_seed(training))
        return {"logits": _on_every_token(self.head, sequence)}


class BertSpanLabeler(_TaskModel):
    """Start and end scores of an answer span (section 4.2; the original's `run_squad.create_model`).

    Args:
      encoder: BertEncoder or BertConfig.
    """

    def __init__(self, encoder):
        super().__init__(encoder)
        with tf.name_scope("cls/squad/"):
            self.head = self._linear_head(2, "squad")

    def call(self, features, training=False):
        """features as BertEncoder's -> {"start_logits", "end_logits"}, each float32 [B, S]."""
        return self._outputs(features, self.encoder(features, training=training), training)

    def _outputs(self, features, encoded, training):
        start, end = tf.unstack(_on_every_token(self.head, encoded["sequence_output"]), axis=-1)
        return {"start_logits": start, "end_logits": end}


class BertMultipleChoice(BertClassifier):
    """One score for each choice, softmax over choices (section 4.4).

    Args:
      encoder: BertEncoder or BertConfig.
      dropout_rate: as BertClassifier's.
    """

    def __init__(self, encoder, dropout_rate=None):
        super().__init__(encoder, num_labels=1, dropout_rate=dropout_rate)

    def call(self, features, training=False):
        """Scores each choice.

        Args:
          features: dict with input_ids, input_mask, segment_ids, each int32 [B, choices, S].
          training: bool, whether dropout is applied.

        Returns:
          {"logits": float32 [B, choices]}.
        """
        _, pooled = self.encoder.encode_positions(self._texts(features), training=training)
        return self._outputs(features, {"pooled_output": pooled}, training)

    def _texts(self, features):
        return {name: tf.reshape(features[name], [-1, tf.shape(features[name])[2]])
                for name in ("input_ids", "input_mask", "segment_ids")}  # [B * choices, S]

    def _outputs(self, features, encoded, training):
        logits = self._scores(encoded["pooled_output"], training)
        return {"logits": tf.reshape(logits, [-1, tf.shape(features["input_ids"])[1]])}


def _on_every_token(head, sequence):
    """Applies a LinearHead to sequence [B, S, H] -> [B, S, classes]."""
    batch_size, sequence_length, _ = tf.unstack(tf.shape(sequence))
    logits = head(tf.reshape(sequence, [-1, sequence.shape[-1]]))  # [B * S, classes]
    return tf.reshape(logits, [batch_size, sequence_length, logits.shape[-1]])
