"""The encoder and one model per task, each called with a dict of features; see bert_tf.features.

Shape legend: B batch, S sequence, H hidden, P positions, K sequences of a packed row, V
vocabulary, W windows of a text, WT windows of all texts, LA labels.
"""

import typing

import tensorflow as tf
import tf_keras

from bert_tf import fast  # noqa: F401, the encoder that `from_pretrained` creates
from bert_tf.encoder import BertEncoder
from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.keras_support.model import KerasModel
from bert_tf.keras_support.training import TrainableModel
from bert_tf.layers import LSTM_SEEDS, BiLSTMHead, LinearHead
from bert_tf.saved_objects import register

__all__ = [
    "BertClassifier",
    "BertEncoder",
    "BertLongTextClassifier",
    "BertMultipleChoice",
    "BertPretrainer",
    "BertSpanLabeler",
    "BertTokenClassifier",
]

POOLINGS = {"mean": tf.math.unsorted_segment_mean, "max": tf.math.unsorted_segment_max}


class _HeadInputs(typing.NamedTuple):
    """Outputs of the encoder, or of the BiLSTM on it, that a task head reads."""

    sequence: tf.Tensor  # [B, S, H], for the tokens.
    pooled: tf.Tensor  # [B, H], for the whole sequence.
    all_outputs: dict  # Outputs of the encoder.


class _TaskModel(TrainableModel, KerasModel, tf_keras.Model):
    """Base class of an encoder with a task head.

    Calls have the arguments `training`, whether to apply dropout, and `return_attention_scores`,
    whether the outputs also contain the dict of the encoder's outputs, as "encoder", with what
    tokens attend to.

    Args:
      encoder: BertEncoder, or a BertConfig to create one with its defaults.
      name: str. Name of the Keras layer; None derives it from the class.
    """

    encoder_class = BertEncoder

    def __init__(self, encoder, *, name=None):
        encoder = encoder if isinstance(encoder, BertEncoder) else BertEncoder(encoder)
        super().__init__(name=name, dtype=encoder.dtype_policy)
        self.encoder = encoder

    def get_config(self):
        """Returns the arguments of the constructor, which Keras saves."""
        return {
            **super().get_config(),
            "encoder": tf_keras.saving.serialize_keras_object(self.encoder),
        }

    @classmethod
    def from_config(cls, config):
        """Creates the model from what `get_config` returned."""
        encoder = config["encoder"]
        if tf_keras.saving.get_registered_object(encoder.get("registered_name")):
            # In a SavedModel, Keras looks for the registered name as the name of the class.
            encoder = {**encoder, "class_name": encoder["registered_name"]}
        return super().from_config(
            {**config, "encoder": tf_keras.saving.deserialize_keras_object(encoder)}
        )

    def _bilstm_head(self):
        """Returns a new BiLSTMHead if the config has one, or None."""
        config = self.encoder.config
        if not config.bilstm_head:
            return None
        return BiLSTMHead(config.hidden_size, self.encoder.initializer.seed % LSTM_SEEDS)

    def _apply_encoder(self, texts, training, return_attention_scores):
        """Applies the encoder at all positions of texts.

        Args:
          texts: Features of BertEncoder.
          training, return_attention_scores: See `call`.

        Returns:
          _HeadInputs, which the BiLSTM computes if the model has one.
        """
        all_outputs = self.encoder(
            texts, training=training, return_attention_scores=return_attention_scores
        )
        if self.bilstm is None:
            return _HeadInputs(
                all_outputs["sequence_output"],
                all_outputs["pooled_output"],
                all_outputs,
            )
        if "positions" in texts:
            raise InputError(
                "packed rows cannot be combined with a BiLSTM, which would read across their "
                "sequences"
            )
        sequence, pooled = self.bilstm(all_outputs["sequence_output"], texts["input_mask"])
        return _HeadInputs(sequence, pooled, all_outputs)

    def _linear_head(self, num_classes, name):
        return LinearHead(self.encoder.config, num_classes, self.encoder.initializer, name=name)


