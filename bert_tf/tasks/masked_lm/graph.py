"""The served model of a masked language model, which returns candidates for each [MASK].

Shape legend: B batch, S sequence, MA masks, V vocabulary, H hidden.
"""

import tensorflow as tf

from bert_tf import models
from bert_tf.tasks.masked_lm.task import MASK
from bert_tf.tasks.servable import Servable
from bert_tf.tokenization import ragged

MAX_MASKS_OF_STATIC = 20  # The original's max_predictions_per_seq.


class ServedMaskedLM(Servable):
    """A BertPretrainer that takes "text" string [B], or "text_a" and "text_b" for pairs.

    Texts contain any number of [MASK]. In addition to "was_cut", it returns the tokens "pieces"
    string [B, MA, k], "piece_ids" int32, and "probabilities" float32 of the same shape, most likely
    first, where MA is the maximum number of [MASK] per row, at least 1. Missing masks have "",
    [PAD], and 0. "num_masks" int32 [B] is the number of masks after truncation. The masks of a pair
    are in the order of its tokens. With static lengths, MA is MAX_MASKS_OF_STATIC, and further
    masks are ignored.

    For pairs, if the model predicts the next sentence, it also returns "is_next" float32 [B], the
    probability that the second text follows the first. This number has no meaning for an empty
    second text.
    """

    kind = "masked_lm"
    model_class = models.BertPretrainer

    @property
    def _gives_is_next(self):
        return self.metadata.next_sentence and self.metadata.pairs

    def tokenize(self, texts):
        """Tokenizes string [B] -> RaggedTensor int32 [B, (tokens)]; each [MASK] is one token."""
        # The tokenizer, like the original's, reads a literal [MASK] as three words: split there
        # first. The added [MASK] makes "" a part, and the last part "".
        parts = tf.strings.split(texts + MASK, MASK)
        pieces = self.tokenizer.tokenize(parts.values)
        masks = tf.fill([tf.size(parts.values)], self.tokenizer.mask_id)
        pieces = ragged.concatenate_rows(
            pieces, ragged.split_by_lengths(masks, tf.ones_like(masks, tf.int64))
        )
        return ragged.merge_dimensions(parts, pieces)[:, :-2]  # without two [MASK] too many

    def answer(self, features):
        """Converts features int32 [B, S] to the outputs for each [MASK]; see the class."""
        numbers = self.compute_numbers(features)
        pieces = self.tokenizer.convert_ids_to_tokens(numbers["piece_ids"])
        is_real = _find_real(numbers["piece_ids"], numbers["num_masks"])
        return {"pieces": tf.where(is_real, pieces, ""), **numbers}

    def compute_numbers(self, features):
        """Computes the outputs of the class for each [MASK], without strings."""
        masked = features["input_ids"] == self.tokenizer.mask_id
        num_masks = tf.reduce_sum(tf.cast(masked, tf.int32), axis=1)
        if self.static_length:
            max_masks = min(MAX_MASKS_OF_STATIC, self.max_seq_length)
            num_masks = tf.minimum(num_masks, max_masks)
        else:
            max_masks = tf.maximum(tf.reduce_max(num_masks), 1)
        # The positions [B, MA] are masked columns first, from left to right.
        columns = tf.range(tf.shape(masked)[1])
        positions = tf.math.top_k(
            tf.where(masked, tf.size(columns) - columns, 0), max_masks
        ).indices
        outputs = self.model({**features, "masked_lm_positions": positions})
        best, ids = self._best(outputs["masked_lm_logits"])  # [B, MA, V] -> [B, MA, k]
        is_real = _find_real(ids, num_masks)
        numbers = {
            "piece_ids": tf.where(is_real, ids, self.tokenizer.pad_id),
            "probabilities": tf.where(is_real, best, 0.0),
            "num_masks": num_masks,
        }
        if self._gives_is_next:
            numbers["is_next"] = tf.nn.softmax(outputs["next_sentence_logits"])[:, 0]
        return numbers

    def compute_outputs(self, features):
        """See Servable."""
        all_outputs = self.model.encoder(features)
        outputs = {"sequence_output": all_outputs["sequence_output"]}
        if self._gives_is_next:
            outputs["next_sentence_logits"] = self.model.next_sentence(all_outputs["pooled_output"])
        return outputs

    def best_pieces(self, vectors):
        """Converts states of masks to the most likely tokens.

        Args:
          vectors: float32 [MA, H]. Outputs of the last layer at [MASK].

        Returns:
          Dict of "piece_ids" int32 [MA, k] and "probabilities" float32 [MA, k].
        """
        best, ids = self._best(self.model.masked_lm(vectors, self.model.encoder.embeddings))
        return {"piece_ids": ids, "probabilities": best}

    def _best(self, logits):
        """Returns the probabilities and IDs [..., k] of the best tokens for logits [..., V]."""
        # The config can have more entries than the vocabulary.
        return tf.math.top_k(
            tf.nn.softmax(logits)[..., : self.tokenizer.vocab_size], self.metadata.top_k
        )


def _find_real(ids, num_masks):
    """Returns which of ids [B, MA, k] belong to a mask, for num_masks [B]: bool [B, MA, 1]."""
    return (tf.range(tf.shape(ids)[1]) < num_masks[:, tf.newaxis])[..., tf.newaxis]
