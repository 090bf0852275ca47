"""The encoder and one model a task, each called with a dict of features; see bert_tf.encoder.

Shape legend: B batch, S sequence, H hidden, P predictions, K sequences of a packed row, V vocabulary, W most windows of
a long text, R windows of all texts, L labels.
"""

import tensorflow as tf
import tf_keras

from bert_tf.encoder import BertEncoder
from bert_tf.layers import LinearHead, MaskedLMHead, SeededDropout
from bert_tf.saved_objects import SavedLayer

__all__ = ["BertClassifier", "BertEncoder", "BertLongTextClassifier", "BertMultipleChoice", "BertPretrainer",
           "BertSpanLabeler", "BertTokenClassifier"]

POOLINGS = {"mean": tf.math.unsorted_segment_mean, "max": tf.math.unsorted_segment_max}


class _TaskModel(SavedLayer, tf_keras.Model):
    """An encoder and what a task puts on it.

    Args:
      encoder: BertEncoder, or a BertConfig to make one of with its defaults.
      name: str. Name of the Keras layer; None for one after the class.
    """

    def __init__(self, encoder, *, name=None):
        encoder = encoder if isinstance(encoder, BertEncoder) else BertEncoder(encoder)
        super().__init__(name=name, dtype=encoder.dtype_policy)
        self.encoder = encoder
        vars(encoder)["num_task_models"] = vars(encoder).get("num_task_models", 0) + 1

    def get_config(self):
        """Returns the arguments of the constructor as a dict of plain values."""
        encoder = tf_keras.saving.serialize_keras_object(self.encoder)
        if self.encoder.num_task_models > 1:
            encoder["shared_object_id"] = id(self.encoder)  # Keras then reads one encoder for all of a file.
        return {**super().get_config(), "encoder": encoder}

    def observe(self, features, training=False):
        """Returns a call's outputs and what the encoder computed for them, at all positions.

        Args:
          features, training: See `call`.

        Returns:
          The outputs of a call, and those of `BertEncoder.observe`, which for multiple choice have B * choices rows.
        """
        encoded = self.encoder.observe(self._texts(features), training=training)
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
      sentence_label: "next_sentence", or another binary label of a sequence after which features and outputs are named;
        None for the masked language model alone, whose pooler is not trained.
      name: str. Name of the Keras layer; None for one after the class.
    """

    def __init__(self, encoder, sentence_label="next_sentence", *, name=None):
        super().__init__(encoder, name=name)
        self._sentence_label = sentence_label
        with tf.name_scope("cls/"):
            self.masked_lm = MaskedLMHead(self.encoder.config, self.encoder.initializer, dtype=self.dtype_policy)
            self.masked_lm.arithmetic = self.encoder.arithmetic
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
        logits = self.masked_lm(masked, self.encoder.embeddings)  # [B * P, V]
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

    def __init__(self, encoder, num_labels, dropout_rate=None, *, name=None):
        super().__init__(encoder, name=name)
        self.num_labels = num_labels
        rate = self.encoder.config.hidden_dropout_prob if dropout_rate is None else dropout_rate
        self.dropout = SeededDropout(rate, dtype=self.dtype_policy)
        with tf.name_scope(""):
            self.head = self._linear_head(num_labels, "output")


class BertClassifier(_LinearModel):
    """A linear classifier on the pooled output (section 4.1; the original's `run_classifier.create_model`).

    Args:
      encoder: BertEncoder or BertConfig.
      num_labels: int; 1 makes it a regression model.
      dropout_rate: of the pooled output; None takes config.hidden_dropout_prob (the original fixes 0.1).
      name: str. Name of the Keras layer; None for one after the class.
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
      name: str. Name of the Keras layer; None for one after the class.
    """

    def __init__(self, encoder, *, name=None):
        super().__init__(encoder, name=name)
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
      dropout_rate, name: as BertClassifier's.
    """

    def __init__(self, encoder, dropout_rate=None, *, name=None):
        super().__init__(encoder, num_labels=1, dropout_rate=dropout_rate, name=name)

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


class BertLongTextClassifier(BertClassifier):
    """A BertClassifier on each window of a text, and the mean or the maximum of what it says of them, label by label.

    A batch may hold texts of one window each, [B, S], and is then answered as a BertClassifier does.

    Args:
      encoder, num_labels, dropout_rate, name: BertClassifier's.
      pooling: a key of POOLINGS.
    """

    def __init__(self, encoder, num_labels, pooling="mean", dropout_rate=None, *, name=None):
        super().__init__(encoder, num_labels, dropout_rate, name=name)
        self._pooling = POOLINGS[pooling]

    def call(self, features, training=False):
        """Scores each text.

        Args:
          features: dict with input_ids, input_mask, segment_ids, each int32 [B, W, S] or [B, S]. A window that a text
            does not have is all padding.
          training: bool, whether dropout is applied.

        Returns:
          {"logits": float32 [B, labels]}.
        """
        if features["input_ids"].shape.rank == 2:
            return super().call(features, training=training)
        windows, rows = self._texts(features), _rows(features)
        if not self.encoder.has_static_shapes:  # then windows of only padding need not be computed
            real = tf.where(rows < tf.shape(features["input_ids"])[0])[:, 0]
            windows, rows = tf.nest.map_structure(lambda each: tf.gather(each, real), (windows, rows))
        _, pooled = self.encoder.encode_positions(windows, training=training)
        return {"logits": self.pool(self._scores(pooled, training), rows, tf.shape(features["input_ids"])[0])}

    def pool(self, logits, rows, num_texts):
        """The logits of texts, float32 [B, L], of those of windows.

        Args:
          logits: float32 [R, L].
          rows: int [R], the text of each window; B for a window that is none.
          num_texts: int scalar, B; each text has a window.
        """
        return self._pooling(logits, rows, tf.cast(num_texts, tf.int32) + 1)[:-1]

    def _texts(self, features):
        return {name: tf.reshape(features[name], [-1, tf.shape(features[name])[-1]])
                for name in ("input_ids", "input_mask", "segment_ids")}  # [B * W, S]

    def _outputs(self, features, encoded, training):
        logits = self._scores(encoded["pooled_output"], training)
        if features["input_ids"].shape.rank == 2:
            return {"logits": logits}
        return {"logits": self.pool(logits, _rows(features), tf.shape(features["input_ids"])[0])}


def _on_every_token(head, sequence):
    """Applies a LinearHead to sequence [B, S, H] -> [B, S, classes]."""
    batch_size, sequence_length, _ = tf.unstack(tf.shape(sequence))
    logits = head(tf.reshape(sequence, [-1, sequence.shape[-1]]))  # [B * S, classes]
    return tf.reshape(logits, [batch_size, sequence_length, logits.shape[-1]])


def _rows(features):
    """The text of each window, int32 [B * W]; B for one that is all padding."""
    is_real = features["input_mask"][:, :, 0] > 0  # [B, W]
    num_texts = tf.shape(is_real)[0]
    return tf.reshape(tf.where(is_real, tf.range(num_texts)[:, tf.newaxis], num_texts), [-1])
