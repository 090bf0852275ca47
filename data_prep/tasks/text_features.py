"""Features of texts and pairs of texts for classifiers and multiple choice.

Texts are truncated, or divided into overlapping windows.
"""

from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from bert_tf import tokenization
from bert_tf.errors import InputError
from bert_tf.features import FEATURES

ROWS_AT_A_TIME = 1024


class TextWindows(NamedTuple):
    """Texts in windows: n rows, each with up to W windows of length S.

    Attributes:
      features: Dict of "input_ids", "input_mask", and "segment_ids" as in
        `convert_texts_to_features`, int32 [n, W, S]. Absent windows are 0.
      counts: int64 [n]. Number of windows of each row; W is the maximum.
      was_cut: bool [n]. Whether a part of the row is in no window.
    """

    features: dict
    counts: np.ndarray
    was_cut: np.ndarray


def convert_texts_to_features(text_a, text_b, tokenizer, max_seq_length):
    """Converts texts to features, equal to those of the original BERT's `convert_single_example`.

    Shows a progress bar on standard error.

    Args:
      text_a: List of n str.
      text_b: List of n str, the second texts of pairs, or None for single texts.
      tokenizer: BertTokenizer.
      max_seq_length: int. Length to which each row is truncated or padded, S.

    Returns:
      Tuple `(features, lengths)`. Features: dict of "input_ids", "input_mask" (1 for tokens, 0 for
      padding), and "segment_ids" (1 for the second text and its [SEP]), int32 [n, S]. Lengths:
      int64 [n], number of tokens of each row before truncation, without special tokens.

    Raises:
      InputError: See `check_length`.
    """
    check_length(text_b is not None, max_seq_length)
    features = {name: np.zeros([len(text_a), max_seq_length], np.int32) for name in FEATURES}
    lengths = np.zeros(len(text_a), np.int64)
    for rows in _iterate_batches(len(text_a)):
        first = tokenizer.tokenize(text_a[rows])
        second = None if text_b is None else tokenizer.tokenize(text_b[rows])
        joined, _ = tokenization.join_rows(
            tokenizer, first, second, max_seq_length=max_seq_length, static_length=True
        )
        for name, values in features.items():
            values[rows] = joined[name]
        lengths[rows] = first.row_lengths()
        if second is not None:
            lengths[rows] += second.row_lengths()
    return features, lengths


def convert_texts_to_windows(text_a, text_b, tokenizer, max_seq_length, stride, max_windows):
    """Converts texts to features, each row in as many windows as it needs.

    Args:
      text_a, text_b, tokenizer: See `convert_texts_to_features`. For pairs, the second text is
        divided into windows.
      max_seq_length: int. Length of a window, S.
      stride: int. Tokens between the starts of two windows of a text.
      max_windows: int. Maximum number of windows of a text.

    Returns:
      TextWindows.

    Raises:
      InputError: See `check_length`.
    """
    check_length(text_b is not None, max_seq_length)
    parts = []
    rows = [np.zeros([0], np.int64)]
    was_cut = []
    for batch in _iterate_batches(len(text_a)):
        second = None if text_b is None else tokenizer.tokenize(text_b[batch])
        joined = tokenization.join_windows(
            tokenizer,
            tokenizer.tokenize(text_a[batch]),
            second,
            max_seq_length=max_seq_length,
            stride=stride,
            max_windows=max_windows,
            static_length=True,
        )
        parts.append({name: value.numpy() for name, value in joined.features.items()})
        rows.append(batch.start + joined.rows.numpy())
        was_cut.append(joined.was_cut.numpy())
    rows = np.concatenate(rows)
    counts = np.bincount(rows, minlength=len(text_a))
    # Number of each window in its text.
    numbers = np.arange(len(rows)) - np.searchsorted(rows, rows)
    features = {
        name: np.zeros([len(text_a), counts.max(), max_seq_length], np.int32) for name in parts[0]
    }
    for name, values in features.items():
        values[rows, numbers] = np.concatenate([part[name] for part in parts])
    return TextWindows(features, counts, np.concatenate(was_cut))


def check_length(is_pair, max_seq_length):
    """Raises InputError if `max_seq_length` has no space for a token of a text or of both texts."""
    shortest = 5 if is_pair else 3
    if max_seq_length < shortest:
        raise InputError(
            f"must be at least {shortest}, for [CLS], [SEP], and a token of each text",
            "max_seq_length",
            max_seq_length,
        )


def describe_truncated(rows, lengths, is_pair, max_seq_length):
    """Returns a list with a note about the rows that were truncated; empty if there are none.

    Args:
      rows: str. What a row is, in plural.
      lengths: int [n], from `convert_texts_to_features`.
      is_pair: bool. Whether a row has two texts.
      max_seq_length: int. Maximum length of a row, S.
    """
    excess = np.maximum(0, lengths + (3 if is_pair else 2) - max_seq_length)
    if not excess.any():
        return []
    return [
        f"{np.count_nonzero(excess):,} {rows} are longer than --max_seq_length={max_seq_length} "
        f"and are truncated: {excess.sum():,} of all {lengths.sum():,} tokens are dropped"
    ]


def _iterate_batches(num_rows):
    """Yields the slices of the rows of batches, and shows a progress bar."""
    with tqdm(total=num_rows, desc="tokenizing", unit="row") as progress:
        for start in range(0, num_rows, ROWS_AT_A_TIME):
            yield slice(start, start + ROWS_AT_A_TIME)
            progress.update(min(ROWS_AT_A_TIME, num_rows - start))
