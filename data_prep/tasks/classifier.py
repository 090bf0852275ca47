"""Data for classification and regression of sentences or sentence pairs.

Section 4.1 of the paper: GLUE.
"""

import dataclasses
import functools
import os
from typing import ClassVar

import numpy as np

from bert_tf.cli import roles
from bert_tf.cli.rules import Needs, NotWith, Required, any_of, equals
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.files import describe_dropped_bytes
from bert_tf.notes import tell, write_line
from data_prep import tables
from data_prep.datasets import own_columns, published, reader
from data_prep.datasets.own_data import create_own_dataset
from data_prep.datasets.types import CUSTOM
from data_prep.tables import dialects
from data_prep.tasks import text_features, unlabeled_texts
from data_prep.tasks.base import TaskData, TaskSettings

XNLI_LANGUAGES = (
    "ar",
    "bg",
    "de",
    "el",
    "en",
    "es",
    "fr",
    "hi",
    "ru",
    "sw",
    "th",
    "tr",
    "ur",
    "vi",
    "zh",
)
# Conditions of settings.
IS_CUSTOM = any_of(equals("task_name", CUSTOM), "data_file")
IS_XNLI = equals("task_name", "xnli")


@dataclasses.dataclass(frozen=True)
class ClassifierFileSettings(TaskSettings):
    """Your own file, or a published dataset."""

    data_file: str | None = setting(
        None,
        "File of your own texts and labels: CSV, TSV, JSON lines, a JSON array of objects, or "
        "Parquet, with a header or keys of any names; also compressed with gzip. Part of it "
        "becomes the development data.",
        rules=[NotWith("data_dir"), NotWith("do_predict", advice="predict with run.predict")],
        role=roles.INPUT_FILE,
    )
    dev_fraction: float = setting(
        0.1,
        "With --data_file: fraction of the rows of each label that becomes the development data.",
        min_value=0,
        max_value=1,
        rules=[Needs("data_file")],
    )
    data_dir: str | None = setting(
        None,
        "Directory of the task's files: train.tsv, dev.tsv, and so on; for custom tasks, .csv or "
        ".jsonl if there is no .tsv. Required without --data_file.",
        rules=[Required(unless="data_file")],
        role=roles.INPUT_FOLDER,
    )
    task_name: str | None = setting(
        None,
        "cola, sst-2, mrpc, sts-b, qqp, mnli, mnli-mm, qnli, rte, wnli, xnli, sick_e "
        "(entailment), or sick_r (relatedness, a number), in the published format; ax, the "
        "diagnostic data of GLUE, to predict with a model of MNLI; or custom, for your own files "
        "with a header. Required without --data_file.",
        rules=[Required(unless="data_file")],
    )


@dataclasses.dataclass(frozen=True)
class ColumnSettings(Settings):
    """Columns of your own data."""

    outer_settings: ClassVar = ("task_name", "data_file")

    text_a_column: str | None = setting(
        None,
        "For your own data: column of the text. By default, a column with a common name, such as "
        "text or review.",
        rules=[Needs(IS_CUSTOM)],
    )
    text_b_column: str | None = setting(
        None, "For your own data: column of the second text, if any.", rules=[Needs(IS_CUSTOM)]
    )
    label_column: str | None = setting(
        None,
        "For your own data: column of the label or number. By default, a column with a common "
        "name, such as label or category. If each label has a column with 0 or 1: these columns, "
        "comma-separated. Lists of labels do not require another flag.",
        rules=[Needs(IS_CUSTOM)],
    )
    columns: tuple[str, ...] = setting(
        (),
        "For your own data without a header row: names of all columns, comma-separated, such as "
        "text,label.",
        rules=[Needs(IS_CUSTOM)],
        rare=True,
    )
    table_dialect: str = setting(
        dialects.AUTO,
        "For your own delimited data: delimiter, and whether fields can be quoted. auto: find it "
        "from the header and the first rows. tab: no quotes, as published GLUE.",
        choices=(dialects.AUTO, *dialects.DIALECTS),
        rules=[Needs(IS_CUSTOM)],
        rare=True,
    )
    regression: bool = setting(
        False, "For your own data: predict numbers instead of labels.", rules=[Needs(IS_CUSTOM)]
    )
    label_separator: str | None = setting(
        None,
        "For your own data: separator between labels, if a field can contain several labels.",
        rules=[Needs(IS_CUSTOM), NotWith("regression")],
        rare=True,
    )


