"""The input of the sampling, and the arrays that it fills."""

from typing import NamedTuple

import numpy as np


class Text(NamedTuple):
    """The arrays of a corpus that the sampling reads.

    Attributes:
      sentence_starts, document_starts: See `Corpus`.
      documents: uint32 array. Numbers of all documents, in the order of use.
      continues: bool array. True for each token that continues a word, "##..."; empty unless whole
        words are masked.
    """

    sentence_starts: np.ndarray
    document_starts: np.ndarray
    documents: np.ndarray
    continues: np.ndarray


class Rules(NamedTuple):
    """Settings of the sampling.

    Attributes:
      max_tokens: int. Maximum number of tokens in a pair.
      short_seq_prob: float. Probability that the pairs of a document have one random lower length.
      swaps: bool. If True, both parts of a pair are consecutive, and half of the pairs are
        swapped.
      numbers_to_predict: int64 array. Number of masked tokens for each sequence length; all 0 for
        no masks.
      whole_words: bool. Whether to mask whole words.
      mask_id: int. ID of [MASK].
      random_ids: int64 array. IDs to sample random tokens from.
      mask_fraction: float. Fraction of the masked tokens that become [MASK].
      keep_probability: float. Probability that one of the others stays unchanged.
    """

    max_tokens: int
    short_seq_prob: float
    swaps: bool
    numbers_to_predict: np.ndarray
    whole_words: bool
    mask_id: int
    random_ids: np.ndarray
    mask_fraction: float
    keep_probability: float


class InstanceBuffers(NamedTuple):
    """Arrays for sampled instances. The function that fills them returns their counts.

    Attributes:
      parts: int64 array. Start and stop of each part in the tokens; a pair has two parts.
      labels: bool array. For each pair, whether its second part comes from another document, or its
        parts are swapped.
      mask_counts: uint16 array. Number of masks of each instance.
      mask_positions: uint16 array. Position of each mask in its sequence ([CLS] a [SEP] b [SEP]),
        in sampling order.
      mask_replacements: int32 array. ID at this position in the input, or KEEP.
      word_starts: int64 array of 0, 1, 2, ..., one item longer than a sequence. Whole-word masking
        overwrites it.
      word_order: int64 array of the same size, for temporary values.
    """

    parts: np.ndarray
    labels: np.ndarray
    mask_counts: np.ndarray
    mask_positions: np.ndarray
    mask_replacements: np.ndarray
    word_starts: np.ndarray
    word_order: np.ndarray
