"""Classification datasets of your own files, in any format of `data_prep.tables`."""

import os
import re

from bert_tf import files
from bert_tf.errors import InputError
from data_prep import tables
from data_prep.datasets import own_columns
from data_prep.datasets.labels import (
    IndicatorLabels,
    ListedLabels,
    SeparatedLabels,
    SingleLabel,
    parse_list,
)
from data_prep.datasets.reader import check_exists, select_rows
from data_prep.datasets.types import CUSTOM, Dataset, Split

TRAIN_FILES = "train.tsv, train.csv, or train.jsonl"
ENDINGS = ("tsv", "csv", "jsonl", "json", "ndjson", "parquet")

_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


def create_own_dataset(
    data_dir,
    text_a=None,
    text_b=None,
    label=None,
    *,
    file=None,
    labels=(),
    regression=False,
    label_separator=None,
    table=tables.DEFAULT,
):
    """Creates the dataset of files of your own.

    Args:
      data_dir: Directory of the files.
      text_a, label: str. Column names of the first text, and of the label or number, which is not
        read in the file of the split "test". Comma-separated columns are labels, with 0 or 1 in
        each row. By default, see `data_file.find_columns`.
      text_b: str or None. Column name of the second text.
      file: str. Name of the file of all splits. Defaults to train.tsv, dev.tsv, and test.tsv, or
        to the next of ENDINGS, also with .gz, that exists.
      labels: Label names in the order of their IDs. Defaults to the labels of the training file,
        sorted by value if all are integers, otherwise by code point.
      regression: bool. Whether the label is a number.
      label_separator: str. Separator of labels if a row can have several. Lists need none.
      table: tables.TableOptions. How to read the files.

    Raises:
      InputError: If a column or file is missing, or if the training file has no labels.
    """
    names = {split: file or _find_file(data_dir, split) for split in ("train", "dev", "test")}
    paths = [os.path.join(data_dir, name) for name in names.values()]
    if text_a is None or label is None:
        path = next(filter(_is_file, paths), paths[0])
        check_exists(path, data_dir, TRAIN_FILES)
        text_a, label = own_columns.find_columns(
            path, text_a, text_b, label, has_labels=path in paths[:2], table=table
        )
    label = _divide_columns(label, paths[:2], table)
    splits = {
        split: Split(name, text_a, text_b, None if split == "test" else label, table=table)
        for split, name in names.items()
    }
    if regression:
        return Dataset(CUSTOM, splits, regression=True, metrics=("pearson", "spearman"))
    label_format = _choose_label_format(label, label_separator)
    if not labels:
        check_exists(paths[0], data_dir, TRAIN_FILES)
        label_format, labels = _read_labels(paths[0], splits["train"], label_format)
    elif label_format is None:
        path = next(filter(_is_file, paths[:2]), None)
        label_format = _find_label_format(path, splits["train"]) if path else SingleLabel()
    metrics = ("micro_f1", "macro_f1") if label_format.is_multiple else ("accuracy", "macro_f1")
    return Dataset(CUSTOM, splits, tuple(labels), metrics=metrics, label_format=label_format)


def _find_file(data_dir, split):
    """Returns the name of the first file of a split that exists, or its usual name."""
    names = [f"{split}.{ending}{gz}" for ending in ENDINGS for gz in ("", ".gz")]
    return next((name for name in names if _is_file(os.path.join(data_dir, name))), names[0])


def _is_file(path):
    return files.at(path).is_file()


def _divide_columns(label, paths, table):
    """Returns the column of the labels, or a tuple of columns if its name is a list of them."""
    path = next(filter(_is_file, paths), None)
    if not path or "," not in (label or ""):
        return label
    header = next(tables.read_rows(path, None, table), (1, []))[1]
    columns = tuple(column.strip() for column in label.split(","))
    return label if label in header else columns


def _choose_label_format(label, separator):
    """Returns the format of the labels that the settings require, or None to find it."""
    if isinstance(label, tuple):
        return IndicatorLabels(label)
    return SeparatedLabels(separator) if separator else None


def _find_label_format(path, layout):
    """Returns ListedLabels if a label of a file is a list, otherwise SingleLabel."""
    cells = (row.label for _, _, row in select_rows(path, layout, skip_broken=False))
    is_listed = any(parse_list(cell) is not None for cell in cells)
    return ListedLabels() if is_listed else SingleLabel()


def _read_labels(path, layout, label_format):
    """Reads the labels of a training file; see `create_own_dataset`.

    Args:
      path: Path of the file.
      layout: Split.
      label_format: Format of the labels, or None to find it.

    Returns:
      Tuple `(label_format, labels)`: the format; a list of str, sorted.
    """
    label_format = label_format or _find_label_format(path, layout)
    if isinstance(label_format, IndicatorLabels):
        return label_format, list(label_format.columns)
    labels = set()
    for line, _, row in select_rows(path, layout, skip_broken=False):
        labels.update(label_format.split(row.label))
        if "" in labels:
            raise InputError(f"{path}:{line}: the label is empty")
    if not labels:
        raise InputError(f"{path}: contains no labels")
    if len(labels) < 2 and not label_format.is_multiple:
        raise InputError(
            f"{path}: all rows have the label {labels.pop()!r}; check the label column"
        )
    if all(map(_WHOLE_NUMBER.fullmatch, labels)):
        return label_format, sorted(labels, key=lambda label: (int(label), label))
    return label_format, sorted(labels)