@dataclasses.dataclass(frozen=True)
class ClassifierSettings(ColumnSettings, ClassifierFileSettings):
    """Data: your own file, or GLUE, XNLI, or SICK."""

    kind: ClassVar = "classifier"
    data: ClassVar = ("task_name", "data_dir", "data_file")

    class_weights: str = setting(
        "none",
        "balanced: weight each training example by the inverse frequency of its label.",
        choices=("none", "balanced"),
        rules=[NotWith("regression"), NotWith("label_separator")],
    )
    xnli_language: str = setting(
        "zh",
        "With --task_name=xnli: language of the data.",
        choices=XNLI_LANGUAGES,
        rules=[Needs(IS_XNLI)],
        rare=True,
    )
    max_windows: int | None = setting(
        None,
        "Maximum number of overlapping windows of --max_seq_length into which long texts are "
        "divided, such as 8; their logits are pooled, in training and in serving. All windows of "
        "a text are in memory at once. For pairs, only the second text is divided. By default, "
        "texts are truncated, as in the original BERT.",
        min_value=1,
    )
    window_stride: int | None = setting(
        None,
        "With --max_windows: tokens between the starts of two windows of a text. Defaults to half "
        "of --max_seq_length.",
        min_value=1,
        rules=[Needs("max_windows")],
        rare=True,
    )
    window_pooling: str = setting(
        "mean",
        "With --max_windows: mean or maximum of the windows' logits, per label.",
        choices=("mean", "max"),
        rules=[Needs("max_windows")],
        rare=True,
    )

    @classmethod
    def from_model(cls, model_settings, data, model_name="model"):
        """See TaskSettings. Columns of a custom task are ignored for another `task_name`."""
        if (data.get("task_name") or model_settings.get("task_name")) != CUSTOM:
            custom_names = {
                field.name
                for field in dataclasses.fields(cls)
                if Needs(IS_CUSTOM) in field.metadata["rules"]
            }
            model_settings = {
                name: value for name, value in model_settings.items() if name not in custom_names
            }
        return super().from_model(model_settings, data, model_name)


