"""The types of classification datasets: the layout of their files, and their examples."""

import dataclasses

import numpy as np

from data_prep import tables
from data_prep.datasets.labels import SingleLabel

CUSTOM = "custom"  # Name of the dataset of your own files.
UNKNOWN_LABEL = -1  # Instead of the ID of a label that the dataset does not have.


@dataclasses.dataclass(frozen=True)
class Split:
    """The file of one split and the columns to read.

    A column is a 0-based position (-1 for the last), or a name in the header.

    Attributes:
      file: str. File name in the data directory, in a format that `tables.read_rows` supports.
      text_a: Column of the first text.
      text_b: Column of the second text, or None for single-text tasks.
      label: Column of the label or number, a tuple of columns for IndicatorLabels, or None if
        there is none, as in the published test files.
      index: Column of the row's published index, or None for the row's number in the file.
      header: bool. Whether the first row has the column names.
      only: Tuple `(column, value)` to select the rows with that value, or None for all rows.
      table: tables.TableOptions. How to read the file.
    """

    file: str
    text_a: int | str
    text_b: int | str | None = None
    label: int | str | tuple | None = None
    index: int | str | None = None
    header: bool = True
    only: tuple | None = None
    table: tables.TableOptions = tables.PUBLISHED


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A dataset and its evaluation.

    Attributes:
      name: str. Name in `published.DATASETS`.
      splits: Dict of "train", "dev", and "test" to Split, without unpublished splits.
      labels: Tuple of str. Label names in the order of their IDs; empty for regression.
      regression: bool. Whether the label is a number.
      metrics: Tuple of str. Official metrics, beginning with the metric for model selection.
      label_format: Format of the labels of a row; see data_prep.datasets.labels.
      renamed_labels: Pairs of (name in a file, name in `labels`) for files with different names.
      skip_broken_rows: bool. Whether to skip and count rows with too few columns instead of raising
        an error.
    """

    name: str
    splits: dict
    labels: tuple = ()
    regression: bool = False
    metrics: tuple = ("accuracy",)
    label_format: object = SingleLabel()
    renamed_labels: tuple = ()
    skip_broken_rows: bool = False

    @property
    def is_multi_label(self):
        """Whether a row can have several labels, or none."""
        return self.label_format.is_multiple

    @property
    def first_split(self):
        """Split of the training data, or of the only data of a task without training data."""
        return next(iter(self.splits.values()))


@dataclasses.dataclass(frozen=True)
class Examples:
    """The rows of one split, in the order of the file.

    Attributes:
      guids: List of str: split, "-", and the row's index.
      text_a: List of str.
      text_b: List of str, or None for single-text tasks. For multiple choice, a list of str for
        each row.
      labels: None if the split has no labels. Otherwise IDs, int32 [n]; for regression, numbers,
        float32 [n]; if a row can have several labels, 0 or 1 for each label, int32 [n, num_labels].
        The ID of a label that the dataset does not have, if allowed, is UNKNOWN_LABEL; if a row can
        have several labels, it is an additional last column.
      num_empty: int. Rows with an empty text. They are kept, as in the original BERT: published
        files have some. For multiple choice, the number of empty texts.
      num_broken: int. Rows skipped because they have too few columns.
      num_unknown: int. Rows with a label that the dataset does not have.
      num_garbled: int. Lines with invalid UTF-8 bytes, which were dropped.
      unknown_labels: Tuple of str. Some of the labels that the dataset does not have.
      notes: Tuple of str. Notes for the user about the file.
    """

    guids: list
    text_a: list
    text_b: list | None
    labels: np.ndarray | None
    num_empty: int = 0
    num_broken: int = 0
    num_unknown: int = 0
    num_garbled: int = 0
    unknown_labels: tuple = ()
    notes: tuple = ()

    def __len__(self):
        return len(self.text_a)
