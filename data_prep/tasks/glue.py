"""Sentence and sentence-pair tasks: the nine of GLUE, XNLI and files of one's own -> features.

`TASKS` describes where each published data set keeps its texts and labels; `own_task` describes a TSV or CSV file
with named columns. Published files are read as the processors of the original's run_classifier.py read them:
by position, TSV without quoting, a header where the file has one.
"""

import dataclasses
import os
import re
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from tqdm import tqdm

from bert_tf.errors import InputError
from bert_tf.files import LineDecoder, is_file
from data_prep.tasks import tables
from data_prep.tasks.table_splits import not_selected, selected_rows

ROWS_AT_A_TIME = 1024
UNKNOWN = -1  # in place of the id of a label that the task has not

_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


@dataclasses.dataclass(frozen=True)
class Split:
    """The file of one split, and which of its columns are read.

    A column is its position, counted from 0 (-1 for the last), or its name in the header.

    Attributes:
      file: file name within the data folder, of a form that `tables.read_rows` reads.
      text_a: column of the first text.
      text_b: column of the second text; None for tasks of one text.
      label: column of the label or number; None where there is none, as in the published test files.
      index: column of the row's published index; None for the row's number within the file.
      header: whether the first row names the columns.
      only: (column, value) to read only rows with that value; None for all rows.
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
    """A data set and how a model is judged on it.

    Attributes:
      name: the name, as in `TASKS`.
      splits: mapping from "train", "dev" and "test" to Split; a split that is not published is missing.
      labels: label names in the order of their ids; empty for a regression.
      regression: whether the label is a number.
      metrics: names of the official metrics, the one that chooses between models first.
      label_separator: text between labels where a row may have several (or none); None where it has one.
      renamed_labels: (name in a file, name in `labels`) where files differ.
      skip_broken_rows: whether rows with too few columns are counted and left out rather than refused.
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
            raise InputError(f"task {self.name}: it needs either labels or regression=True")
        if len(set(self.labels)) != len(self.labels):
            raise InputError(f"task {self.name}: a label occurs twice in {', '.join(self.labels)}")
        object.__setattr__(self, "splits", MappingProxyType(dict(self.splits)))

    @property
    def num_outputs(self):
        """Width of the model's last layer: one a label, 1 for a regression."""
        return len(self.labels) or 1


