"""Windows over texts of any length for classifiers."""

import dataclasses

import numpy as np
from tqdm import tqdm

from data_prep.tasks.glue import ROWS_AT_A_TIME, check_length


@dataclasses.dataclass(frozen=True)
class Windows:
    """Settings for dividing texts into windows.

    Attributes:
      stride: int. Tokens between the starts of two windows of a text.
      max_windows: int. Maximum number of windows of a text.
    """

    stride: int
    max_windows: int


def convert_examples_to_windows(examples, tokenizer, max_seq_length, windows, show_progress=False):
    """Converts examples to features, each in as many windows as it needs.

    Args:
      examples: data_prep.tasks.glue.Examples. For pairs, the second text is divided into windows.
      tokenizer: BertTokenizer.
      max_seq_length: int. Length of a window, S.
      windows: Windows.
      show_progress: bool. Whether to draw a progress bar on standard error.

    Returns:
      Tuple `(features, counts, was_cut)`. Features: dict of "input_ids", "input_mask", and "segment_ids" as in
      `glue.convert_examples_to_features`, int32 [n, W, S], and "label_ids" if they exist. W is the maximum number of
      windows of an example; absent windows are 0. Counts: int64 [n], number of windows of each example. `was_cut`:
      bool [n], whether a part of the example is in no window.

    Raises:
      InputError: If `max_seq_length` has no space for a token of each text.
    """
    check_length(examples, max_seq_length)
    parts, rows, was_cut = [], [np.zeros([0], np.int64)], []
    with tqdm(total=len(examples), desc="tokenizing", unit="row", disable=not show_progress) as progress:
        for start in range(0, len(examples), ROWS_AT_A_TIME):
            batch = slice(start, start + ROWS_AT_A_TIME)
            text_b = None if examples.text_b is None else examples.text_b[batch]
            encoded, row, cut = tokenizer.encode_windows(
                examples.text_a[batch], text_b, max_seq_length=max_seq_length, stride=windows.stride,
                max_windows=windows.max_windows)
            parts.append({name: value.numpy() for name, value in encoded.items()})
            rows.append(start + row.numpy())
            was_cut.append(cut.numpy())
            progress.update(len(was_cut[-1]))
    rows = np.concatenate(rows)
    counts = np.bincount(rows, minlength=len(examples))
    numbers = np.arange(len(rows)) - np.searchsorted(rows, rows)  # Number of each window in its text.
    features = {name: np.zeros([len(examples), counts.max(), max_seq_length], np.int32) for name in parts[0]}
    for name, values in features.items():
        values[rows, numbers] = np.concatenate([part[name] for part in parts])
    if examples.labels is not None:
        features["label_ids"] = examples.labels
    return features, counts, np.concatenate(was_cut)