@register
class BertPretrainer(_TaskModel):
    """Masked language model, and a classifier of the whole sequence, such as NSP.

    See section 3.1 of the paper.

    Args:
      encoder, name: See BertClassifier.
      sentence_label: "next_sentence", or the name of another binary label, used to name features
        and outputs; None for only the masked language model, whose pooler is not trained.
    """

    kind = "masked_lm"

    def __init__(self, encoder, sentence_label="next_sentence", *, name=None):
        super().__init__(encoder, name=name)
        self._sentence_label = sentence_label
        with tf.name_scope("cls/"):
            self.masked_lm = self.encoder.create_masked_lm_head()
            if sentence_label:
                with tf.name_scope("seq_relationship"):
                    self.next_sentence = self._linear_head(2, sentence_label)
            else:
                self.encoder.pooler.trainable = False

    def get_config(self):
        """Returns the arguments of the constructor, which Keras saves."""
        return {**super().get_config(), "sentence_label": self._sentence_label}

    def call(self, features, training=False, return_attention_scores=False):
        """Scores masked positions and the whole sequence.

        Args:
          features: dict with input_ids, input_mask, segment_ids, each int32 [B, S], and
            masked_lm_positions int32 [B, P]. Packed rows also have positions int32 [B, S] and, if
            there is a label, next_sentence_positions int32 [B, K], the start of each sequence.
          training, return_attention_scores: See the base class.

        Returns:
          Dict: masked_lm_logits float32 [B, P, V]; next_sentence_logits float32 [B, 2], packed [B,
            K, 2], where class 1
          is a random second sentence. Another label changes the name of the output, for example
          sentence_order_logits.
        """
        starts = features.get(f"{self._sentence_label}_positions")  # None if rows are not packed
        found = self.encoder.call_at_positions(
            features, features["masked_lm_positions"], training, starts, return_attention_scores
        )
        # [B * P, H].
        masked = tf.reshape(found.at_positions, [-1, self.encoder.config.hidden_size])
        logits = self.masked_lm(masked, self.encoder.embeddings)  # [B * P, V]
        shape = [-1, tf.shape(features["masked_lm_positions"])[1], self.encoder.config.vocab_size]
        outputs = {"masked_lm_logits": tf.reshape(logits, shape)}
        if self._sentence_label:
            scores = self.next_sentence(found.pooled)  # [B, 2] or [B * K, 2]
            if starts is not None:
                scores = tf.reshape(scores, [-1, tf.shape(starts)[1], 2])
            outputs[f"{self._sentence_label}_logits"] = scores
        return {**outputs, "encoder": found.all_outputs} if return_attention_scores else outputs


class _LinearModel(_TaskModel):
    """Base class of a linear layer after dropout.

    It has the variables of the original's run_classifier.
    """

    def __init__(self, encoder, num_labels, dropout_rate=None, *, name=None):
        super().__init__(encoder, name=name)
        self.num_labels = num_labels
        if dropout_rate is None:
            dropout_rate = self.encoder.config.hidden_dropout_prob
        self._dropout_rate = dropout_rate
        self.dropout = self.encoder.dropout_class(dropout_rate, dtype=self.dtype_policy)
        with tf.name_scope(""):
            self.bilstm = self._bilstm_head()
            self.head = self._linear_head(num_labels, "output")

    def get_config(self):
        """Returns the arguments of the constructor, which Keras saves."""
        return {
            **super().get_config(),
            "num_labels": self.num_labels,
            "dropout_rate": self._dropout_rate,
        }


@register
class BertClassifier(_LinearModel):
    """A linear classifier on the pooled output (section 4.1 of the paper).

    It is the original's `run_classifier.create_model`.

    Args:
      encoder: BertEncoder or BertConfig.
      num_labels: int. 1 for a regression model.
      dropout_rate: float. Dropout rate of the pooled output; None for config.hidden_dropout_prob
        (the original uses 0.1).
      name: str. Name of the Keras layer; None derives it from the class.
    """

    kind = "classifier"

    def call(self, features, training=False, return_attention_scores=False):
        """Features of BertEncoder -> {"logits": float32 [B, num_labels]}.

        For packed rows, sequence_positions int32 [B, K] are the starts of the sequences -> float32
        [B, K, num_labels].
        """
        starts = features.get("sequence_positions")
        logits, all_outputs = self._score(features, training, return_attention_scores, starts)
        if starts is not None:
            logits = tf.reshape(logits, [-1, starts.shape[1], self.num_labels])
        outputs = {"logits": logits}
        return {**outputs, "encoder": all_outputs} if return_attention_scores else outputs

    def _score(self, texts, training, return_attention_scores, starts=None):
        """Computes the logits of texts or packed sequences.

        Returns:
          Logits of each text [B, num_labels], or of each packed sequence [B * K, num_labels], and
          the encoder's dict, or None unless return_attention_scores.
        """
        if self.bilstm is None:
            inputs = self.encoder.call_at_positions(
                texts, None, training, starts, return_attention_scores
            )
        else:
            inputs = self._apply_encoder(texts, training, return_attention_scores)
        pooled = self.dropout(inputs.pooled, seed=self.encoder.next_dropout_seed(training))
        return self.head(pooled), inputs.all_outputs


@register
class BertTokenClassifier(_LinearModel):
    """A linear classifier on every token (tagging model in section 5.3).

    See BertClassifier for the arguments.
    """

    kind = "token_classifier"

    def call(self, features, training=False, return_attention_scores=False):
        """Features of BertEncoder -> {"logits": float32 [B, S, num_labels]}."""
        inputs = self._apply_encoder(features, training, return_attention_scores)
        sequence = self.dropout(inputs.sequence, seed=self.encoder.next_dropout_seed(training))
        outputs = {"logits": _apply_to_tokens(self.head, sequence)}
        return {**outputs, "encoder": inputs.all_outputs} if return_attention_scores else outputs


