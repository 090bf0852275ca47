"""The served model of a classifier: one label, several labels, or a number for each text.

Shape legend: B batch, LA labels.
"""

import tensorflow as tf

from bert_tf import models
from bert_tf.tasks import KINDS
from bert_tf.tasks.servable import Servable, check_same_size
from bert_tf.tokenization.model_inputs import join_windows


class ServedClassifier(Servable):
    """A BertClassifier that takes "text" string [B], or "text_a" and "text_b" for pairs.

    In addition to "was_cut", it returns:
      "label" string [B], the most likely one; "labels" string [B, LA], the names in the order of
        "probabilities" float32 [B, LA], which sum to 1;
      or, if it is multi-label, "labels", independent "probabilities" per label, and "has_label"
        bool [B, LA], True for probabilities over one half;
      or, without labels, "value" float32 [B].
    With `window_stride` in the metadata, the prediction is for all windows of a text that is longer
    than max_seq_length; "ids" and "tf_example" take single windows.
    """

    kind = "classifier"

    @classmethod
    def create_model(cls, encoder, metadata):
        """See Servable."""
        num_outputs = KINDS[cls.kind].num_outputs(metadata)
        if metadata.window_pooling:
            return models.BertLongTextClassifier(encoder, num_outputs, metadata.window_pooling)
        return models.BertClassifier(encoder, num_outputs)

    def answer_texts(self, **texts):
        """See Servable."""
        if not self.metadata.window_stride:
            return super().answer_texts(**texts)
        texts = texts.values() if len(texts) == 1 else check_same_size(**texts)
        joined = join_windows(
            self.tokenizer,
            *map(self.tokenize, texts),
            max_seq_length=self.max_seq_length,
            static_length=self.static_length,
            stride=self.metadata.window_stride,
            max_windows=self.metadata.max_windows,
        )
        logits = self.model(joined.features)["logits"]  # [windows, LA]
        pooled = self.model.pool(logits, joined.rows, tf.size(joined.was_cut))
        return self._answers(pooled) | {"was_cut": joined.was_cut}

    def answer(self, features):
        """See Servable."""
        return self._answers(self.model(features)["logits"])

    def _answers(self, logits):
        """Returns the predictions for logits [B, LA]."""
        if not self.metadata.labels:
            value = logits[:, 0]
            return {"value": tf.sigmoid(value) if self.metadata.activation else value}
        names = tf.constant(self.metadata.labels)
        labels = tf.tile(names[tf.newaxis], [tf.shape(logits)[0], 1])
        if self.metadata.multi_label:
            return {"labels": labels, "probabilities": tf.sigmoid(logits), "has_label": logits > 0}
        return {
            "label": tf.gather(names, tf.argmax(logits, axis=-1)),
            "labels": labels,
            "probabilities": tf.nn.softmax(logits),
        }