class ClassifierData(TaskData):
    """See TaskData. Resolves the dataset and its labels before reading any data.

    Attributes:
      dataset: data_prep.datasets.types.Dataset. Its labels have the order of the model's labels.
      window_settings: Dict of the settings for windows of long texts; empty to truncate them.
    """

    settings_class = ClassifierSettings

    def __init__(self, settings, max_seq_length, metadata=None):
        super().__init__(settings, max_seq_length, metadata)
        self.dataset = _find_dataset(settings, metadata)
        self.window_settings = {}
        if settings.max_windows:
            self.window_settings = {
                "window_pooling": settings.window_pooling,
                "max_windows": settings.max_windows,
                "window_stride": settings.window_stride or max(1, max_seq_length // 2),
            }

    def check(self):
        """See TaskData.

        Prints the assumed labels if the model's labels have no names or another order.
        """
        metadata = self.metadata
        labels = self.dataset.labels
        if self.settings.class_weights != "none" and self.dataset.is_multi_label:
            raise InputError(
                "requires one label per row, but the rows have several",
                "class_weights",
                self.settings.class_weights,
            )
        if metadata and metadata.has_generic_labels and metadata.labels != labels:
            tell(
                f"{metadata.source} has no label names; assuming {', '.join(labels)}, in this order"
            )
        name = self.dataset.name
        if name != CUSTOM and labels != published.find_dataset(name).labels:
            tell(
                f"the label order of the model differs from that of {name}; using the order of the "
                f"model: {', '.join(labels)}"
            )

    def _read_examples(self, split):
        settings = self.settings
        if not settings.data_file:
            allow_unknown = self.dataset.name == CUSTOM and split == "dev"
            return reader.read_split(self.dataset, settings.data_dir, split, allow_unknown)
        examples, is_dev = self._split_data_file
        rows = is_dev if split == "dev" else ~is_dev
        if not rows.any():
            purpose = "development" if split == "dev" else "training"
            raise InputError(
                f"leaves no rows of {settings.data_file} for {purpose}",
                "dev_fraction",
                settings.dev_fraction,
            )
        return reader.select_examples(examples, rows)

    @functools.cached_property
    def _split_data_file(self):
        """The Examples of data_file, and which rows are for development, bool [n].

        Reading them prints a summary to standard error.
        """
        path = self.settings.data_file
        fraction = self.settings.dev_fraction
        examples = reader.read_split(
            self.dataset, "", "train", allow_unknown=self.metadata is not None
        )
        if examples.num_garbled:
            raise InputError(
                f"is not UTF-8 ({examples.num_garbled:,} lines); convert it, for example with "
                "iconv -f latin1 -t utf-8",
                "data_file",
                path,
            )
        own_columns.print_notes(examples)
        is_dev = own_columns.choose_development_rows(examples.labels, fraction)
        write_line(f"{path}: {own_columns.describe_columns(self.dataset, examples)}")
        write_line(
            f"training on {np.count_nonzero(~is_dev):,} rows; {np.count_nonzero(is_dev):,} for "
            f"development (--dev_fraction={fraction:g})"
        )
        return examples, is_dev

    def read(self, split, tokenizer):
        """See TaskData."""
        examples = self.examples(split)
        if self.window_settings:
            features, notes = self._read_windows(examples, tokenizer)
        else:
            features, lengths = text_features.convert_texts_to_features(
                examples.text_a, examples.text_b, tokenizer, self.max_seq_length
            )
            notes = text_features.describe_truncated(
                "rows", lengths, examples.text_b is not None, self.max_seq_length
            )
        if examples.labels is not None:
            features["label_ids"] = examples.labels
        if examples.num_broken:
            notes.append(f"{examples.num_broken:,} rows have too few columns and are skipped")
        if examples.num_empty:
            notes.append(f"{examples.num_empty:,} rows have an empty text")
        if examples.num_unknown:
            notes.append(
                f"{examples.num_unknown:,} rows have a label that the training data lacks "
                f"({tables.list_names(examples.unknown_labels)}) and count as misclassified"
            )
        if examples.num_garbled:
            notes.append(describe_dropped_bytes(examples.num_garbled))
        for note in notes:
            write_line(f"{split}: {len(examples):,} rows; {note}")
        if not self.settings.data_file:
            own_columns.print_notes(examples)
        return features

    def _read_windows(self, examples, tokenizer):
        """Returns the features of windows of examples, and notes about them, a list of str."""
        max_windows = self.window_settings["max_windows"]
        windows = text_features.convert_texts_to_windows(
            examples.text_a,
            examples.text_b,
            tokenizer,
            self.max_seq_length,
            self.window_settings["window_stride"],
            max_windows,
        )
        counts = windows.counts
        notes = []
        if counts.max() > 1:
            notes.append(
                f"{np.count_nonzero(counts > 1):,} rows are longer than --max_seq_length="
                f"{self.max_seq_length} and are read in {counts[counts > 1].mean():.1f} windows "
                f"on average, at most {counts.max()}"
            )
        if windows.was_cut.any():
            notes.append(
                f"{np.count_nonzero(windows.was_cut):,} rows are truncated, because they do not "
                f"fit into {max_windows} windows or their first text is too long"
            )
        return windows.features, notes

    def _read_unlabeled(self, path, tokenizer):
        settings = self.settings
        text_a, text_b = unlabeled_texts.read(
            path, bool(self.metadata.pairs), settings.text_a_column, settings.text_b_column
        )
        features, _ = text_features.convert_texts_to_features(
            text_a, text_b, tokenizer, self.max_seq_length
        )
        return features

    @property
    def training_files(self):
        """See TaskData."""
        if self.settings.data_file:
            return {"data_file": [self.settings.data_file]}
        return {
            "data_dir": [os.path.join(self.settings.data_dir, self.dataset.splits["train"].file)]
        }

    @property
    def metadata_fields(self):
        """See TaskData."""
        return {
            "labels": self.dataset.labels,
            "pairs": self.dataset.first_split.text_b is not None,
            "multi_label": self.dataset.is_multi_label,
            **self.window_settings,
        }

    @property
    def resolved_settings(self):
        """See TaskData."""
        settings = dataclasses.replace(
            self.settings, task_name=self.dataset.name, **self.window_settings
        )
        if self.dataset.name == CUSTOM:
            layout = self.dataset.first_split
            label = layout.label
            settings = dataclasses.replace(
                settings,
                text_a_column=layout.text_a,
                label_column=",".join(label) if isinstance(label, tuple) else label,
            )
        return settings


def _find_dataset(task, metadata):
    """Returns the data_prep.datasets.types.Dataset for the settings.

    Custom tasks use the labels of the training file, or the model's labels if there is a model with
    label names.

    Raises:
      InputError: If the dataset does not exist, or if its labels differ from the model's.
    """
    if task.data_file or task.task_name == CUSTOM:
        has_names = metadata and not metadata.has_generic_labels
        dataset = create_own_dataset(
            task.data_dir or "",
            task.text_a_column,
            task.text_b_column,
            task.label_column,
            file=task.data_file,
            labels=metadata.labels if has_names else (),
            regression=task.regression,
            label_separator=task.label_separator,
            table=tables.TableOptions(task.table_dialect, task.columns),
        )
        if metadata and len(metadata.labels) != len(dataset.labels):
            name = "data_file" if task.data_file else "data_dir"
            raise InputError(
                f"the model has {len(metadata.labels)} labels, but the data has "
                f"{len(dataset.labels)}; use the data of the task that the model was trained on",
                name,
                getattr(task, name),
            )
        return dataset
    dataset = published.find_dataset(task.task_name)
    if dataset.name == "xnli":
        dataset = published.create_xnli(task.xnli_language)
    elif dataset.name.startswith("sick_"):
        dataset = published.create_sick(dataset.name, task.data_dir)
    if metadata is None or metadata.labels == dataset.labels:
        return dataset
    return dataclasses.replace(
        dataset, labels=published.order_labels(dataset.name, dataset.labels, metadata.labels)
    )
