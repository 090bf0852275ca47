"""A label for each word (section 5.3 of the paper: named entities; parts of speech)."""

import itertools
import os
import sys

from seqeval import metrics as entity_metrics
from sklearn import metrics

from bert_tf.errors import InputError
from bert_tf.files import garbled_note, new_file
from bert_tf.model_folder.task_metadata import TaskMetadata
from data_prep.tasks import tagging
from run.evaluation import plots
from run.finetuning.task import FineTuningTask
from run.finetuning.task_settings import TaggingSettings

NO_ENTITIES = "neither the labels nor the predictions hold an entity\n"


class Tagging(FineTuningTask):
    """The task of TaggingSettings."""

    kind = TaggingSettings.kind

    def read(self, tokenizer, ignore_padding):
        """See FineTuningTask."""
        task = self.settings.task
        self._sentences = {}
        for split in self.settings.tuning.splits:
            label_column = None if split == "test" else task.label_column
            self._sentences[split] = tagging.read_sentences(
                getattr(task, f"{split}_file"), task.token_column, label_column)
        is_new = self.kept is None and "train" in self._sentences
        self._names = tagging.label_names(self._sentences["train"]) if is_new else self._kept_labels()
        for split, sentences in self._sentences.items():
            self.features[split] = convert_split(
                split, sentences, self._names, tokenizer, self.settings.tokenizer.max_seq_length,
                allow_unknown=split == "dev" and not task.strict, document_context=task.document_context)

    def _kept_labels(self):
        """The label names of the model that is used without training; InputError if there is no tagger."""
        if self.kept is None:
            raise InputError(f"`output_dir`={self.settings.training.output_dir}: holds no tagger; train first, or give "
                             "`init_checkpoint` of one")
        return self.kept.labels

    @property
    def metadata(self):
        return TaskMetadata(self.kind, self.settings.tokenizer.max_seq_length, self.settings.tokenizer.do_lower_case,
                            self._names, strip_accents=self.settings.tokenizer.strip_accents)

    @property
    def training_files(self):
        return {"train_file": [self.settings.task.train_file]}

    @property
    def metric(self):
        return "eval_f1" if self._are_entities else "eval_accuracy"

    def check_packs(self):
        pass

    def score(self, outputs):
        """Of entities F1, precision and recall by seqeval; of other labels accuracy and macro F1."""
        labels, predicted = self._sentences["dev"].labels, self._predicted("dev", outputs)
        words = _flat(labels), _flat(predicted)
        loss = float(self.loss(outputs, self.features["dev"])["loss"])
        scores = {"eval_accuracy": metrics.accuracy_score(*words), "eval_loss": loss, "loss": loss}
        if not self._are_entities:
            return {**scores, "eval_macro_f1": metrics.f1_score(*words, average="macro", zero_division=0)}
        return {**scores, **{
            f"eval_{name}": float(getattr(entity_metrics, f"{name}_score")(labels, predicted, zero_division=0))
            for name in ("f1", "precision", "recall")}}

    def decisions(self, outputs):
        """Of each word its label."""
        return _flat(self._predicted("dev", outputs))

    def report(self, outputs, folder):
        """Writes eval_report.txt, the scores of each type or label, and confusion.png, of the labels of words."""
        labels, predicted = self._sentences["dev"].labels, self._predicted("dev", outputs)
        with new_file(os.path.join(folder, "eval_report.txt")) as file:
            file.write(self._scores_by_label(labels, predicted))
        label_ids = self.features["dev"]["label_ids"]
        is_known = label_ids >= 0
        plots.confusion_matrix(os.path.join(folder, "confusion.png"), label_ids[is_known],
                               outputs["logits"].argmax(axis=-1)[is_known], self._names)

    def predict(self, predictor, eval_outputs, folder):
        """Writes test_predictions.txt: the test file with the predicted label in one column more."""
        outputs = predictor(self.features["test"], self.settings.tuning.predict_batch_size)
        path, sentences = os.path.join(folder, "test_predictions.txt"), self._sentences["test"]
        tagging.write_predictions(path, sentences, self._predicted("test", outputs))
        print(f"{path}: {sentences.num_words:,} words, the predicted label in the last column")

    def _predicted(self, split, outputs):
        """What outputs, logits [rows, S, labels], say of each word, a list of str a sentence; valid IOB2."""
        ids = tagging.of_words(outputs["logits"].argmax(axis=-1), self.features[split]["label_ids"])
        labels = tagging.by_sentence([self._names[id_] for id_ in ids], self._sentences[split])
        return [tagging.to_iob2(each) for each in labels] if self._are_entities else labels

    def _scores_by_label(self, labels, predicted):
        """A table of precision, recall and F1 as text."""
        if not self._are_entities:
            return metrics.classification_report(_flat(labels), _flat(predicted), digits=4, zero_division=0)
        if {*_flat(labels), *_flat(predicted)} <= {tagging.OUTSIDE}:  # of which seqeval can make no table
            return NO_ENTITIES
        return entity_metrics.classification_report(labels, predicted, digits=4, zero_division=0)

    @property
    def _are_entities(self):
        return tagging.are_entity_labels(self._names)


def convert_split(split, sentences, names, tokenizer, max_seq_length, allow_unknown=False, document_context=False):
    """Features of a split's Sentences; says on standard error what is odd about them."""
    features, num_cut = tagging.convert_sentences_to_features(
        sentences, names, tokenizer, max_seq_length, allow_unknown, document_context)
    notes = f"{split}: {len(sentences):,} sentences, {sentences.num_words:,} words"
    if document_context:
        notes += f" in {len(features['input_ids']):,} windows of {len(set(sentences.documents)):,} documents"
    elif len(features["input_ids"]) > len(sentences):
        notes += (f" in {len(features['input_ids']):,} rows: what is longer than --max_seq_length={max_seq_length} is "
                  "divided")
    if num_cut:
        notes += f"; {num_cut:,} words alone are longer and lose their last pieces"
    if num_unknown := int((features["label_ids"] == tagging.UNKNOWN).sum()):
        notes += f"; {num_unknown:,} words have a label that training lacks, and count as wrong (--strict refuses them)"
    if sentences.num_garbled:
        notes += f"; {garbled_note(sentences.num_garbled)}"
    print(notes, file=sys.stderr)
    return features


def _flat(labels):
    """The labels of all words in one list."""
    return list(itertools.chain(*labels))
