"""The masked language model, and the served model that returns candidates for each [MASK]."""

from typing import ClassVar

import tensorflow as tf

from bert_tf import models
from bert_tf.errors import InputError
from bert_tf.export.request_checks import trim_padding
from bert_tf.export.servable import Servable
from bert_tf.tasks.graphs.base import Graph
from bert_tf.tasks.masked_lm import MASK
from bert_tf.tokenization import ragged

MOST_MASKS_OF_STATIC = 20  # The original's max_predictions_per_seq.


class ServedMaskedLM(Servable):
    """A BertPretrainer that takes "text" string [B], with any number of [MASK] in each.

    In addition to "was_cut", it returns "pieces" string [B, M, k], "piece_ids" int32, and "probabilities" float32 of
    the same shape, most likely first, where M is the maximum number of [MASK] per row, at least 1; "", [PAD], and 0 for
    missing masks; "num_masks" int32 [B], the number of masks after truncation. With static lengths, M is
    MOST_MASKS_OF_STATIC, and further masks are ignored.
    """

    kind = "masked_lm"
    example_texts: ClassVar = {"text": ["The capital of [MASK] is Paris, and that of Italy is [MASK]."]}

    def __init__(self, model, tokenizer, *, top_k=5, **options):
        """Args: model: BertPretrainer; top_k: int, candidates per [MASK]; for the others, see Servable.

        Raises:
          InputError: If top_k exceeds the size of the vocabulary.
        """
        super().__init__(model, tokenizer, **options)
        if not 1 <= top_k <= tokenizer.vocab_size:
            raise InputError(f"`top_k`={top_k}: must be from 1 to the size of the vocabulary, "
                             f"{tokenizer.vocab_size}")
        self._top_k = top_k

    def encode(self, text_a, text_b=None):
        """Converts string [B] to features and was_cut; each [MASK] of a text is one token."""
        # The tokenizer, like the original's, reads a literal [MASK] as three words: split there first.
        parts = tf.strings.split(text_a + MASK, MASK)  # the added [MASK] makes "" a part, and the last part ""
        pieces = self.tokenizer.tokenize(parts.values)
        masks = tf.fill([tf.size(parts.values)], self.tokenizer.mask_id)
        pieces = ragged.concatenate_rows(pieces, ragged.split_by_lengths(masks, tf.ones_like(masks, tf.int64)))
        pieces = ragged.merge_dimensions(parts, pieces)  # [B, (tokens)], two [MASK] too many
        return self.pack(pieces[:, :-2])

    def answer(self, features):
        """Converts features int32 [B, S] to candidates and their probabilities for each [MASK]; see the class."""
        if not self.static_length:
            features = trim_padding(features)
        masked = features["input_ids"] == self.tokenizer.mask_id
        num_masks = tf.reduce_sum(tf.cast(masked, tf.int32), axis=1)
        if self.static_length:
            most = min(MOST_MASKS_OF_STATIC, self.max_seq_length)
            num_masks = tf.minimum(num_masks, most)
        else:
            most = tf.maximum(tf.reduce_max(num_masks), 1)
        # Masked columns first, from left to right.
        columns = tf.range(tf.shape(masked)[1])
        positions = tf.math.top_k(tf.where(masked, tf.size(columns) - columns, 0), most).indices  # [B, M]
        logits = self.model({**features, "masked_lm_positions": positions})["masked_lm_logits"]  # [B, M, V]
        best, ids = self._best(logits)
        is_real = (tf.range(most) < num_masks[:, tf.newaxis])[..., tf.newaxis]
        return {"pieces": tf.where(is_real, self.tokenizer.convert_ids_to_tokens(ids), ""),
                "piece_ids": tf.where(is_real, ids, self.tokenizer.pad_id),
                "probabilities": tf.where(is_real, best, 0.0), "num_masks": num_masks}

    def numbers(self, features):
        return {"sequence_output": self.model.encoder(features)["sequence_output"]}

    def best_pieces(self, vectors):
        """Converts states of masks float32 [N, H] to "piece_ids" int32 [N, k] and "probabilities" float32 [N, k]."""
        best, ids = self._best(self.model.masked_lm(vectors, self.model.encoder.embeddings))
        return {"piece_ids": ids, "probabilities": best}

    def litert_metadata(self):
        return super().litert_metadata(top_k=self._top_k)

    def _best(self, logits):
        """Returns the probabilities and IDs [..., k] of the most likely tokens for logits [..., V]."""
        # The config can have more entries than the vocabulary.
        return tf.math.top_k(tf.nn.softmax(logits)[..., : self.tokenizer.vocab_size], self._top_k)


class MaskedLMGraph(Graph):
    """See `Graph`; pre-training has its own loss."""

    def model(self, encoder, card):
        return models.BertPretrainer(encoder)

    def servable(self, model, tokenizer, card, options):
        return ServedMaskedLM(model, tokenizer, top_k=options.top_k, max_seq_length=card.max_seq_length,
                              static_length=options.static_length)
