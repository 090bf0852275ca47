"""Sentences or sentence pairs and their label, labels or number (sections 4.1 of the paper: GLUE)."""

import dataclasses
import os
import sys

import numpy as np

from bert_tf.cli.settings import FIXED, collect
from bert_tf.errors import InputError
from bert_tf.files import garbled_note
from bert_tf.model_folder.task_metadata import TaskMetadata
from data_prep.tasks import classification, text_windows
from run.evaluation import glue_submission, metrics, plots, results
from run.finetuning.label_order import labels_of_model
from run.finetuning.task import FineTuningTask
from run.finetuning.task_settings import ClassificationSettings


class Classification(FineTuningTask):
    """The task of --task_name, of ClassificationSettings."""

    kind = ClassificationSettings.kind

    def __init__(self, settings, kept):
        super().__init__(settings, kept)
        self._dataset = _find_dataset(settings.task, kept)
        if settings.task.glue_submission:
            glue_submission.check_task(self._dataset.name)
        self.metric = f"eval_{self._dataset.metrics[0]}"
        self._examples = {}

    def read(self, tokenizer, ignore_padding):
        for split in self.settings.tuning.splits:
            self._examples[split], self.features[split] = read_split(
                self._dataset, self.settings.task.data_dir, split, tokenizer, self.settings.tokenizer.max_seq_length,
                allow_unknown=split == "dev" and self._dataset.name == "own" and not self.settings.task.strict,
                windows=self._windows)

    @property
    def metadata(self):
        return TaskMetadata(
            self.kind, self.settings.tokenizer.max_seq_length, self.settings.tokenizer.do_lower_case,
            self._dataset.labels, pairs=self._dataset.splits["train"].text_b is not None,
            multi_label=bool(self._dataset.label_separator), strip_accents=self.settings.tokenizer.strip_accents,
            **self._kept_windows)

    @property
    def _windows(self):
        """The Windows that long texts are read in; None where they are cut."""
        task = self.settings.task
        stride = task.window_stride or max(1, self.settings.tokenizer.max_seq_length // 2)
        return text_windows.Windows(stride, task.max_windows) if task.long_texts == "windows" else None

    @property
    def _kept_windows(self):
        """What task.json has of windows: dict."""
        windows = self._windows
        return {"window_pooling": self.settings.task.window_pooling, "window_stride": windows.stride,
                "max_windows": windows.most} if windows else {}

    @property
    def training_files(self):
        return {"data_dir": [os.path.join(self.settings.task.data_dir, self._dataset.splits["train"].file)]}

    @property
    def kept_settings(self):
        task = dataclasses.replace(self.settings.task, task_name=self._dataset.name)
        if task.task_name == "xnli":
            task = dataclasses.replace(task, xnli_train_language=task.xnli_languages[1])
        return {**collect(FIXED, task), **self._kept_windows}

    def check_packs(self):
        if self._windows:
            raise InputError("`pack_sequences`: not with `long_texts`=windows")

    def score(self, outputs):
        labels = self.features["dev"]["label_ids"]
        known = self._known
        known_outputs = {name: value[known] for name, value in outputs.items()}
        loss = float(self.loss(known_outputs, {"label_ids": labels[known]})["loss"])
        predictions = metrics.predictions_of(outputs["logits"], *self._label_kind)
        if self._dataset.name != "own" and not any(self._label_kind):
            labels, predictions = (self._published_ids[ids] for ids in (labels, predictions))
        return {**metrics.score(self._dataset.metrics, labels, predictions), "eval_loss": loss, "loss": loss}

    def decisions(self, outputs):
        """Of each row its label, its labels, or its number to two decimal places."""
        predictions = metrics.predictions_of(outputs["logits"], *self._label_kind)
        return (predictions.round(2) if self._dataset.regression else predictions).tolist()

    def report(self, outputs, folder):
        """Draws confusion.png, for a task of one label an example."""
        if not any(self._label_kind):
            known = self._known
            plots.confusion_matrix(os.path.join(folder, "confusion.png"), self.features["dev"]["label_ids"][known],
                                   outputs["logits"][known].argmax(axis=1), self._dataset.labels)

    def predict(self, predictor, eval_outputs, folder):
        """Writes test_results.tsv: a row for each example, a probability for each label, or the number.

        With `glue_submission`, the file that the GLUE server takes too.
        """
        logits = predictor(self.features["test"], self.settings.tuning.predict_batch_size)["logits"]
        results.write_predictions(folder, metrics.probabilities_of(logits, *self._label_kind))
        if self.settings.task.glue_submission:
            print(glue_submission.write(folder, self._dataset, self._examples["test"].guids,
                                        metrics.predictions_of(logits, *self._label_kind)))

    def has_labels(self, labels):
        if self._dataset.name == "own":
            return super().has_labels(labels)
        try:
            return labels_of_model(self._dataset.name, self._dataset.labels, labels) == self._dataset.labels
        except InputError:
            return False

    @property
    def _known(self):
        """The rows of the development data whose label the model knows: slice, or bool [n]."""
        labels = self.features["dev"]["label_ids"]
        return slice(None) if any(self._label_kind) else labels != classification.UNKNOWN

    @property
    def _published_ids(self):
        """The published id of each label of the model: F1 is of the label with the id 1. int64 [labels]."""
        labels, published = self._dataset.labels, classification.find_task(self._dataset.name).labels
        return np.array([published.index(label) for label in labels])

    @property
    def _label_kind(self):
        """Whether the label is a number; whether a row may have several labels."""
        return self._dataset.regression, bool(self._dataset.label_separator)


def _find_dataset(task, kept):
    """The data_prep.tasks.classification.ClassificationTask that settings name; InputError if there is none.

    The labels of one's own files are those of the training file, or of the model if it is only to be used.
    """
    if task.task_name == "own":
        has_names = kept and not kept.as_task.is_generic
        dataset = classification.own_task(
            task.data_dir, task.text_a_column, task.text_b_column, task.label_column,
            labels=kept.labels if has_names else (), regression=task.regression, label_separator=task.label_separator)
        if kept and len(kept.labels) != len(dataset.labels):
            raise InputError(f"`data_dir`={task.data_dir}: the model has {len(kept.labels)} labels, the data "
                             f"{len(dataset.labels)}: it was trained for another task")
        _note_taken(kept, dataset.labels)
        return dataset
    try:
        dataset = classification.find_task(task.task_name)
    except InputError as error:
        raise InputError(f"`task_name`: {error}, and own") from error
    if dataset.name == "xnli":
        dataset = classification.xnli_task(*task.xnli_languages)
    if kept is None or kept.labels == dataset.labels:
        return dataset
    labels = labels_of_model(dataset.name, dataset.labels, kept.labels)
    _note_taken(kept, labels)
    if labels != dataset.labels:
        print(f"note: the model's labels are in another order than those of {dataset.name}, which are taken in the "
              f"model's: {', '.join(labels)}", file=sys.stderr)
    return dataclasses.replace(dataset, labels=labels)


def _note_taken(kept, labels):
    """Says on standard error which labels those of a model, if they have no names, are taken for."""
    if kept and kept.as_task.is_generic and kept.labels != labels:
        print(f"note: {kept.source} gives the model's labels no names: they are taken for {', '.join(labels)}, in this "
              "order", file=sys.stderr)


def read_split(dataset, data_dir, split, tokenizer, max_seq_length, allow_unknown=False, windows=None):
    """The Examples of a split and their features; says what is odd about them on standard error.

    With `windows`, text_windows.Windows, long texts are read in these.
    """
    examples = classification.read_examples(dataset, data_dir, split, allow_unknown)
    notes = []
    if windows:
        features, counts, was_cut = text_windows.convert_examples_to_windows(
            examples, tokenizer, max_seq_length, windows, show_progress=True)
        if counts.max() > 1:
            notes.append(f"{np.count_nonzero(counts > 1):,} rows are longer than --max_seq_length={max_seq_length}: "
                         f"they are read in {counts[counts > 1].mean():.1f} windows each, at most {counts.max()}")
        if was_cut.any():
            notes.append(f"{np.count_nonzero(was_cut):,} rows are cut, they do not fit into {windows.most} windows or "
                         "their first text is too long")
    else:
        features = classification.convert_examples_to_features(examples, tokenizer, max_seq_length, show_progress=True)
    if examples.num_broken:
        notes.append(f"{examples.num_broken:,} rows have too few columns and are left out")
    if examples.num_empty:
        notes.append(f"{examples.num_empty:,} rows have an empty text")
    cut = None if windows else classification.count_cut(examples, tokenizer, max_seq_length)
    if cut and cut.num_examples:
        notes.append(f"{cut.num_examples:,} rows are longer than --max_seq_length={max_seq_length}: "
                     f"{cut.num_pieces:,} of all {cut.all_pieces:,} pieces are cut off")
    if examples.num_unknown:
        notes.append(f"{examples.num_unknown:,} rows have a label that training lacks, and count as wrong (--strict "
                     "refuses them)")
    if examples.num_garbled:
        notes.append(garbled_note(examples.num_garbled))
    for note in notes:
        print(f"{split}: {len(examples):,} rows; {note}", file=sys.stderr)
    return examples, features
