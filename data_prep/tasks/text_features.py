"""Features of texts and pairs of texts: one row for each, or several overlapping windows of a longer text."""

import numpy as np
from tqdm import tqdm

from bert_tf import tokenization
from bert_tf.errors import InputError

ROWS_AT_A_TIME = 1024


def convert_examples_to_features(examples, tokenizer, max_seq_length):
    """Converts examples to features, equal to those of the original BERT's `convert_single_example`.

    Args:
      examples: data_prep.tasks.glue.Examples.
      tokenizer: BertTokenizer.
      max_seq_length: int. Length to which each row is truncated or padded, S.

    Returns:
      Tuple `(features, lengths)`. Features: dict of "input_ids", "input_mask" (1 for tokens, 0 for padding), and
      "segment_ids" (1 for the second text and its [SEP]), int32 [n, S], and "label_ids", the examples' `labels`, if
      they exist. Lengths: int64 [n], tokens of the texts before truncation, without [CLS] and [SEP].

    Raises:
      InputError: If `max_seq_length` has no space for a token of each text.
    """
    check_length(examples, max_seq_length)
    features = {name: np.zeros([len(examples), max_seq_length], np.int32)
                for name in ("input_ids", "input_mask", "segment_ids")}
    lengths = np.zeros(len(examples), np.int64)
    for rows, *texts in _batches(examples):
        token_ids = [tokenizer.tokenize(column) for column in texts]
        encoded, _ = tokenization.pack(tokenizer, *token_ids, max_seq_length=max_seq_length, static_length=True)
        for name, values in features.items():
            values[rows] = encoded[name]
        lengths[rows] = sum(ids.row_lengths().numpy() for ids in token_ids)
    if examples.labels is not None:
        features["label_ids"] = examples.labels
    return features, lengths


def convert_examples_to_windows(examples, tokenizer, max_seq_length, stride, max_windows):
    """Converts examples to features, each in as many windows as it needs.

    Args:
      examples: data_prep.tasks.glue.Examples. For pairs, the second text is divided into windows.
      tokenizer: BertTokenizer.
      max_seq_length: int. Length of a window, S.
      stride: int. Tokens between the starts of two windows of a text.
      max_windows: int. Maximum number of windows of a text.

    Returns:
      Tuple `(features, counts, was_cut)`. Features: as in `convert_examples_to_features`, but int32 [n, W, S]. W is
      the maximum number of windows of an example; absent windows are 0. Counts: int64 [n], number of windows of each
      example. `was_cut`: bool [n], whether a part of the example is in no window.

    Raises:
      InputError: If `max_seq_length` has no space for a token of each text.
    """
    check_length(examples, max_seq_length)
    parts, rows, was_cut = [], [], []
    for batch, *texts in _batches(examples):
        encoded, row, cut = tokenizer.encode_windows(
            *texts, max_seq_length=max_seq_length, stride=stride, max_windows=max_windows)
        parts.append({name: value.numpy() for name, value in encoded.items()})
        rows.append(batch.start + row.numpy())
        was_cut.append(cut.numpy())
    rows = np.concatenate(rows)
    counts = np.bincount(rows, minlength=len(examples))
    numbers = np.arange(len(rows)) - np.searchsorted(rows, rows)  # Number of each window in its text.
    features = {name: np.zeros([len(examples), counts.max(), max_seq_length], np.int32) for name in parts[0]}
    for name, values in features.items():
        values[rows, numbers] = np.concatenate([part[name] for part in parts])
    if examples.labels is not None:
        features["label_ids"] = examples.labels
    return features, counts, np.concatenate(was_cut)


def check_length(examples, max_seq_length):
    """Raises InputError if `max_seq_length` has no space for a token of each text of Examples."""
    shortest = 3 if examples.text_b is None else 5
    if max_seq_length < shortest:
        raise InputError(f"`max_seq_length`={max_seq_length}: must be at least {shortest}, for [CLS], [SEP], and a "
                         "token of each text")


def describe_truncated(rows, lengths, is_pair, max_seq_length):
    """Returns a list with a note about the rows that were truncated; empty if there are none.

    Args:
      rows: str. What a row is, in plural.
      lengths: int [n], from `convert_examples_to_features`.
      is_pair: bool. Whether a row has two texts.
      max_seq_length: int. Maximum length of a row, S.
    """
    excess = np.maximum(0, lengths + (3 if is_pair else 2) - max_seq_length)
    if not excess.any():
        return []
    return [f"{np.count_nonzero(excess):,} {rows} are longer than --max_seq_length={max_seq_length} and are truncated: "
            f"{excess.sum():,} of all {lengths.sum():,} tokens are dropped"]


def _batches(examples):
    """Yields a slice of the rows of Examples, and its texts: one or two lists. Draws a progress bar."""
    columns = [column for column in (examples.text_a, examples.text_b) if column is not None]
    with tqdm(total=len(examples), desc="tokenizing", unit="row") as progress:
        for start in range(0, len(examples), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            texts = [column[rows] for column in columns]
            yield rows, *texts
            progress.update(len(texts[0]))
