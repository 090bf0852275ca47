"""Sentence and sentence-pair tasks: the nine GLUE tasks and its diagnostic data, XNLI, SICK, and
custom files.

`TASKS` describes the columns of the texts and labels in each published dataset.
`create_custom_task` describes a TSV or CSV file with named columns. Published files are read like
in the processors of the original BERT's run_classifier.py: by position, TSV without quoting, with a
header if the file has one.
"""

import dataclasses
import itertools
import os
import re

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tasks import data_file, tables

CUSTOM = "custom"  # Name of a task of one's own files.
TRAIN_FILES = "train.tsv, train.csv, or train.jsonl"
UNKNOWN_LABEL = -1  # Instead of the ID of a label that the task does not have.

_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


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


def select_examples(examples, rows):
    """Returns the Examples of some rows, bool [n].

    The counts are of these rows, except for lines and broken rows.
    """
    select = lambda column: column and list(itertools.compress(column, rows))
    text_a = select(examples.text_a)
    text_b = select(examples.text_b)
    return dataclasses.replace(
        examples,
        guids=select(examples.guids),
        text_a=text_a,
        text_b=text_b,
        labels=examples.labels[rows],
        num_empty=sum(
            not all(text.strip() for text in texts)
            for texts in zip(text_a, *([text_b] if text_b else []), strict=True)
        ),
    )


def find_task(name):
    """Returns the published task of that name; InputError lists all names.

    Ignores case, hyphens, and underscores.
    """
    simplify = lambda text: text.lower().replace("-", "").replace("_", "")
    for known, task in TASKS.items():
        if simplify(name) == simplify(known):
            return task
    raise InputError(f"must be one of {', '.join(TASKS)}, or {CUSTOM}", "task_name", name)