@register
class BertSpanLabeler(_TaskModel):
    """Start and end scores of an answer span (section 4.2 of the paper).

    It is the original's `run_squad.create_model`.

    See BertClassifier for the arguments.
    """

    kind = "span_labeler"

    def __init__(self, encoder, *, name=None):
        super().__init__(encoder, name=name)
        with tf.name_scope(""):
            self.bilstm = self._bilstm_head()
        with tf.name_scope("cls/squad/"):
            self.head = self._linear_head(2, "squad")

    def call(self, features, training=False, return_attention_scores=False):
        """Features of BertEncoder -> {"start_logits", "end_logits"}, each float32 [B, S]."""
        inputs = self._apply_encoder(features, training, return_attention_scores)
        start, end = tf.unstack(_apply_to_tokens(self.head, inputs.sequence), axis=-1)
        outputs = {"start_logits": start, "end_logits": end}
        return {**outputs, "encoder": inputs.all_outputs} if return_attention_scores else outputs


@register
class BertMultipleChoice(BertClassifier):
    """One score for each choice, softmax over choices (section 4.4).

    See BertClassifier for the arguments.
    """

    kind = "multiple_choice"

    def __init__(self, encoder, dropout_rate=None, *, name=None):
        super().__init__(encoder, num_labels=1, dropout_rate=dropout_rate, name=name)

    def get_config(self):
        """Returns the arguments of the constructor, which Keras saves."""
        return {name: value for name, value in super().get_config().items() if name != "num_labels"}

    def call(self, features, training=False, return_attention_scores=False):
        """Scores each choice.

        Args:
          features: dict with input_ids, input_mask, segment_ids, each int32 [B, choices, S].
          training, return_attention_scores: See the base class. The encoder reads [B * choices, S].

        Returns:
          {"logits": float32 [B, choices]}.
        """
        logits, all_outputs = self._score(
            _flatten_texts(features), training, return_attention_scores
        )
        outputs = {"logits": tf.reshape(logits, [-1, tf.shape(features["input_ids"])[1]])}
        return {**outputs, "encoder": all_outputs} if return_attention_scores else outputs


@register
class BertLongTextClassifier(BertClassifier):
    """A BertClassifier on each window of a text.

    The logit of a label is the mean or the maximum over the windows.

    If the texts of a batch have one window each, [B, S], the model is equivalent to BertClassifier.
    Windows have their own axis, [B, W, S], so losses and batches count texts.

    Args:
      encoder, num_labels, dropout_rate, name: See BertClassifier.
      pooling: str. Key of POOLINGS.
    """

    def __init__(self, encoder, num_labels, pooling="mean", dropout_rate=None, *, name=None):
        super().__init__(encoder, num_labels, dropout_rate, name=name)
        self.pooling = pooling

    def get_config(self):
        """Returns the arguments of the constructor, which Keras saves."""
        return {**super().get_config(), "pooling": self.pooling}

    def call(self, features, training=False, return_attention_scores=False):
        """Scores each text.

        Args:
          features: dict with input_ids, input_mask, segment_ids, each int32 [B, W, S] or [B, S]. A
            missing window contains only padding.
          training, return_attention_scores: See the base class. The encoder reads [B * W, S].

        Returns:
          {"logits": float32 [B, labels]}.
        """
        if features["input_ids"].shape.rank == 2:
            return super().call(features, training, return_attention_scores)
        windows = _flatten_texts(features)
        rows = _find_rows(features)
        # Skip windows that are only padding.
        if not (self.encoder.has_static_shapes or return_attention_scores):
            real = tf.where(rows < tf.shape(features["input_ids"])[0])[:, 0]
            windows, rows = tf.nest.map_structure(
                lambda value: tf.gather(value, real), (windows, rows)
            )
        logits, all_outputs = self._score(windows, training, return_attention_scores)
        outputs = {"logits": self.pool(logits, rows, tf.shape(features["input_ids"])[0])}
        return {**outputs, "encoder": all_outputs} if return_attention_scores else outputs

    def pool(self, logits, rows, num_texts):
        """Pools the logits of windows into those of texts, float32 [B, LA].

        Args:
          logits: float32 [WT, LA].
          rows: int [WT]. Text of each window; B for a missing window.
          num_texts: int scalar, B. Each text has at least one window.
        """
        return POOLINGS[self.pooling](logits, rows, tf.cast(num_texts, tf.int32) + 1)[:-1]


def _flatten_texts(features):
    """Returns the features of all texts [n, S] for features [B, W, S], with n = B * W."""
    return {
        name: tf.reshape(features[name], [-1, tf.shape(features[name])[2]]) for name in FEATURES
    }


def _apply_to_tokens(head, sequence):
    """Applies a LinearHead to sequence [B, S, H] -> [B, S, classes]."""
    batch_size, sequence_length, _ = tf.unstack(tf.shape(sequence))
    logits = head(tf.reshape(sequence, [-1, sequence.shape[-1]]))  # [B * S, classes]
    return tf.reshape(logits, [batch_size, sequence_length, logits.shape[-1]])


def _find_rows(features):
    """Returns the text of each window, int32 [B * W]; B for a window that contains only padding."""
    is_real = features["input_mask"][:, :, 0] > 0  # [B, W]
    num_texts = tf.shape(is_real)[0]
    return tf.reshape(tf.where(is_real, tf.range(num_texts)[:, tf.newaxis], num_texts), [-1])
