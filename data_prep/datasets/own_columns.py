"""The columns of the texts and the labels in a file of your own, and the rows for development."""

import numpy as np

from bert_tf.errors import InputError
from bert_tf.notes import write_line
from data_prep import tables
from data_prep.datasets.reader import MAX_LISTED_LABELS

TEXTS = (
    "text",
    "sentence",
    "review",
    "content",
    "body",
    "message",
    "comment",
    "description",
    "document",
    "tweet",
    "question",
    "title",
)
LABELS = (
    "label",
    "labels",
    "category",
    "class",
    "target",
    "sentiment",
    "rating",
    "stars",
    "score",
    "intent",
    "topic",
    "tag",
    "queue",
    "department",
)
SEED = 12345  # The development rows are the same in all runs, whatever their seed.


def find_columns(
    path,
    text_a=None,
    text_b=None,
    label=None,
    *,
    has_labels=True,
    has_settings=True,
    table=tables.DEFAULT,
):
    """Finds the columns of the first text and of the label in a file with a header.

    A column that is not given is the first of TEXTS or LABELS in the header. If the file has only
    two columns, and one is known, it is the other one.

    Args:
      path: Path of the file.
      text_a, text_b, label: str or None. Known columns of the texts and of the label.
      has_labels: bool. Whether a label is required.
      has_settings: bool. Whether the job has settings for the columns, which a message then names.
      table: tables.TableOptions. How to read the file.

    Returns:
      Tuple `(text_a, label)` of the names. Without `has_labels`, the label may be None.

    Raises:
      InputError: If a column is not found. The message lists the columns.
    """
    header = next(tables.read_rows(path, None, table), (1, []))[1]
    if not header:
        raise InputError(f"{path}: is empty")
    simple = [name.strip().lower() for name in header]
    taken = {text_a, text_b, label}

    def find(names):
        found = (header[simple.index(name)] for name in names if name in simple)
        return next((name for name in found if name not in taken), None)

    label = label or find(LABELS)
    taken.add(label)
    text_a = text_a or find(TEXTS)
    taken.add(text_a)
    rest = [name for name in header if name not in taken]
    if len(header) == 2 and len(rest) == 1:
        text_a = text_a or rest[0]
        label = label or rest[0]
    for setting, what, name, column in (
        ("text_a_column", "the texts", TEXTS[0], text_a),
        ("label_column", "the labels", LABELS[0], label),
    ):
        if column is None and (has_labels or setting != "label_column"):
            question = f"{path}: which column has {what}?"
            listed = tables.list_names(header)
            if not has_settings:
                raise InputError(f"{question} Name it {name}; the columns are {listed}")
            raise InputError(
                f"{question} Set `{setting}` to one of {listed}{tables.advise_columns(path, table)}"
            )
    return text_a, label


def choose_development_rows(labels, fraction):
    """Chooses rows for development, the same fraction of each label.

    Chooses at least one row of a label that has several.

    Args:
      labels: int32 [n], one per row. Other labels are not considered.
      fraction: float from 0 to 1.

    Returns:
      bool [n].
    """
    strata = np.zeros(len(labels), np.int32)
    if labels.ndim == 1 and labels.dtype == np.int32:
        strata = labels
    is_chosen = np.zeros(len(labels), bool)
    generator = np.random.default_rng(SEED)
    for label in np.unique(strata):
        rows = generator.permutation(np.flatnonzero(strata == label))
        count = round(fraction * len(rows)) or int(fraction > 0 and len(rows) > 1)
        is_chosen[rows[:count]] = True
    return is_chosen


def describe_columns(dataset, examples):
    """Returns a summary of the rows, the columns, and the labels of a Dataset of one file."""
    layout = dataset.first_split
    names = [layout.text_a]
    if layout.text_b:
        names.append(layout.text_b)
    columns = layout.label if isinstance(layout.label, tuple) else (layout.label,)
    text = (
        f"{len(examples):,} rows; texts: {tables.list_names(names)}; labels: "
        f"{tables.list_names(columns)}"
    )
    labels = dataset.labels
    if labels:
        if examples.labels.ndim == 1:
            counts = np.bincount(examples.labels[examples.labels >= 0], minlength=len(labels))
            text += ", with "
        else:
            counts = examples.labels[:, : len(labels)].sum(axis=0)
            text += ", several per row, with "
        text += ", ".join(
            f"{label} ({count:,})"
            for label, count in zip(labels[:MAX_LISTED_LABELS], counts, strict=False)
        )
        if len(counts) > MAX_LISTED_LABELS:
            text += f", and {len(counts) - MAX_LISTED_LABELS:,} more"
    return text


def print_notes(examples):
    """Prints the notes about the file of examples to standard error."""
    for note in examples.notes:
        write_line(note)
