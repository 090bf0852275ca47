"""Classification datasets: the layout of their files, and the reader of these files.

`data_prep.tasks.glue` describes the published datasets, and `data_prep.tasks.custom_files` your own
files. Published files are read like in the processors of the original BERT's run_classifier.py: by
position, TSV without quoting, with a header if the file has one.
"""

import dataclasses
import itertools
import os
from typing import NamedTuple

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from data_prep import tables

CUSTOM = "custom"  # Name of the dataset of your own files.
UNKNOWN_LABEL = -1  # Instead of the ID of a label that the task does not have.


@dataclasses.dataclass(frozen=True)
class Split:
    """The file of one split and the columns to read.

    A column is a 0-based position (-1 for the last), or a name in the header.

    Attributes:
      file: str. File name in the data directory, in a format that `tables.read_rows` supports.
      text_a: Column of the first text.
      text_b: Column of the second text, or None for single-text tasks.
      label: Column of the label or number, or None if there is none, as in the published test
        files.
      index: Column of the row's published index, or None for the row's number in the file.
      header: bool. Whether the first row has the column names.
      only: Tuple `(column, value)` to select the rows with that value, or None for all rows.
    """

    file: str
    text_a: int | str
    text_b: int | str | None = None
    label: int | str | None = None
    index: int | str | None = None
    header: bool = True
    only: tuple | None = None


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A dataset and its evaluation.

    Attributes:
      name: str. Name in `TASKS`.
      splits: Dict of "train", "dev", and "test" to Split, without unpublished splits.
      labels: Tuple of str. Label names in the order of their IDs; empty for regression.
      regression: bool. Whether the label is a number.
      metrics: Tuple of str. Official metrics, beginning with the metric for model selection.
      label_separator: str or None. Separator of labels if a row can have several (or none). None if
        it has one.
      renamed_labels: Pairs of (name in a file, name in `labels`) for files with different names.
      skip_broken_rows: bool. Whether to skip and count rows with too few columns instead of raising
        an error.
    """

    name: str
    splits: dict
    labels: tuple = ()
    regression: bool = False
    metrics: tuple = ("accuracy",)
    label_separator: str | None = None
    renamed_labels: tuple = ()
    skip_broken_rows: bool = False

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
        The ID of a label that the task does not have, if allowed, is UNKNOWN_LABEL; if a row can
        have several labels, it is an additional last column.
      num_empty: int. Rows with an empty text. They are kept, as in the original BERT: published
        files have some. For multiple choice, the number of empty texts.
      num_broken: int. Rows skipped because they have too few columns.
      num_unknown: int. Rows with a label that the task does not have.
      num_garbled: int. Lines with invalid UTF-8 bytes, which were dropped.
    """

    guids: list
    text_a: list
    text_b: list | None
    labels: np.ndarray | None
    num_empty: int = 0
    num_broken: int = 0
    num_unknown: int = 0
    num_garbled: int = 0

    def __len__(self):
        return len(self.text_a)


class Row(NamedTuple):
    """The texts, the label, and the published index of a row: str, or None for absent columns."""

    text_a: str
    text_b: str | None
    label: str | None
    index: str | None


def select_examples(examples, rows):
    """Returns the Examples of some rows, bool [n].

    The counts are of these rows, except for lines and broken rows.
    """

    def select(column):
        return column and list(itertools.compress(column, rows))

    text_a = select(examples.text_a)
    text_b = select(examples.text_b)
    return dataclasses.replace(
        examples,
        guids=select(examples.guids),
        text_a=text_a,
        text_b=text_b,
        labels=examples.labels[rows],
        num_empty=_count_empty(text_a, text_b),
    )


def read_examples(task, data_dir, split, allow_unknown=False):
    """Reads one split of a task.

    Does not read the labels of the split "test", since they can be placeholders.

    Args:
      task: Dataset.
      data_dir: Directory of the published files.
      split: str. "train", "dev", or "test".
      allow_unknown: bool. Whether a row can have an unknown label, if other rows have known labels.

    Returns:
      Examples.

    Raises:
      InputError: If the file is missing or has no rows, if a row has too few columns, or if a label
        is unknown or not a number. The message names the file, and the line if applicable.
    """
    if split not in task.splits:
        raise InputError(
            f"task {task.name} has no split {split!r}; must be one of {', '.join(task.splits)}"
        )
    layout = task.splits[split]
    path = os.path.join(data_dir, layout.file)
    check_exists(path, data_dir, layout.file, advises_data_file=split != "test")
    ids = _number_labels(task)
    has_labels = layout.label is not None and split != "test"
    decoder = files.LineDecoder()
    guids = []
    text_a = []
    text_b = [] if layout.text_b is not None else None
    labels = []
    num_broken = 0
    for line, number, row in select_rows(path, layout, task.skip_broken_rows, decoder):
        if row is None:
            num_broken += 1
            continue
        guids.append(f"{split}-{number if row.index is None else row.index}")
        text_a.append(row.text_a)
        if text_b is not None:
            text_b.append(row.text_b)
        if has_labels:
            try:
                labels.append(_parse_label(row.label, task, ids, allow_unknown))
            except InputError as error:
                raise InputError(f"{path}:{line}: {error}") from error
    if not guids:
        raise InputError(f"{path}: contains no rows{_describe_selection(layout)}")
    labels, num_unknown = _to_label_array(labels, task, path) if has_labels else (None, 0)
    return Examples(
        guids,
        text_a,
        text_b,
        labels,
        num_empty=_count_empty(text_a, text_b),
        num_broken=num_broken,
        num_unknown=num_unknown,
        num_garbled=decoder.num_garbled,
    )


