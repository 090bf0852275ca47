"""Questions of which one of several choices is the answer (section 4.4 of the paper: SWAG; RACE)."""

import os
import sys

from bert_tf import files
from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.model_folder.task_metadata import TaskMetadata
from data_prep.tasks import classification, multiple_choice
from run.evaluation import metrics, plots, results
from run.finetuning.task import FineTuningTask
from run.finetuning.task_settings import MultipleChoiceSettings


class MultipleChoice(FineTuningTask):
    """The task of MultipleChoiceSettings."""

    kind = MultipleChoiceSettings.kind
    metric = "eval_accuracy"

    def read(self, tokenizer, ignore_padding):
        for split in self.settings.tuning.splits:
            self.features[split] = read_split(
                split, getattr(self.settings.task, f"{split}_file"), self.settings.task.data_format, tokenizer,
                self.settings.tokenizer.max_seq_length)

    @property
    def metadata(self):
        return TaskMetadata(
            self.kind, self.settings.tokenizer.max_seq_length, self.settings.tokenizer.do_lower_case,
            strip_accents=self.settings.tokenizer.strip_accents)

    @property
    def training_files(self):
        path = self.settings.task.train_file
        return {"train_file": paths.files_below(path) if files.is_dir(path) else [path]}

    def score(self, outputs):
        labels = self.features["dev"]["label_ids"]
        loss = float(self.loss(outputs, {"label_ids": labels})["loss"])
        predictions = metrics.predictions_of(outputs["logits"])
        return {**metrics.score(("accuracy",), labels, predictions), "eval_loss": loss, "loss": loss}

    def decisions(self, outputs):
        """Of each question its choice."""
        return metrics.predictions_of(outputs["logits"]).tolist()

    def report(self, outputs, folder):
        """Draws confusion.png, by the number of the choice."""
        logits = outputs["logits"]
        plots.confusion_matrix(os.path.join(folder, "confusion.png"), self.features["dev"]["label_ids"],
                               logits.argmax(axis=1), [str(number) for number in range(logits.shape[1])])

    def predict(self, predictor, eval_outputs, folder):
        """Writes test_results.tsv: a row for each question, a probability for each choice."""
        logits = predictor(self.features["test"], self.settings.tuning.predict_batch_size)["logits"]
        results.write_predictions(folder, metrics.probabilities_of(logits))


def read_split(split, path, data_format, tokenizer, max_seq_length):
    """The features of a split's questions; says on standard error what is odd about them.

    Raises:
      InputError: there are no answers to train or evaluate with.
    """
    questions = multiple_choice.READERS[data_format](path)
    if questions.labels is None and split != "test":
        raise InputError(f"`{split}_file`={path}: has no answers")
    features = multiple_choice.convert_questions_to_features(questions, tokenizer, max_seq_length, show_progress=True)
    pairs = questions.pairs()
    notes = [f"{split}: {len(questions):,} questions of {questions.num_choices} choices"]
    num_empty = sum(not text.strip() for text in questions.text_a + pairs.text_b)
    if num_empty:
        notes.append(f"{num_empty:,} texts are empty")
    cut = classification.count_cut(pairs, tokenizer, max_seq_length)
    if cut.num_examples:
        notes.append(f"{cut.num_examples:,} choices are longer than --max_seq_length={max_seq_length}: "
                     f"{cut.num_pieces:,} of all {cut.all_pieces:,} pieces are cut off")
    if questions.num_garbled:
        notes.append(files.garbled_note(questions.num_garbled))
    print("; ".join(notes), file=sys.stderr)
    return features
