"""The served model of a token classifier, which returns a label per word.

Shape legend: B batch, WO words, S sequence, LA labels.
"""

import tensorflow as tf

from bert_tf import models
from bert_tf.tasks.kind import MAX_WINDOWS
from bert_tf.tasks.servable import Servable
from bert_tf.tokenization import ragged
from bert_tf.tokenization.model_inputs import split_between_words, to_dense


class ServedTokenClassifier(Servable):
    """A BertTokenClassifier that takes "text" string [B].

    A text is split into words by white space, as in the training files. A word has the label of its
    first token, as in section 5.3 of the paper. Longer texts are divided between words into windows
    that are as full as possible, as in training.

    serving_default returns "words" string [B, WO] and "tags" string [B, WO], padded with "", where
    WO is the maximum number of words per row, at least 1; "scores" float32 [B, WO], the probability
    of each label; "num_words" int32 [B]; "was_cut" bool [B], True if a word is longer than a
    window, or if a text has more than MAX_WINDOWS. Words after these have the label "" and the
    score 0.
    "ids" and "tf_example" return "tags" string [B, S], "probabilities" float32 [B, S, LA], and
    "labels" string [B, LA]: they do not know the first token of each word.
    """

    kind = "token_classifier"

    @classmethod
    def create_model(cls, encoder, metadata):
        """See Servable."""
        return models.BertTokenClassifier(encoder, len(metadata.labels))

    def answer_texts(self, text):
        """Computes the outputs of serving_default for string [B]; see the class."""
        # Words may be returned to a client as JSON, which must be UTF-8.
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="ignore")
        words = tf.strings.split(text)  # [B, (WO)]
        pieces = self._tokenize_words(words.values)  # [all WO, (tokens)]
        windows = split_between_words(words, pieces, self.max_seq_length - 2, MAX_WINDOWS)
        features, was_cut = self.join_rows(windows.ids)
        answer = self.answer(features)

        number = tf.range(pieces.nrows())
        window = tf.searchsorted(windows.starts, number, "right", tf.int64) - 1
        is_tagged = number < tf.gather(windows.stops, window)
        # The 1 is [CLS].
        first = (
            1
            + pieces.row_starts()
            - tf.gather(pieces.row_starts(), tf.gather(windows.starts, window))
        )
        indices = tf.stack([window, tf.where(is_tagged, first, 0)], axis=1)
        tags = tf.where(is_tagged, tf.gather_nd(answer["tags"], indices), "")
        scores = tf.where(
            is_tagged, tf.gather_nd(tf.reduce_max(answer["probabilities"], axis=-1), indices), 0.0
        )
        is_cut = words.with_values(tf.cast(~is_tagged | tf.gather(was_cut, window), tf.int64))
        was_cut = ragged.sum_rows(is_cut) > 0
        return {
            "words": to_dense(words, ""),
            "tags": to_dense(words.with_values(tags), ""),
            "scores": to_dense(words.with_values(scores), 0.0),
            "num_words": tf.cast(words.row_lengths(), tf.int32),
            "was_cut": was_cut,
        }

    def _tokenize_words(self, words):
        """Tokenizes words [WO] -> RaggedTensor int32 [WO, (tokens)].

        A word without tokens becomes [UNK], as in training.
        """
        ids = self.tokenizer.tokenize(words)
        unknown = tf.fill([ids.nrows(), 1], self.tokenizer.unk_id)
        return ragged.concatenate_rows(
            ids, ragged.select_columns(unknown, (ids.row_lengths() == 0)[:, tf.newaxis])
        )

    def answer(self, features):
        """See Servable."""
        probabilities = tf.nn.softmax(self.model(features)["logits"])  # [B, S, LA]
        names = tf.constant(self.metadata.labels)
        return {
            "tags": tf.gather(names, tf.argmax(probabilities, axis=-1)),
            "probabilities": probabilities,
            "labels": tf.tile(names[tf.newaxis], [tf.shape(probabilities)[0], 1]),
        }
