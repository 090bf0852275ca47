"""Classifiers: model, loss, and served model with one label, several labels, or a number."""

import tensorflow as tf

from bert_tf import losses, models
from bert_tf.errors import InputError
from bert_tf.export.request_checks import check_same_size, trim_padding
from bert_tf.export.servable import Servable
from bert_tf.tasks import KINDS
from bert_tf.tasks.base import check_unique
from bert_tf.tasks.graphs.base import Graph
from bert_tf.tokenization.windows import pack_windows


class ServedClassifier(Servable):
    """A BertClassifier that takes "text" string [B], or "text_a" and "text_b" for pairs.

    In addition to "was_cut", it returns:
      "label" string [B], the most likely one; "labels" string [B, L], the names in the order of "probabilities"
        float32 [B, L], which sum to 1;
      or, if it is multi-label, "labels", independent "probabilities" per label, and "has_label" bool [B, L], True for
        probabilities over one half;
      or, without labels, "value" float32 [B].
    """

    kind = "classifier"

    def __init__(self, model, tokenizer, labels, *, multi_label=False, window_stride=None, max_windows=None,
                 **options):
        """Args:
          model: BertClassifier, or BertLongTextClassifier if `window_stride` is set.
          labels: Label names in the order of their IDs; empty for a regression.
          multi_label: bool. Whether a text can have several labels.
          window_stride: int. Tokens between the starts of two windows of a text that is longer than max_seq_length; the
            prediction is for all of them. None truncates texts. "ids" and "tf_example" take single windows.
          max_windows: int. Maximum number of windows of a text.
          tokenizer, options: See Servable.

        Raises:
          InputError: If the number of labels does not match the model.
        """
        super().__init__(model, tokenizer, **options)
        check_labels(labels, model.num_labels)
        self._labels = list(labels)
        self._multi_label = multi_label
        self._windows = {"stride": window_stride, "max_windows": max_windows} if window_stride else None

    def answer_texts(self, **texts):
        if self._windows is None:
            return super().answer_texts(**texts)
        if len(texts) > 1:
            texts = dict(zip(texts, check_same_size(**texts), strict=True))
        features, rows, was_cut = pack_windows(
            self.tokenizer, *map(self.tokenizer.tokenize, texts.values()), max_seq_length=self.max_seq_length,
            static_length=self.static_length, **self._windows)
        logits = self.model(features)["logits"]  # [windows, L]
        return {**self._answers(self.model.pool(logits, rows, tf.size(was_cut))), "was_cut": was_cut}

    def answer(self, features):
        if not self.static_length:
            features = trim_padding(features)
        return self._answers(self.model(features)["logits"])

    def _answers(self, logits):
        """Returns the predictions for logits [B, L]."""
        if not self._labels:
            return {"value": logits[:, 0]}
        names = tf.constant(self._labels)
        labels = tf.tile(names[tf.newaxis], [tf.shape(logits)[0], 1])
        if self._multi_label:
            return {"labels": labels, "probabilities": tf.sigmoid(logits), "has_label": logits > 0}
        return {"label": tf.gather(names, tf.argmax(logits, axis=-1)), "labels": labels,
                "probabilities": tf.nn.softmax(logits)}

    def litert_metadata(self):
        if self._windows:
            raise InputError("the model reads long texts in windows, which LiteRT files do not support; export a "
                             "SavedModel instead, or train without windows")
        return super().litert_metadata(labels=self._labels, multi_label=self._multi_label)


def check_labels(labels, num_outputs):
    """Raises InputError unless a model has one output per label, or one output if there are no labels.

    Also if a label occurs twice.
    """
    check_unique(labels)
    if (len(labels) or 1) != num_outputs:
        raise InputError(f"there are {len(labels)} labels, but the model has {num_outputs} outputs")


_KIND = KINDS[ServedClassifier.kind]


class ClassifierGraph(Graph):
    """See `Graph`."""

    def model(self, encoder, metadata):
        num_outputs = _KIND.num_outputs(metadata)
        if metadata.window_pooling:
            return models.BertLongTextClassifier(encoder, num_outputs, metadata.window_pooling)
        return models.BertClassifier(encoder, num_outputs)

    def loss(self, metadata, ignore_padding=False):
        if _KIND.gives_number(metadata):
            return losses.regression_loss
        return losses.multi_label_loss if metadata.multi_label else losses.classification_loss

    def teaching(self, metadata):
        if _KIND.gives_number(metadata):
            return "number"
        return "sigmoid" if metadata.multi_label else "softmax"

    def servable(self, model, tokenizer, metadata, options):
        return ServedClassifier(
            model, tokenizer, list(metadata.labels), pairs=metadata.pairs, multi_label=metadata.multi_label,
            max_seq_length=metadata.max_seq_length, static_length=options.static_length,
            window_stride=metadata.window_stride, max_windows=metadata.max_windows)
