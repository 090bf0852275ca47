"""Sentence and sentence-pair tasks: the nine GLUE tasks and its diagnostic data, XNLI, SICK, and custom files.

`TASKS` describes the columns of the texts and labels in each published dataset. `create_custom_task` describes a TSV or
CSV file with named columns. Published files are read like in the processors of the original BERT's run_classifier.py:
by position, TSV without quoting, with a header if the file has one.
"""

import dataclasses
import itertools
import os
import re
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import LineDecoder
from data_prep.tasks import data_file, tables
from data_prep.tasks.table_splits import Split, describe_selection, select_rows

CUSTOM = "custom"  # Name of a task of one's own files.
UNKNOWN_LABEL = -1  # Instead of the ID of a label that the task does not have.

_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A dataset and its evaluation.

    Attributes:
      name: str. Name in `TASKS`.
      splits: Mapping of "train", "dev", and "test" to Split, without unpublished splits.
      labels: Tuple of str. Label names in the order of their IDs; empty for regression.
      regression: bool. Whether the label is a number.
      metrics: Tuple of str. Official metrics, beginning with the metric for model selection.
      label_separator: str or None. Separator of labels if a row can have several (or none). None if it has one.
      renamed_labels: Pairs of (name in a file, name in `labels`) for files with different names.
      skip_broken_rows: bool. Whether to skip and count rows with too few columns instead of raising an error.
    """

    name: str
    splits: Mapping
    labels: tuple = ()
    regression: bool = False
    metrics: tuple = ("accuracy",)
    label_separator: str | None = None
    renamed_labels: tuple = ()
    skip_broken_rows: bool = False

    def __post_init__(self):
        if self.regression == bool(self.labels):
            raise InputError(f"task {self.name}: requires either labels or regression=True")
        if len(set(self.labels)) != len(self.labels):
            raise InputError(f"task {self.name}: contains a duplicate label: {', '.join(self.labels)}")
        object.__setattr__(self, "splits", MappingProxyType(dict(self.splits)))

    @property
    def first_split(self):
        """Split of the training data, or of the only data of a task without training data."""
        return next(iter(self.splits.values()))

    @property
    def num_outputs(self):
        """Width of the model's last layer: one per label, 1 for regression."""
        return len(self.labels) or 1


