"""Texts of any length for a classifier that reads them in windows."""

import dataclasses

import numpy as np
from tqdm import tqdm

from data_prep.tasks.glue import ROWS_AT_A_TIME, check_length


@dataclasses.dataclass(frozen=True)
class Windows:
    """How texts become windows.

    Attributes:
      stride: pieces between the starts of two windows of a text.
      most: most windows of a text.
    """

    stride: int
    most: int


def convert_examples_to_windows(examples, tokenizer, max_seq_length, windows, show_progress=False):
    """Features of examples, each in as many windows as it needs.

    Args:
      examples: data_prep.tasks.glue.Examples; of pairs the second text is cut into windows.
      tokenizer: BertTokenizer.
      max_seq_length: S, of a window.
      windows: Windows.
      show_progress: whether to draw a progress bar on standard error.

    Returns:
      (features, counts, was_cut): dict of "input_ids", "input_mask" and "segment_ids" as
      `glue.convert_examples_to_features` has them, int32 [n, W, S], where W is the most windows that an
      example has, and those that it does not have are 0, and "label_ids", where there are some; int64 [n], windows of
      each example; bool [n], whether some of it is in no window.

    Raises:
      InputError: where `max_seq_length` leaves no room for a piece of each text.
    """
    check_length(examples, max_seq_length)
    parts, rows, was_cut = [], [np.zeros([0], np.int64)], []
    with tqdm(total=len(examples), desc="tokenizing", unit="row", disable=not show_progress) as progress:
        for start in range(0, len(examples), ROWS_AT_A_TIME):
            some = slice(start, start + ROWS_AT_A_TIME)
            text_b = None if examples.text_b is None else examples.text_b[some]
            encoded, row, cut = tokenizer.encode_windows(
                examples.text_a[some], text_b, max_seq_length=max_seq_length, stride=windows.stride,
                max_windows=windows.most)
            parts.append({name: value.numpy() for name, value in encoded.items()})
            rows.append(start + row.numpy())
            was_cut.append(cut.numpy())
            progress.update(len(was_cut[-1]))
    rows = np.concatenate(rows)
    counts = np.bincount(rows, minlength=len(examples))
    numbers = np.arange(len(rows)) - np.searchsorted(rows, rows)  # of each window in its text
    features = {name: np.zeros([len(examples), counts.max(), max_seq_length], np.int32) for name in parts[0]}
    for name, values in features.items():
        values[rows, numbers] = np.concatenate([part[name] for part in parts])
    if examples.labels is not None:
        features["label_ids"] = examples.labels
    return features, counts, np.concatenate(was_cut)