def select_rows(path, layout, skip_broken, decoder=None):
    """Yields the rows of a file that a Split selects.

    The header is row 0. Without a header, the first row is row 0, as in the original BERT's guids.

    Args:
      path: Path of the file.
      layout: Split.
      skip_broken: bool. Whether to yield a row with too few columns instead of raising an error.
      decoder: bert_tf.files.LineDecoder that counts the lines with invalid bytes, or None.

    Yields:
      Tuple `(line, number, row)`: 1-based number of the line, number of the row, and Row, or None
      for a row with too few columns.
    """
    columns = [
        layout.text_a,
        layout.text_b,
        layout.label,
        layout.index,
        layout.only and layout.only[0],
    ]
    rows = tables.read_rows(path, decoder)
    first_number = 0
    width = None
    if layout.header:
        first_number = 1
        header = next(rows, (1, []))[1]
        if any(isinstance(column, str) for column in columns):
            columns = [
                tables.find_position(column, header, path) if isinstance(column, str) else column
                for column in columns
            ]
            width = len(header)  # A tab within a text would shift the named columns after it.
    num_required = max(column for column in columns if column is not None) + 1
    for number, (line, fields) in enumerate(rows, start=first_number):
        if width:
            tables.check_width(path, line, fields, width)
        elif len(fields) < num_required:
            if not skip_broken:
                raise InputError(
                    f"{path}:{line}: must have at least {num_required} columns, but has "
                    f"{len(fields)}"
                )
            yield line, number, None
            continue
        *values, key = (None if column is None else fields[column] for column in columns)
        if layout.only is None or key == layout.only[1]:
            yield line, number, Row(*values)


def split_labels(text, separator):
    """Returns the labels of a row: without a separator, one, which can be empty."""
    if not separator:
        return [text.strip()]
    return [label.strip() for label in text.split(separator) if label.strip()]


def check_exists(path, data_dir, names, advises_data_file=True):
    """Raises InputError unless a file exists.

    Args:
      path: Path of the file.
      data_dir: Directory of the dataset.
      names: str. Names of the file for the message.
      advises_data_file: bool. Whether the message mentions the setting for a single file.
    """
    if files.at(path).is_file():
        return
    advice = ""
    if advises_data_file:
        advice = (
            "; for one file of your own data (CSV, TSV, or JSON lines), set `data_file` instead"
        )
    raise InputError(f"contains no {names}{advice}", "data_dir", data_dir)


def _number_labels(task):
    """Returns dict of the name of a label in the files of a Dataset to its ID."""
    ids = {label: number for number, label in enumerate(task.labels)}
    return ids | {in_file: ids[label] for in_file, label in task.renamed_labels}


def _describe_selection(layout):
    """Returns the end of a message about the rows that a Split selects, "" if it selects all."""
    if not layout.only:
        return ""
    column, value = layout.only
    return f" with {value!r} in column {column + 1}"


def _parse_label(text, task, ids, allow_unknown):
    """Converts the text of a label to its value in `Examples.labels`.

    Args:
      text: str.
      task: Dataset.
      ids: Dict of label name to ID.
      allow_unknown: See `read_examples`.

    Returns:
      int or float. If a row can have several labels, a list of int, with the column of unknown
      labels at its end.
    """
    if task.regression:
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not abs(value) <= float(np.finfo(np.float32).max):
            raise InputError(f"label {text!r}: must be a number")
        return value
    names = split_labels(text, task.label_separator)
    for name in names:
        if name not in ids and not (allow_unknown and name):
            raise InputError(
                f"unknown label {name!r}; must be one of {tables.list_names(task.labels)}"
            )
    found = [ids.get(name, UNKNOWN_LABEL) for name in names]
    if not task.label_separator:
        return found[0]
    return [int(label in found) for label in (*range(len(task.labels)), UNKNOWN_LABEL)]


def _to_label_array(labels, task, path):
    """Converts the values of `_parse_label` of all rows.

    Args:
      labels: List of values, one per row.
      task: Dataset.
      path: Path of the file, for messages.

    Returns:
      Tuple `(labels, num_unknown)`: see `Examples`.

    Raises:
      InputError: If no row has a label of the task.
    """
    labels = np.array(labels, np.float32 if task.regression else np.int32)
    if not task.labels:
        return labels, 0
    if task.label_separator:
        is_unknown = labels[:, -1]
        is_known = labels[:, :-1]
    else:
        is_unknown = labels == UNKNOWN_LABEL
        is_known = ~is_unknown
    num_unknown = np.count_nonzero(is_unknown)
    if num_unknown and not is_known.any():
        raise InputError(
            f"{path}: contains none of the labels {tables.list_names(task.labels)}; check the "
            "label column"
        )
    if task.label_separator and not num_unknown:
        labels = is_known
    return labels, num_unknown


def _count_empty(text_a, text_b):
    """Counts the rows with an empty text; `text_b` can be None."""
    rows = zip(text_a, strict=True) if text_b is None else zip(text_a, text_b, strict=True)
    return sum(not all(text.strip() for text in texts) for texts in rows)