def create_custom_task(
    data_dir,
    text_a=None,
    text_b=None,
    label=None,
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
        path = next(filter(_exists, paths), paths[0])
        _check_exists(path, data_dir, TRAIN_FILES)
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
        _check_exists(paths[0], data_dir, TRAIN_FILES)
        labels = _read_labels(paths[0], splits["train"], label_separator)
    metrics = ("micro_f1", "macro_f1") if label_separator else ("accuracy", "macro_f1")
    return Dataset(CUSTOM, splits, tuple(labels), metrics=metrics, label_separator=label_separator)


def read_examples(task, data_dir, split, allow_unknown=False):
    """Reads one split of a task.

    Without its labels if it is "test", since they can be placeholders.

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
    _check_exists(path, data_dir, layout.file, advises_data_file=split != "test")
    ids = {label: number for number, label in enumerate(task.labels)}
    ids |= {in_file: ids[label] for in_file, label in task.renamed_labels}
    guids = []
    text_a = []
    text_b = []
    labels = []
    num_empty = num_broken = num_unknown = 0
    decoder = files.LineDecoder()
    has_labels = layout.label is not None and split != "test"
    for line, number, row in _select_rows(path, layout, task.skip_broken_rows, decoder):
        if row is None:
            num_broken += 1
            continue
        first, second, label, index = row
        guids.append(f"{split}-{number if index is None else index}")
        text_a.append(first)
        text_b.append(second)
        num_empty += not first.strip() or (second is not None and not second.strip())
        if has_labels:
            try:
                labels.append(_parse_label(label, task, ids, allow_unknown))
            except InputError as error:
                raise InputError(f"{path}:{line}: {error}") from error
    if not guids:
        selection = (
            f" with {layout.only[1]!r} in column {layout.only[0] + 1}" if layout.only else ""
        )
        raise InputError(f"{path}: contains no rows{selection}")
    labels = np.array(labels, np.float32 if task.regression else np.int32) if has_labels else None
    if has_labels and task.labels:
        unknown, known = (
            (labels[:, -1], labels[:, :-1])
            if task.label_separator
            else (labels == UNKNOWN_LABEL, labels != UNKNOWN_LABEL)
        )
        num_unknown = np.count_nonzero(unknown)
        if num_unknown and not known.any():
            raise InputError(
                f"{path}: contains none of the labels {tables.list_names(task.labels)}; check the "
                "label column"
            )
        if task.label_separator and not num_unknown:
            labels = known
    return Examples(
        guids,
        text_a,
        text_b if layout.text_b is not None else None,
        labels,
        num_empty,
        num_broken,
        num_unknown,
        decoder.num_garbled,
    )


def _select_rows(path, layout, skip_broken, decoder=None):
    """Yields the rows that the `only` of a Split selects.

    The header is row 0. Without a header, the first row is row 0, as in the original BERT's guids.

    Yields:
      Tuple `(line, number, row)`. Row: tuple of first text, second text, label, and index, str
      each, or None for absent columns. The tuple is None for a broken row.
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
        *row, key = (None if column is None else fields[column] for column in columns)
        if layout.only is None or key == layout.only[1]:
            yield line, number, row


def _parse_label(text, task, ids, allow_unknown):
    """Converts the text of a label to its value in `Examples.labels`.

    `ids`: dict of label name to ID.

    If a row can have several labels, the value ends with the column of unknown ones.
    """
    if task.regression:
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not abs(value) <= float(np.finfo(np.float32).max):
            raise InputError(f"label {text!r}: must be a number")
        return value
    names = _split_labels(text, task.label_separator)
    for name in names:
        if name not in ids and not (allow_unknown and name):
            raise InputError(
                f"unknown label {name!r}; must be one of {tables.list_names(task.labels)}"
            )
    found = [ids.get(name, UNKNOWN_LABEL) for name in names]
    if not task.label_separator:
        return found[0]
    return [int(label in found) for label in (*range(len(task.labels)), UNKNOWN_LABEL)]


def _find_custom_file(data_dir, split):
    names = [f"{split}.{ending}" for ending in ("tsv", "csv", "jsonl")]
    return next((name for name in names if _exists(os.path.join(data_dir, name))), names[0])


def _exists(path):
    return files.at(path).is_file()


def _check_exists(path, data_dir, names, advises_data_file=True):
    if not _exists(path):
        advice = (
            "; for one file of your own data (CSV, TSV, or JSON lines), set `data_file` instead"
        )
        raise InputError(
            f"contains no {names}{advice if advises_data_file else ''}", "data_dir", data_dir
        )


def _split_labels(text, separator):
    """Returns the labels of a row: without a separator, one, which can be empty."""
    return (
        [label.strip() for label in text.split(separator) if label.strip()]
        if separator
        else [text.strip()]
    )


def _read_labels(path, layout, separator):
    labels = set()
    for line, _, (_, _, label, _) in _select_rows(path, layout, skip_broken=False):
        labels.update(_split_labels(label, separator))
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


def _create_glue_task(
    name, labels, train, test, dev_file="dev.tsv", test_file="test.tsv", **fields
):
    """Creates a task whose development file has the columns of its training file.

    `train`, `test`: dicts of them.
    """
    return Dataset(
        name,
        {
            "train": Split("train.tsv", **train),
            "dev": Split(dev_file, **train),
            "test": Split(test_file, **test),
        },
        labels,
        **fields,
    )


def _create_mnli_task(name, kind):
    texts = {"text_a": 8, "text_b": 9, "index": 0}
    return _create_glue_task(
        name, NLI_LABELS, {**texts, "label": -1}, texts, f"dev_{kind}.tsv", f"test_{kind}.tsv"
    )


def create_xnli_task(language="zh"):
    """Creates XNLI in one language, trained on translated MultiNLI.

    The original BERT reads the Chinese part.
    """
    texts = {"text_a": 6, "text_b": 7, "label": 1, "only": (0, language)}
    return Dataset(
        "xnli",
        {
            "train": Split(f"multinli/multinli.train.{language}.tsv", text_a=0, text_b=1, label=2),
            "dev": Split("xnli.dev.tsv", **texts),
            "test": Split("xnli.test.tsv", **texts),
        },
        NLI_LABELS,
        renamed_labels=(("contradictory", "contradiction"),),
    )


def create_sick_task(name, data_dir=None):
    """Creates a task of SICK (Marelli et al. 2014), from SICK.txt or the files of SemEval 2014.

    Args:
      name: str. "sick_e" for entailment, "sick_r" for relatedness, a number from 1 to 5.
      data_dir: Directory of the files, which determines the format. None for SICK.txt.
    """

    def exists(file):
        return _exists(os.path.join(data_dir, file))

    labels = NLI_LABELS if name == "sick_e" else ()
    is_one_file = data_dir is None or exists(SICK_FILE) or not any(map(exists, SICK_PARTS.values()))
    label = (
        ("entailment_label" if is_one_file else "entailment_judgment")
        if labels
        else "relatedness_score"
    )
    splits = [
        Split(SICK_FILE, 1, 2, label, 0, only=(11, part))
        if is_one_file
        else Split(file, 1, 2, label, 0)
        for part, file in SICK_PARTS.items()
    ]
    return Dataset(
        name,
        dict(zip(("train", "dev", "test"), splits, strict=True)),
        labels,
        regression=not labels,
        # The order of SemEval's ranking.
        metrics=("accuracy",) if labels else ("pearson", "spearman"),
        renamed_labels=tuple((label.upper(), label) for label in labels),
    )


SICK_FILE = "SICK.txt"
SICK_PARTS = {
    "TRAIN": "SICK_train.txt",
    "TRIAL": "SICK_trial.txt",
    "TEST": "SICK_test_annotated.txt",
}
NLI_LABELS = ("contradiction", "entailment", "neutral")
_TWO_WAY = ("entailment", "not_entailment")
_PAIR = {"text_a": 1, "text_b": 2, "index": 0}
_LABELED_PAIR = {**_PAIR, "label": 3}
_MRPC_PAIR = {"text_a": 3, "text_b": 4}
_STSB_PAIR = {"text_a": 7, "text_b": 8, "index": 0}

TASKS = {
    task.name: task
    for task in (
        _create_glue_task(
            "cola",
            ("0", "1"),
            {"text_a": 3, "label": 1, "header": False},
            {"text_a": 1, "index": 0},
            metrics=("matthews_corrcoef", "accuracy"),
        ),
        _create_glue_task(
            "sst-2", ("0", "1"), {"text_a": 0, "label": 1}, {"text_a": 1, "index": 0}
        ),
        _create_glue_task(
            "mrpc",
            ("0", "1"),
            {**_MRPC_PAIR, "label": 0},
            {**_MRPC_PAIR, "index": 0},
            metrics=("f1", "accuracy"),
        ),
        _create_glue_task(
            "sts-b",
            (),
            {**_STSB_PAIR, "label": 9},
            _STSB_PAIR,
            regression=True,
            metrics=("spearman", "pearson"),
        ),  # Table 1 of the paper reports Spearman.
        # A line break inside a question splits some rows of the published training file.
        _create_glue_task(
            "qqp",
            ("0", "1"),
            {"text_a": 3, "text_b": 4, "label": 5, "index": 0},
            _PAIR,
            metrics=("f1", "accuracy"),
            skip_broken_rows=True,
        ),
        _create_mnli_task("mnli", "matched"),
        _create_mnli_task("mnli-mm", "mismatched"),
        # Predicted by a model of MNLI.
        Dataset("ax", {"test": Split("diagnostic.tsv", **_PAIR)}, NLI_LABELS),
        _create_glue_task("qnli", _TWO_WAY, _LABELED_PAIR, _PAIR),
        _create_glue_task("rte", _TWO_WAY, _LABELED_PAIR, _PAIR),
        _create_glue_task("wnli", ("0", "1"), _LABELED_PAIR, _PAIR),
        create_xnli_task(),
        create_sick_task("sick_e"),
        create_sick_task("sick_r"),
    )
}
