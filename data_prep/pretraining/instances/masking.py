"""Masking properties of a vocabulary, and the rules for static and dynamic masking."""

import dataclasses
import fractions

import numpy as np

from bert_tf.errors import InputError
from bert_tf.tokenization.vocabulary import index_tokens

# As in the original BERT.
MASK_FRACTION = 0.8
RANDOM_FRACTION = 0.1


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The properties of a vocabulary for masking and packing.

    Attributes:
      random_ids: int [n]. IDs to sample random tokens from: those of all distinct tokens, including
        special tokens, in the order of the original BERT. It samples from the keys of its dict, so
        records also equal the original's if a vocabulary has duplicate or blank lines.
      cls_id, sep_id, mask_id: int. IDs of [CLS], [SEP], and [MASK].
      is_continuation: bool [V], for each ID. True for a token that continues a word, "##...".
    """

    random_ids: np.ndarray
    cls_id: int
    sep_id: int
    mask_id: int
    is_continuation: np.ndarray

    @classmethod
    def from_tokenizer(cls, tokenizer):
        """Creates a Vocabulary from a BertTokenizer."""
        is_continuation = np.array([token.startswith("##") for token in tokenizer.vocabulary])
        ids = [
            id_ for id_ in index_tokens(tokenizer.vocabulary).values() if id_ < tokenizer.vocab_size
        ]
        return cls(
            np.array(ids), tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id, is_continuation
        )


def number_to_predict(length, masked_lm_prob, max_predictions_per_seq):
    """Returns the number of masked tokens, at least one, for a sequence of `length` IDs.

    The length includes the special tokens.
    """
    return min(max_predictions_per_seq, max(1, round(length * masked_lm_prob)))


def numbers_to_predict(settings):
    """Returns a list of `number_to_predict` for 0, 1, ..., S IDs, from InstanceSettings.

    An empty sequence has none.
    """
    return [
        0,
        *(
            number_to_predict(length, settings.masked_lm_prob, settings.max_predictions_per_seq)
            for length in range(1, settings.max_seq_length + 1)
        ),
    ]


def check_fractions(mask_fraction, random_fraction):
    """Raises InputError if the sum of the fractions exceeds 1."""
    if _compute_kept(mask_fraction, random_fraction) < 0:
        raise InputError(
            f"must be at most 1 together with `random_fraction`={random_fraction}",
            "mask_fraction",
            mask_fraction,
        )


def keep_probability(mask_fraction, random_fraction):
    """Returns the probability that a masked token stays unchanged if it does not become [MASK]."""
    kept = _compute_kept(mask_fraction, random_fraction)
    return float(kept / (1 - _to_decimal(mask_fraction))) if mask_fraction < 1 else 0.0


def _compute_kept(mask_fraction, random_fraction):
    """Returns the fraction of unchanged tokens without rounding.

    So 0.1 of 0.2 is exactly half, as in the original BERT.
    """
    return 1 - _to_decimal(mask_fraction) - _to_decimal(random_fraction)


def _to_decimal(number):
    return fractions.Fraction(str(number))
