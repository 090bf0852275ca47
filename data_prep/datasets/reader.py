"""The reader of the files of classification datasets.

`data_prep.datasets.published` describes the published datasets, and `data_prep.datasets.own_data`
your own files. Published files are read like in the processors of the original BERT's
run_classifier.py: by position, TSV without quoting, with a header if the file has one.
"""

import collections
import dataclasses
import itertools
import os
from typing import NamedTuple

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError, name_file
from data_prep import tables
from data_prep.datasets.types import UNKNOWN_LABEL, Examples

MAX_LISTED_LABELS = 8  # Number of labels to name in a message.


class LabelReader:
    """Converts the labels of the rows of one file to `Examples.labels`.

    Args:
      dataset: Dataset.
      allow_unknown: See `read_split`.

    Attributes:
      num_unknown: int. Number of rows with a label that the dataset does not have, after
        `to_array`.
    """

    def __init__(self, dataset, allow_unknown):
        self.num_unknown = 0
        self._dataset = dataset
        self._allow_unknown = allow_unknown
        self._ids = {label: number for number, label in enumerate(dataset.labels)}
        self._ids |= {in_file: self._ids[label] for in_file, label in dataset.renamed_labels}
        self._unknown = collections.Counter()
        self._values = []

    @property
    def listed_unknown(self):
        """Some of the labels that the dataset does not have, a tuple of str."""
        return tuple(itertools.islice(self._unknown, MAX_LISTED_LABELS))

    def add(self, cell):
        """Reads the label of the next row.

        Args:
          cell: See `Row.label`.

        Raises:
          InputError: If it is unknown, or not a number.
        """
        if self._dataset.regression:
            self._values.append(_parse_number(cell))
            return
        names = self._dataset.label_format.split(cell)
        for name in names:
            if name in self._ids:
                continue
            if not (self._allow_unknown and name):
                known = tables.list_names(self._dataset.labels)
                raise InputError(f"unknown label {name!r}; must be one of {known}")
            self._unknown[name] += 1
        found = [self._ids.get(name, UNKNOWN_LABEL) for name in names]
        if self._dataset.is_multi_label:  # The last column is for unknown labels.
            ids = (*range(len(self._dataset.labels)), UNKNOWN_LABEL)
            self._values.append([int(id_ in found) for id_ in ids])
        else:
            self._values.append(found[0])

    def to_array(self, path):
        """Returns the labels of all rows; see `Examples`. `path`: Path of the file, for messages.

        Raises:
          InputError: If no row has a label of the dataset.
        """
        dataset = self._dataset
        labels = np.array(self._values, np.float32 if dataset.regression else np.int32)
        if not dataset.labels:
            return labels
        if dataset.is_multi_label:
            is_unknown = labels[:, -1]
            is_known = labels[:, :-1]
        else:
            is_unknown = labels == UNKNOWN_LABEL
            is_known = ~is_unknown
        self.num_unknown = np.count_nonzero(is_unknown)
        if self.num_unknown and not is_known.any():
            raise InputError(
                f"{path}: contains none of the labels {tables.list_names(dataset.labels)}; check "
                f"the label column, which has {tables.list_names(self.listed_unknown)}"
            )
        return is_known if dataset.is_multi_label and not self.num_unknown else labels


class Row(NamedTuple):
    """The texts, the label, and the published index of a row, or None for absent columns.

    The texts and the index are str. The label is a cell, or a tuple of cells if `Split.label` is a
    tuple of columns.
    """

    text_a: str
    text_b: str | None
    label: object
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


