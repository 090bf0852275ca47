"""Classification of sentences or sentence pairs by a label, several labels, or a number.

This includes GLUE, section 4.1 of the paper.
"""

import os

import numpy as np

from bert_tf import losses
from bert_tf.errors import InputError
from data_prep.datasets import published
from data_prep.datasets.types import CUSTOM, UNKNOWN_LABEL
from data_prep.tasks.classifier import ClassifierData
from run.finetuning.metrics import glue_scores, glue_submission
from run.finetuning.tasks.base import Task
from run.training import plots, results


class ClassifierTask(Task):
    """See Task."""

    data_class = ClassifierData
    kind = ClassifierData.settings_class.kind

    @property
    def _dataset(self):
        return self.data.dataset

    @property
    def metric(self):
        """See Task."""
        return f"eval_{self._dataset.metrics[0]}"

    @property
    def loss(self):
        """See Task."""
        if self.settings.task_settings.class_weights == "balanced" and "train" in self.features:
            labels = self.features["train"]["label_ids"]
            counts = np.maximum(np.bincount(labels, minlength=len(self.metadata.labels)), 1)
            return losses.create_weighted_classification_loss(
                (len(labels) / len(counts) / counts).tolist()
            )
        return self._equal_loss

    @property
    def _equal_loss(self):
        if self._dataset.regression:
            return losses.regression_loss
        return losses.multi_label_loss if self.metadata.multi_label else losses.classification_loss

    @property
    def logits_loss(self):
        """See Task."""
        if self._dataset.regression:
            return "number"
        return "sigmoid" if self.metadata.multi_label else "softmax"

    def average(self, outputs):
        """See Task. Averages numbers in regression."""
        return {
            "logits": glue_scores.average_logits(
                [each["logits"] for each in outputs], *self._label_form
            )
        }

    def score(self, outputs):
        """See Task. Examples whose label the training data lacks count as misclassified."""
        labels = self.features["dev"]["label_ids"]
        known = self._known_rows
        known_outputs = {name: value[known] for name, value in outputs.items()}
        predictions = glue_scores.to_predictions(outputs["logits"], *self._label_form)
        known_labels = labels[known]
        # There can be a column of unknown labels, which the model never predicts.
        if known_labels.ndim > 1:
            known_labels = known_labels[:, : predictions.shape[1]]
            predictions = np.pad(predictions, [(0, 0), (0, labels.shape[1] - predictions.shape[1])])
        loss = float(self._equal_loss(known_outputs, {"label_ids": known_labels})["loss"])
        if self._dataset.name != CUSTOM and not any(self._label_form):
            labels, predictions = (self._published_ids[ids] for ids in (labels, predictions))
        return {
            **glue_scores.score_predictions(self._dataset.metrics, labels, predictions),
            "eval_loss": loss,
            "loss": loss,
        }

    def decisions(self, outputs):
        """Returns the label, the labels, or the number of each row.

        Numbers are rounded to two digits after the decimal point.
        """
        predictions = glue_scores.to_predictions(outputs["logits"], *self._label_form)
        return (predictions.round(2) if self._dataset.regression else predictions).tolist()

    def report(self, outputs, folder):
        """Plots confusion.png if examples have one label each."""
        if not any(self._label_form):
            known = self._known_rows
            plots.confusion_matrix(
                os.path.join(folder, "confusion.png"),
                self.features["dev"]["label_ids"][known],
                outputs["logits"][known].argmax(axis=1),
                self._dataset.labels,
            )

    def predict(self, predictor, eval_outputs, folder):
        """Writes test_results.tsv: one row per example.

        A row has the probability of each label, or the number.

        For a task of GLUE, also writes the file for its server.
        """
        logits = predictor(self.features["test"], self.settings.tuning.predict_batch_size)["logits"]
        results.write_probabilities(folder, glue_scores.to_probabilities(logits, *self._label_form))
        if self._dataset.name in glue_submission.FILES:
            print(
                glue_submission.write(
                    folder,
                    self._dataset,
                    self.data.examples("test").guids,
                    glue_scores.to_predictions(logits, *self._label_form),
                )
            )

    def order_labels(self, labels):
        """See Task. Models of Hugging Face's hub have the label names of its datasets."""
        if self._dataset.name == CUSTOM:
            return labels
        try:
            return published.order_labels(self._dataset.name, self._dataset.labels, labels)
        except InputError:
            return labels

    @property
    def _known_rows(self):
        """Rows of the development data whose label the model knows: slice, or bool [n]."""
        labels = self.features["dev"]["label_ids"]
        return slice(None) if any(self._label_form) else labels != UNKNOWN_LABEL

    @property
    def _published_ids(self):
        """Published ID of each of the model's labels, int64 [labels].

        F1 refers to the label with ID 1.
        """
        labels = self._dataset.labels
        names = published.find_dataset(self._dataset.name).labels
        return np.array([names.index(label) for label in labels])

    @property
    def _label_form(self):
        """Tuple of bool: whether the label is a number, and whether a row may have several ones."""
        return self._dataset.regression, self._dataset.is_multi_label
