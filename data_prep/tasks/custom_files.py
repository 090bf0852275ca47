"""Custom tasks: classification datasets of your own files (TSV, CSV, or JSON lines)."""

import os
import re

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tasks import data_file
from data_prep.tasks.datasets import (
    CUSTOM,
    Dataset,
    Split,
    check_exists,
    select_rows,
    split_labels,
)

TRAIN_FILES = "train.tsv, train.csv, or train.jsonl"

_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


def create_custom_task(
    data_dir,
    text_a=None,
    text_b=None,
    label=None,
    *,
    file=None,
    labels=(),
    regression=False,
    label_separator=None,
):
    """Creates a custom task for files with a header.

    Args:
      data_dir: Directory of the files.
      text_a, label: str. Column names of the first text, and of the label or number, which is not
        read in the file of the split "test". By default, see `data_file.find_columns`.
      text_b: str or None. Column name of the second text.
      file: str. Name of the file of all splits. Defaults to train.tsv, dev.tsv, and test.tsv, or
        .csv or .jsonl if there is no .tsv.
      labels: Label names in the order of their IDs. Defaults to the labels of the training file,
        sorted by value if all are integers, otherwise by code point.
      regression: bool. Whether the label is a number.
      label_separator: str. Separator of labels if a row can have several.

    Raises:
      InputError: If a column or file is missing, or if the training file has no labels.
    """
    names = {
        split: file or _find_custom_file(data_dir, split) for split in ("train", "dev", "test")
    }
    paths = [os.path.join(data_dir, name) for name in names.values()]
    if text_a is None or label is None:
        path = next(filter(_is_file, paths), paths[0])
        check_exists(path, data_dir, TRAIN_FILES)
        text_a, label = data_file.find_columns(
            path, text_a, text_b, label, has_labels=path in paths[:2]
        )
    splits = {
        split: Split(name, text_a, text_b, None if split == "test" else label)
        for split, name in names.items()
    }
    if regression:
        return Dataset(CUSTOM, splits, regression=True, metrics=("pearson", "spearman"))
    if not labels:
        check_exists(paths[0], data_dir, TRAIN_FILES)
        labels = _read_labels(paths[0], splits["train"], label_separator)
    metrics = ("micro_f1", "macro_f1") if label_separator else ("accuracy", "macro_f1")
    return Dataset(CUSTOM, splits, tuple(labels), metrics=metrics, label_separator=label_separator)


def _find_custom_file(data_dir, split):
    """Returns the name of the first file of a split that exists, or its usual name."""
    names = [f"{split}.{ending}" for ending in ("tsv", "csv", "jsonl")]
    return next((name for name in names if _is_file(os.path.join(data_dir, name))), names[0])


def _is_file(path):
    return files.at(path).is_file()


def _read_labels(path, layout, separator):
    """Returns the labels of a training file, sorted; see `create_custom_task`."""
    labels = set()
    for line, _, row in select_rows(path, layout, skip_broken=False):
        labels.update(split_labels(row.label, separator))
        if "" in labels:
            raise InputError(f"{path}:{line}: the label is empty")
    if not labels:
        raise InputError(f"{path}: contains no labels")
    if len(labels) < 2 and not separator:
        raise InputError(
            f"{path}: all rows have the label {labels.pop()!r}; check the label column"
        )
    if all(map(_WHOLE_NUMBER.fullmatch, labels)):
        return sorted(labels, key=lambda label: (int(label), label))
    return sorted(labels)