@dataclasses.dataclass(frozen=True)
class Examples:
    """The rows of one split, in the order of the file.

    Attributes:
      guids: list of str: split, "-" and the row's index.
      text_a: list of str.
      text_b: list of str; None for tasks of one text.
      labels: None where the split has none, else ids, int32 [n]; numbers, float32 [n], of a regression; or 0
        and 1 for each label, int32 [n, num_labels], where a row may have several. Of a label that the task has not,
        where it is allowed, the id is UNKNOWN.
      num_empty: rows of which a text is empty. They are kept, as in the original: published files have some.
      num_broken: rows that were left out for having too few columns.
      num_unknown: rows with a label that the task has not.
      num_garbled: lines of which bytes that are not UTF-8 were dropped.
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


def find_task(name):
    """The published task of that name, in any case, with or without hyphens; InputError lists the names."""
    for known, task in TASKS.items():
        if name.lower() in (known, known.replace("-", "")):
            return task
    raise InputError(f"{name!r} is no known task: the tasks are {', '.join(TASKS)}")


def own_task(data_dir, text_a, text_b=None, label="label", files=MappingProxyType({}), labels=(),
             regression=False, label_separator=None, metrics=()):
    """The task that a user's own files with a header make.

    Args:
      data_dir: folder of the files.
      text_a: name of the column of the first text.
      text_b: name of the column of the second text, if any.
      label: name of the column of the label or number; the file of the split "test" need not have it.
      files: dict from split to file name; unless given, train.tsv, dev.tsv and test.tsv, or train.csv, ... where
        there is no such .tsv.
      labels: label names in the order of their ids; if empty, those of the training file, sorted: by value if
        all are whole numbers, else by code point.
      regression: whether the label is a number.
      label_separator: text between labels where a row may have several.
      metrics: metric names; a usual choice unless given.

    Raises:
      InputError: on a missing column or file, or a training file without labels.
    """
    files = {**{split: _own_file(data_dir, split) for split in ("train", "dev", "test")}, **files}
    splits = {split: Split(file, text_a, text_b, label) for split, file in files.items()}
    test_path = os.path.join(data_dir, files["test"])
    if is_file(test_path) and label not in tables.read_header(test_path):
        splits["test"] = dataclasses.replace(splits["test"], label=None)
    if not labels and not regression:
        labels = _labels_of_file(os.path.join(data_dir, files["train"]), splits["train"], label_separator)
    if not metrics:
        metrics = (("pearson", "spearman") if regression else
                   ("micro_f1", "macro_f1") if label_separator else ("accuracy", "macro_f1"))
    return Dataset("own", splits, tuple(labels), regression, tuple(metrics), label_separator)


def read_examples(task, data_dir, split, allow_unknown=False):
    """Reads one split of a task.

    Args:
      task: Dataset.
      data_dir: folder of the published files.
      split: "train", "dev" or "test".
      allow_unknown: whether a row may have a label that the task has not, if others have some that it has; not where a
        row may have several.

    Returns:
      Examples.

    Raises:
      InputError: where the file is missing or has no rows; naming file and line, where a row has too few
        columns, or a label is unknown or no number.
    """
    if split not in task.splits:
        raise InputError(f"task {task.name} has no split {split!r}: it has {', '.join(task.splits)}")
    layout = task.splits[split]
    path = os.path.join(data_dir, layout.file)
    parse_label = _label_parser(task)
    guids, text_a, text_b, labels = [], [], [], []
    num_empty = num_broken = num_unknown = 0
    decoder, allow_unknown = LineDecoder(), allow_unknown and bool(task.labels) and not task.label_separator
    for line, number, row in selected_rows(path, layout, task.skip_broken_rows, decoder):
        if row is None:
            num_broken += 1
            continue
        guids.append(f"{split}-{number if row.index is None else row.index}")
        text_a.append(row.text_a)
        text_b.append(row.text_b)
        num_empty += not row.text_a.strip() or (row.text_b is not None and not row.text_b.strip())
        if row.label is not None:
            try:
                labels.append(parse_label(row.label))
            except InputError as error:
                if not (allow_unknown and row.label.strip()):
                    raise InputError(f"{path}:{line}: {error}") from error
                labels.append(UNKNOWN)
                num_unknown += 1
    if num_unknown == len(guids) > 0:
        raise InputError(f"{path}: has none of the labels {', '.join(task.labels)}: is another column meant?")
    if not guids:
        raise InputError(f"{path}: has no rows{not_selected(path, layout)}")
    return Examples(
        guids, text_a, text_b if layout.text_b is not None else None,
        np.array(labels, np.float32 if task.regression else np.int32) if layout.label is not None else None,
        num_empty, num_broken, num_unknown, decoder.num_garbled)


def check_length(examples, max_seq_length):
    """Raises InputError if `max_seq_length` leaves no room for a token of each text of Examples."""
    shortest = 3 if examples.text_b is None else 5
    if max_seq_length < shortest:
        raise InputError(f"`max_seq_length`={max_seq_length}: [CLS], [SEP] and a piece of each text need at "
                         f"least {shortest}")


def convert_examples_to_features(examples, tokenizer, max_seq_length, show_progress=False):
    """Features of examples, equal to those of the original's `convert_single_example`.

    Args:
      examples: Examples.
      tokenizer: BertTokenizer.
      max_seq_length: length that each row is cut or padded to, S.
      show_progress: whether to draw a progress bar on standard error.

    Returns:
      dict of "input_ids", "input_mask" (1 for a piece, 0 for padding) and "segment_ids" (1 for the second
      text and its [SEP]), int32 [n, S], and "label_ids", the examples' `labels`, where they have some.

    Raises:
      InputError: where `max_seq_length` leaves no room for a piece of each text.
    """
    check_length(examples, max_seq_length)
    features = {name: np.zeros([len(examples), max_seq_length], np.int32)
                for name in ("input_ids", "input_mask", "segment_ids")}
    with tqdm(total=len(examples), desc="tokenizing", unit="row", disable=not show_progress) as progress:
        for start in range(0, len(examples), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            text_b = None if examples.text_b is None else examples.text_b[rows]
            encoded = tokenizer.encode(examples.text_a[rows], text_b, max_seq_length)
            for name, values in features.items():
                values[rows] = encoded[name]
            progress.update(len(examples.text_a[rows]))
    if examples.labels is not None:
        features["label_ids"] = examples.labels
    return features


@dataclasses.dataclass(frozen=True)
class Cut:
    """What a maximum length takes off: from `num_examples` examples, `num_pieces` of `all_pieces` pieces."""

    num_examples: int
    num_pieces: int
    all_pieces: int


def count_cut(examples, tokenizer, max_seq_length):
    """Counts the pieces of examples that `convert_examples_to_features` with the same arguments cuts off."""
    lengths = np.zeros(len(examples), np.int64)
    for texts in filter(None, (examples.text_a, examples.text_b)):
        for start in range(0, len(texts), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            lengths[rows] += tokenizer.tokenize(texts[rows]).row_lengths().numpy()
    num_special = 2 if examples.text_b is None else 3
    excess = np.maximum(0, lengths + num_special - max_seq_length)
    return Cut(int(np.count_nonzero(excess)), int(excess.sum()), int(lengths.sum()))


def _label_parser(task):
    """A function from the text of a label to what `Examples.labels` holds for it; it raises InputError."""
    ids = {label: number for number, label in enumerate(task.labels)}
    ids |= {in_file: ids[label] for in_file, label in task.renamed_labels}

    def number(text):
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not abs(value) <= float(np.finfo(np.float32).max):
            raise InputError(f"label {text!r}: a number is expected")
        return value

    def one_label(text):
        if text not in ids:
            raise InputError(f"label {text!r} is unknown: the labels are {', '.join(task.labels)}")
        return ids[text]

    def several_labels(text):
        present = {one_label(label) for label in _split_labels(text, task.label_separator)}
        return [int(label in present) for label in range(len(task.labels))]

    if task.regression:
        return number
    return several_labels if task.label_separator else one_label


def _own_file(data_dir, split):
    has_csv, has_tsv = (is_file(os.path.join(data_dir, f"{split}.{ending}")) for ending in ("csv", "tsv"))
    return f"{split}.csv" if has_csv and not has_tsv else f"{split}.tsv"


def _split_labels(text, separator):
    return [label.strip() for label in text.split(separator) if label.strip()]


def _labels_of_file(path, layout, separator):
    labels = set()
    for line, _, row in selected_rows(path, layout, skip_broken=False):
        if not separator and not row.label.strip():
            raise InputError(f"{path}:{line}: the label is empty")
        labels.update(_split_labels(row.label, separator) if separator else [row.label])
    if not labels:
        raise InputError(f"{path}: has no labels")
    if len(labels) < 2 and not separator:
        raise InputError(f"{path}: all rows have the label {labels.pop()!r}: is another column meant?")
    if all(map(_WHOLE_NUMBER.fullmatch, labels)):
        return sorted(labels, key=lambda label: (int(label), label))
    return sorted(labels)


def _glue_task(name, labels, train, test, dev_file="dev.tsv", test_file="test.tsv", **fields):
    """A task whose development file has the columns of its training file; `train`, `test`: dicts of them."""
    return Dataset(name, {"train": Split("train.tsv", **train), "dev": Split(dev_file, **train),
                                     "test": Split(test_file, **test)}, labels, **fields)


def _mnli_task(name, kind):
    texts = {"text_a": 8, "text_b": 9, "index": 0}
    return _glue_task(name, NLI_LABELS, {**texts, "label": -1}, texts, f"dev_{kind}.tsv", f"test_{kind}.tsv")


def xnli_task(language="zh", train_language=None):
    """XNLI in one of its languages, trained on translated MultiNLI; the original reads the Chinese part.

    Args:
      language: code of the language to evaluate in and to predict.
      train_language: of the language to train in; None for the same.
    """
    texts = {"text_a": 6, "text_b": 7, "label": 1, "only": (0, language)}
    return Dataset("xnli", {
        "train": Split(f"multinli/multinli.train.{train_language or language}.tsv", text_a=0, text_b=1, label=2),
        "dev": Split("xnli.dev.tsv", **texts), "test": Split("xnli.test.tsv", **texts)},
        NLI_LABELS, renamed_labels=(("contradictory", "contradiction"),))


NLI_LABELS = ("contradiction", "entailment", "neutral")
_TWO_WAY = ("entailment", "not_entailment")
_PAIR = {"text_a": 1, "text_b": 2, "index": 0}
_LABELLED_PAIR = {**_PAIR, "label": 3}
_MRPC_PAIR = {"text_a": 3, "text_b": 4}
_STSB_PAIR = {"text_a": 7, "text_b": 8, "index": 0}

TASKS = MappingProxyType({task.name: task for task in (
    _glue_task("cola", ("0", "1"), {"text_a": 3, "label": 1, "header": False}, {"text_a": 1, "index": 0},
               metrics=("matthews_corrcoef", "accuracy")),
    _glue_task("sst-2", ("0", "1"), {"text_a": 0, "label": 1}, {"text_a": 1, "index": 0}),
    _glue_task("mrpc", ("0", "1"), {**_MRPC_PAIR, "label": 0}, {**_MRPC_PAIR, "index": 0},
               metrics=("f1", "accuracy")),
    _glue_task("sts-b", (), {**_STSB_PAIR, "label": 9}, _STSB_PAIR, regression=True,
               metrics=("pearson", "spearman")),
    # Some rows of the published training file are cut in two by a line break inside a question.
    _glue_task("qqp", ("0", "1"), {"text_a": 3, "text_b": 4, "label": 5, "index": 0}, _PAIR,
               metrics=("f1", "accuracy"), skip_broken_rows=True),
    _mnli_task("mnli", "matched"),
    _mnli_task("mnli-mm", "mismatched"),
    _glue_task("qnli", _TWO_WAY, _LABELLED_PAIR, _PAIR),
    _glue_task("rte", _TWO_WAY, _LABELLED_PAIR, _PAIR),
    _glue_task("wnli", ("0", "1"), _LABELLED_PAIR, _PAIR),
    xnli_task(),
)})