def read_split(dataset, data_dir, split, allow_unknown=False):
    """Reads one split of a dataset.

    Does not read the labels of the split "test", since they can be placeholders.

    Args:
      dataset: Dataset.
      data_dir: Directory of the published files.
      split: str. "train", "dev", or "test".
      allow_unknown: bool. Whether a row can have an unknown label, if other rows have known labels.

    Returns:
      Examples.

    Raises:
      InputError: If the file is missing or has no rows, if a row has too few columns, or if a label
        is unknown or not a number. The message names the file, and the line if applicable.
    """
    if split not in dataset.splits:
        raise InputError(
            f"task {dataset.name} has no split {split!r}; must be one of "
            f"{', '.join(dataset.splits)}"
        )
    layout = dataset.splits[split]
    path = os.path.join(data_dir, layout.file)
    check_exists(path, data_dir, layout.file, advises_data_file=split != "test")
    reader = LabelReader(dataset, allow_unknown)
    has_labels = layout.label is not None and split != "test"
    decoder = files.LineDecoder()
    notes = []
    guids = []
    text_a = []
    text_b = [] if layout.text_b is not None else None
    num_broken = 0
    for line, number, row in select_rows(path, layout, dataset.skip_broken_rows, decoder, notes):
        if row is None:
            num_broken += 1
            continue
        guids.append(f"{split}-{number if row.index is None else row.index}")
        text_a.append(row.text_a)
        if text_b is not None:
            text_b.append(row.text_b)
        if has_labels:
            with name_file(f"{path}:{line}"):
                reader.add(row.label)
    if not guids:
        raise InputError(f"{path}: contains no rows{_describe_selection(layout)}")
    return Examples(
        guids,
        text_a,
        text_b,
        reader.to_array(path) if has_labels else None,
        num_empty=_count_empty(text_a, text_b),
        num_broken=num_broken,
        num_unknown=reader.num_unknown,
        num_garbled=decoder.num_garbled,
        unknown_labels=reader.listed_unknown,
        notes=tuple(notes),
    )


def select_rows(path, layout, skip_broken, decoder=None, notes=None):
    """Yields the rows of a file that a Split selects.

    The header is row 0. Without a header, the first row is row 0, as in the original BERT's guids.

    Args:
      path: Path of the file.
      layout: Split.
      skip_broken: bool. Whether to yield a row with too few columns instead of raising an error.
      decoder: bert_tf.files.LineDecoder that counts the lines with invalid bytes, or None.
      notes: List of str to which notes for the user are added, or None.

    Yields:
      Tuple `(line, number, row)`: 1-based number of the line, number of the row, and Row, or None
      for a row with too few columns.
    """
    labels = layout.label if isinstance(layout.label, tuple) else (layout.label,)
    columns = [layout.text_a, layout.text_b, layout.index, layout.only and layout.only[0], *labels]
    rows = tables.read_rows(path, decoder, layout.table, notes)
    cells = tables.CellReader(path)
    first_number = 0
    width = None
    if layout.header:
        first_number = 1
        header = next(rows, (1, []))[1]
        if any(isinstance(column, str) for column in columns):
            columns = _find_positions(columns, header, path, layout.table)
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
        text_a, text_b, index, key, *label = (
            None if column is None else fields[column] for column in columns
        )
        if layout.only is None or key == layout.only[1]:
            text_a = cells.read_text(text_a, line, layout.text_a)
            if text_b is not None:
                text_b = cells.read_text(text_b, line, layout.text_b)
            label = tuple(label) if isinstance(layout.label, tuple) else label[0]
            yield line, number, Row(text_a, text_b, label, index)
    if notes is not None:
        notes += cells.notes


def _find_positions(columns, header, path, options):
    """Returns the positions of columns, which are names, positions, or None."""
    try:
        return [
            tables.find_column(column, header, path) if isinstance(column, str) else column
            for column in columns
        ]
    except InputError as error:
        raise InputError(f"{error}{tables.advise_columns(path, options)}") from error


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


def _parse_number(cell):
    """Returns the float of a cell; raises InputError if it is not a number of float32."""
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = np.nan
    if not abs(value) <= float(np.finfo(np.float32).max):
        raise InputError(f"label {cell!r}: must be a number")
    return value


def _describe_selection(layout):
    """Returns the end of a message about the rows that a Split selects, "" if it selects all."""
    if not layout.only:
        return ""
    column, value = layout.only
    return f" with {value!r} in column {column + 1}"


def _count_empty(text_a, text_b):
    """Counts the rows with an empty text; `text_b` can be None."""
    rows = zip(text_a, strict=True) if text_b is None else zip(text_a, text_b, strict=True)
    return sum(not all(text.strip() for text in texts) for texts in rows)
