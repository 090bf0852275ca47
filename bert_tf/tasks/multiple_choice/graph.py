"""The served model of multiple choice, which returns the choice that best fits a text.

Shape legend: B batch, CH choices, S sequence.
"""

import tensorflow as tf

from bert_tf import models
from bert_tf.tasks.servable import Servable, after, check_condition, check_same_size, parse_rows
from bert_tf.tokenization.model_inputs import to_dense


class ServedMultipleChoice(Servable):
    """A BertMultipleChoice that takes "text_a" string [B] and "choices" string [B, CH].

    Each choice is the second text of a pair. Signature "ids" takes int32 [B, CH, S]; an
    example of "tf_example" contains its C rows concatenated, all of the same length.

    In addition to "was_cut", True if any choice was truncated, it returns "choice" int32 [B], the
    index of the best one, and "probabilities" float32 [B, CH].
    """

    kind = "multiple_choice"
    model_class = models.BertMultipleChoice

    def encode(self, text_a, text_b=None):
        """Converts string [B] and choices string [B, CH] to features [B, CH, S] and was_cut [B]."""
        text_a, text_b = check_same_size(text_a=text_a, choices=text_b)
        shape = tf.shape(text_b)  # [B, CH]
        first = self.tokenizer.tokenize(text_a)
        second = self.tokenizer.tokenize(tf.reshape(text_b, [-1]))
        rows = tf.repeat(tf.range(shape[0]), shape[1])
        features, was_cut = self.join_rows(tf.gather(first, rows), second)
        features = {
            name: tf.reshape(value, tf.concat([shape, tf.shape(value)[1:]], 0))
            for name, value in features.items()
        }
        return features, tf.reduce_any(tf.reshape(was_cut, shape), axis=1)

    def answer(self, features):
        """See Servable."""
        probabilities = tf.nn.softmax(self.model(features)["logits"])
        return {
            "choice": tf.argmax(probabilities, axis=-1, output_type=tf.int32),
            "probabilities": probabilities,
        }

    def compute_outputs(self, features):
        """Scores rows int32 [B, S], each a text with one of its choices.

        Returns:
          Dict of "logits" float32 [B, 1].
        """
        return self.model({name: value[:, tf.newaxis] for name, value in features.items()})

    @property
    def ids_shape(self):
        """See Servable."""
        return [None, None, self.max_seq_length if self.static_length else None]

    def parse(self, serialized):
        """See Servable."""
        rows = parse_rows(serialized)
        lengths = rows["input_ids"].row_lengths()
        is_equal = lengths == tf.reduce_max(lengths)
        rows = after([check_condition(is_equal, "all examples must have the same length")], rows)
        rows = {name: to_dense(value, 0) for name, value in rows.items()}  # [B, CH * S]
        shape = tf.shape(rows["input_ids"])
        # Each choice begins with [CLS], which does not occur elsewhere.
        is_start = rows["input_ids"] == self.tokenizer.cls_id
        starts = tf.reduce_sum(tf.cast(is_start, tf.int32), axis=1)
        choices = tf.maximum(tf.reduce_max(starts), 1)
        return {
            name: tf.ensure_shape(
                tf.reshape(value, [shape[0], choices, shape[1] // choices]), self.ids_shape
            )
            for name, value in rows.items()
        }
