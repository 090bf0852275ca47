"""Multiple choice: questions with one correct choice of several (section 4.4 of the paper: SWAG.

RACE).
"""

import os

from bert_tf import losses
from data_prep.tasks.multiple_choice import MultipleChoiceData
from run.finetuning.metrics import glue_scores
from run.finetuning.tasks.base import Task
from run.training import plots, results


class MultipleChoiceTask(Task):
    """See Task."""

    data_class = MultipleChoiceData
    kind = MultipleChoiceData.settings_class.kind
    metric = "eval_accuracy"
    loss = losses.classification_loss
    logits_loss = "softmax"

    def score(self, outputs):
        """See Task."""
        labels = self.features["dev"]["label_ids"]
        loss = float(self.loss(outputs, {"label_ids": labels})["loss"])
        predictions = glue_scores.to_predictions(outputs["logits"])
        return {
            **glue_scores.score_predictions(("accuracy",), labels, predictions),
            "eval_loss": loss,
            "loss": loss,
        }

    def decisions(self, outputs):
        """Returns the choice for each question."""
        return glue_scores.to_predictions(outputs["logits"]).tolist()

    def report(self, outputs, folder):
        """Plots confusion.png by the number of the choice."""
        logits = outputs["logits"]
        plots.confusion_matrix(
            os.path.join(folder, "confusion.png"),
            self.features["dev"]["label_ids"],
            logits.argmax(axis=1),
            [str(number) for number in range(logits.shape[1])],
        )

    def predict(self, predictor, eval_outputs, folder):
        """Writes test_results.tsv: one row per question with the probability of each choice."""
        logits = predictor(self.features["test"], self.settings.tuning.predict_batch_size)["logits"]
        results.write_probabilities(folder, glue_scores.to_probabilities(logits))
