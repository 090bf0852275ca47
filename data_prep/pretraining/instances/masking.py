"""What masking needs to know, wherever it takes place: of a vocabulary, and how many pieces are masked."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """What masking and packing need to know of a vocabulary.

    Attributes:
      size: number of pieces; a random piece is any id below it, special pieces included, as in the original.
      cls_id, sep_id, mask_id: ids of [CLS], [SEP] and [MASK].
      is_continuation: [size] bool; True for a piece that continues a word, "##...".
    """

    size: int
    cls_id: int
    sep_id: int
    mask_id: int
    is_continuation: np.ndarray

    @classmethod
    def of_tokenizer(cls, tokenizer):
        """Reads it off a BertTokenizer."""
        is_continuation = np.array([piece.startswith("##") for piece in tokenizer.vocabulary])
        return cls(tokenizer.vocab_size, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id,
                   is_continuation)


def number_to_predict(length, masked_lm_prob, max_predictions_per_seq):
    """How many pieces of a sequence of `length` ids, special ones included, are masked: at least one."""
    return min(max_predictions_per_seq, max(1, round(length * masked_lm_prob)))


def numbers_to_predict(settings):
    """`number_to_predict` for sequences of 0, 1, ..., S ids, a list, for InstanceSettings; for no sequence none."""
    return [0, *(number_to_predict(length, settings.masked_lm_prob, settings.max_predictions_per_seq)
                 for length in range(1, settings.max_seq_length + 1))]