@dataclasses.dataclass(frozen=True)
class Examples:
    """The rows of one split, in the order of the file.

    Attributes:
      guids: List of str: split, "-", and the row's index.
      text_a: List of str.
      text_b: List of str, or None for single-text tasks.
      labels: None if the split has no labels. Otherwise IDs, int32 [n]; for regression, numbers, float32 [n]; if a row
        can have several labels, 0 or 1 for each label, int32 [n, num_labels]. The ID of a label that the task does not
        have, if allowed, is UNKNOWN_LABEL; if a row can have several labels, it is an additional last column.
      num_empty: int. Rows with an empty text. They are kept, as in the original BERT: published files have some.
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
    """Returns the Examples of some rows, bool [n]; the counts are of these rows, except for lines and broken rows."""
    select = lambda column: column and list(itertools.compress(column, rows))
    text_a, text_b = select(examples.text_a), select(examples.text_b)
    return dataclasses.replace(
        examples, guids=select(examples.guids), text_a=text_a, text_b=text_b, labels=examples.labels[rows],
        num_empty=sum(not all(text.strip() for text in texts) for texts in zip(
            text_a, *([text_b] if text_b else []), strict=True)))


def find_task(name):
    """Returns the published task of that name; InputError lists the names. Ignores case, hyphens, and underscores."""
    simplify = lambda text: text.lower().replace("-", "").replace("_", "")
    for known, task in TASKS.items():
        if simplify(name) == simplify(known):
            return task
    raise InputError(f"unknown task {name!r}; must be one of {', '.join(TASKS)}")


def create_custom_task(data_dir, text_a=None, text_b=None, label=None, files=MappingProxyType({}), labels=(),
                       regression=False, label_separator=None, metrics=()):
    """Creates a custom task for files with a header.

    Args:
      data_dir: Directory of the files.
      text_a, label: str. Column names of the first text, and of the label or number, which is not read in the file of
        the split "test". By default, see `data_file.find_columns`.
      text_b: str or None. Column name of the second text.
      files: Dict of split to file name. Defaults to train.tsv, dev.tsv, and test.tsv, or .csv or .jsonl if there is no
        .tsv.
      labels: Label names in the order of their IDs. Defaults to the labels of the training file, sorted by value if all
        are integers, otherwise by code point.
      regression: bool. Whether the label is a number.
      label_separator: str. Separator of labels if a row can have several.
      metrics: Metric names. Defaults to common metrics for the kind of label.

    Raises:
      InputError: If a column or file is missing, or if the training file has no labels.
    """
    files = {**{split: _find_custom_file(data_dir, split) for split in ("train", "dev", "test")}, **files}
    if text_a is None or label is None:
        paths = [os.path.join(data_dir, files[split]) for split in ("train", "dev")]
        path = next(filter(_exists, paths), paths[0])
        _check_exists(path, data_dir, "train.tsv, train.csv, or train.jsonl")
        text_a, label = data_file.find_columns(path, text_a, text_b, label)
    splits = {split: Split(file, text_a, text_b, None if split == "test" else label) for split, file in files.items()}
    if not labels and not regression:
        _check_exists(os.path.join(data_dir, files["train"]), data_dir, "train.tsv, train.csv, or train.jsonl")
        labels = _read_labels(os.path.join(data_dir, files["train"]), splits["train"], label_separator)
    if not metrics:
        metrics = (("pearson", "spearman") if regression else
                   ("micro_f1", "macro_f1") if label_separator else ("accuracy", "macro_f1"))
    return Dataset(CUSTOM, splits, tuple(labels), regression, tuple(metrics), label_separator)


def read_examples(task, data_dir, split, allow_unknown=False):
    """Reads one split of a task; without its labels if it is "test", since they can be placeholders.

    Args:
      task: Dataset.
      data_dir: Directory of the published files.
      split: str. "train", "dev", or "test".
      allow_unknown: bool. Whether a row can have an unknown label, if other rows have known labels.

    Returns:
      Examples.

    Raises:
      InputError: If the file is missing or has no rows, if a row has too few columns, or if a label is unknown or not
        a number. The message names the file, and the line if applicable.
    """
    if split not in task.splits:
        raise InputError(f"task {task.name} has no split {split!r}; must be one of {', '.join(task.splits)}")
    layout = task.splits[split]
    path = os.path.join(data_dir, layout.file)
    _check_exists(path, data_dir, layout.file)
    parse_label = _create_label_parser(task, allow_unknown)
    guids, text_a, text_b, labels = [], [], [], []
    num_empty = num_broken = num_unknown = 0
    decoder, has_labels = LineDecoder(), layout.label is not None and split != "test"
    for line, number, row in select_rows(path, layout, task.skip_broken_rows, decoder):
        if row is None:
            num_broken += 1
            continue
        guids.append(f"{split}-{number if row.index is None else row.index}")
        text_a.append(row.text_a)
        text_b.append(row.text_b)
        num_empty += not row.text_a.strip() or (row.text_b is not None and not row.text_b.strip())
        if has_labels:
            try:
                labels.append(parse_label(row.label))
            except InputError as error:
                raise InputError(f"{path}:{line}: {error}") from error
    if not guids:
        raise InputError(f"{path}: contains no rows{describe_selection(path, layout)}")
    labels = np.array(labels, np.float32 if task.regression else np.int32) if has_labels else None
    if has_labels and task.labels:
        unknown, known = ((labels[:, -1], labels[:, :-1]) if task.label_separator else
                          (labels == UNKNOWN_LABEL, labels != UNKNOWN_LABEL))
        num_unknown = np.count_nonzero(unknown)
        if num_unknown and not known.any():
            raise InputError(f"{path}: contains none of the labels {tables.list_names(task.labels)}; check the label "
                             "column")
        if task.label_separator and not num_unknown:
            labels = known
    return Examples(guids, text_a, text_b if layout.text_b is not None else None, labels, num_empty, num_broken,
                    num_unknown, decoder.num_garbled)


def _create_label_parser(task, allow_unknown):
    """Returns a function from the text of a label to its value in `Examples.labels`; it raises InputError.

    If a row can have several labels, the value ends with the column of unknown ones.
    """
    ids = {label: number for number, label in enumerate(task.labels)}
    ids |= {in_file: ids[label] for in_file, label in task.renamed_labels}

    def parse_number(text):
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not abs(value) <= float(np.finfo(np.float32).max):
            raise InputError(f"label {text!r}: must be a number")
        return value

    def parse_label_name(text):
        text = text.strip()
        if text not in ids and not (allow_unknown and text):
            raise InputError(f"unknown label {text!r}; must be one of {tables.list_names(task.labels)}")
        return ids.get(text, UNKNOWN_LABEL)

    def parse_label_names(text):
        present = {parse_label_name(label) for label in _split_labels(text, task.label_separator)}
        return [int(label in present) for label in (*range(len(task.labels)), UNKNOWN_LABEL)]

    if task.regression:
        return parse_number
    return parse_label_names if task.label_separator else parse_label_name


def _find_custom_file(data_dir, split):
    names = [f"{split}.{ending}" for ending in ("tsv", "csv", "jsonl")]
    return next((name for name in names if _exists(os.path.join(data_dir, name))), names[0])


def _exists(path):
    return files.at(path).is_file()


def _check_exists(path, data_dir, names):
    if not _exists(path):
        raise InputError(f"contains no {names}; for one file of your own data (CSV, TSV, or JSON lines), set "
                         "`data_file` instead", "data_dir", data_dir)


def _split_labels(text, separator):
    return [label.strip() for label in text.split(separator) if label.strip()]


def _read_labels(path, layout, separator):
    labels = set()
    for line, _, row in select_rows(path, layout, skip_broken=False):
        if not separator and not row.label.strip():
            raise InputError(f"{path}:{line}: the label is empty")
        labels.update(_split_labels(row.label, separator) if separator else [row.label.strip()])
    if not labels:
        raise InputError(f"{path}: contains no labels")
    if len(labels) < 2 and not separator:
        raise InputError(f"{path}: all rows have the label {labels.pop()!r}; check the label column")
    if all(map(_WHOLE_NUMBER.fullmatch, labels)):
        return sorted(labels, key=lambda label: (int(label), label))
    return sorted(labels)


def _create_glue_task(name, labels, train, test, dev_file="dev.tsv", test_file="test.tsv", **fields):
    """Creates a task whose development file has the columns of its training file; `train`, `test`: dicts of them."""
    return Dataset(name, {"train": Split("train.tsv", **train), "dev": Split(dev_file, **train),
                                     "test": Split(test_file, **test)}, labels, **fields)


def _create_mnli_task(name, kind):
    texts = {"text_a": 8, "text_b": 9, "index": 0}
    return _create_glue_task(name, NLI_LABELS, {**texts, "label": -1}, texts, f"dev_{kind}.tsv", f"test_{kind}.tsv")


def create_xnli_task(language="zh", train_language=None):
    """Creates XNLI in one of its languages, trained on translated MultiNLI. The original BERT reads the Chinese part.

    Args:
      language: str. Language code for evaluation and prediction.
      train_language: str. Language code for training. Defaults to `language`.
    """
    texts = {"text_a": 6, "text_b": 7, "label": 1, "only": (0, language)}
    return Dataset("xnli", {
        "train": Split(f"multinli/multinli.train.{train_language or language}.tsv", text_a=0, text_b=1, label=2),
        "dev": Split("xnli.dev.tsv", **texts), "test": Split("xnli.test.tsv", **texts)},
        NLI_LABELS, renamed_labels=(("contradictory", "contradiction"),))


def create_sick_task(name, data_dir=None):
    """Creates a task of SICK (Marelli et al. 2014), from SICK.txt or the files of SemEval 2014.

    Args:
      name: str. "sick_e" for entailment, "sick_r" for relatedness, a number from 1 to 5.
      data_dir: Directory of the files, which determines the format. None for SICK.txt.
    """
    def exists(file):
        return files.at(os.path.join(data_dir, file)).is_file()

    labels = NLI_LABELS if name == "sick_e" else ()
    is_one_file = data_dir is None or exists(SICK_FILE) or not any(map(exists, SICK_PARTS.values()))
    label = ("entailment_label" if is_one_file else "entailment_judgment") if labels else "relatedness_score"
    splits = [Split(SICK_FILE, 1, 2, label, 0, only=(11, part)) if is_one_file else Split(file, 1, 2, label, 0)
              for part, file in SICK_PARTS.items()]
    return Dataset(name, zip(("train", "dev", "test"), splits, strict=True), labels, regression=not labels,
                   metrics=("accuracy",) if labels else ("pearson", "spearman"),  # The order of SemEval's ranking.
                   renamed_labels=tuple((label.upper(), label) for label in labels))


SICK_FILE = "SICK.txt"
SICK_PARTS = {"TRAIN": "SICK_train.txt", "TRIAL": "SICK_trial.txt", "TEST": "SICK_test_annotated.txt"}
NLI_LABELS = ("contradiction", "entailment", "neutral")
_TWO_WAY = ("entailment", "not_entailment")
_PAIR = {"text_a": 1, "text_b": 2, "index": 0}
_LABELED_PAIR = {**_PAIR, "label": 3}
_MRPC_PAIR = {"text_a": 3, "text_b": 4}
_STSB_PAIR = {"text_a": 7, "text_b": 8, "index": 0}

TASKS = MappingProxyType({task.name: task for task in (
    _create_glue_task("cola", ("0", "1"), {"text_a": 3, "label": 1, "header": False}, {"text_a": 1, "index": 0},
               metrics=("matthews_corrcoef", "accuracy")),
    _create_glue_task("sst-2", ("0", "1"), {"text_a": 0, "label": 1}, {"text_a": 1, "index": 0}),
    _create_glue_task("mrpc", ("0", "1"), {**_MRPC_PAIR, "label": 0}, {**_MRPC_PAIR, "index": 0},
               metrics=("f1", "accuracy")),
    _create_glue_task("sts-b", (), {**_STSB_PAIR, "label": 9}, _STSB_PAIR, regression=True,
               metrics=("spearman", "pearson")),  # Table 1 of the paper reports Spearman.
    # A line break inside a question splits some rows of the published training file.
    _create_glue_task("qqp", ("0", "1"), {"text_a": 3, "text_b": 4, "label": 5, "index": 0}, _PAIR,
               metrics=("f1", "accuracy"), skip_broken_rows=True),
    _create_mnli_task("mnli", "matched"),
    _create_mnli_task("mnli-mm", "mismatched"),
    Dataset("ax", {"test": Split("diagnostic.tsv", **_PAIR)}, NLI_LABELS),  # Predicted by a model of MNLI.
    _create_glue_task("qnli", _TWO_WAY, _LABELED_PAIR, _PAIR),
    _create_glue_task("rte", _TWO_WAY, _LABELED_PAIR, _PAIR),
    _create_glue_task("wnli", ("0", "1"), _LABELED_PAIR, _PAIR),
    create_xnli_task(),
    create_sick_task("sick_e"),
    create_sick_task("sick_r"),
)})
