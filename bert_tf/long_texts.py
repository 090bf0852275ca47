"""A classifier of texts that are longer than the model's input: their windows' logits are pooled.

Shape legend: B texts, W most windows of a text, S sequence, R windows of all texts, L labels.
"""

import tensorflow as tf

from bert_tf.models import BertClassifier

POOLINGS = {"mean": tf.math.unsorted_segment_mean, "max": tf.math.unsorted_segment_max}


class BertLongTextClassifier(BertClassifier):
    """A BertClassifier on each window of a text, and the mean or the maximum of what it says of them, label by label.

    A batch may hold texts of one window each, [B, S], and is then answered as a BertClassifier does.

    Args:
      encoder, num_labels, dropout_rate: BertClassifier's.
      pooling: a key of POOLINGS.
    """

    def __init__(self, encoder, num_labels, pooling="mean", dropout_rate=None):
        super().__init__(encoder, num_labels, dropout_rate)
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


def _rows(features):
    """The text of each window, int32 [B * W]; B for one that is all padding."""
    is_real = features["input_mask"][:, :, 0] > 0  # [B, W]
    num_texts = tf.shape(is_real)[0]
    return tf.reshape(tf.where(is_real, tf.range(num_texts)[:, tf.newaxis], num_texts), [-1])
