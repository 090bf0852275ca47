"""Token classification: a label for each word (section 5.3 of the paper: NER.

Part-of-speech tagging).
"""

import itertools
import os

from bert_tf import losses
from bert_tf.errors import InputError
from bert_tf.files import new_file
from data_prep.datasets import conll, tag_schemes
from data_prep.tasks import word_features
from data_prep.tasks.token_classifier import TokenClassifierData
from run.finetuning.tasks.base import Task
from run.training import plots

NO_ENTITIES = "neither the labels nor the predictions contain an entity\n"


class TokenClassifierTask(Task):
    """See Task."""

    data_class = TokenClassifierData
    kind = TokenClassifierData.settings_class.kind
    loss = losses.token_classification_loss
    logits_loss = "tokens"

    def read(self, tokenizer, padding):
        """See Task. Also raises InputError if there is no model to use."""
        if self.model_metadata is None and not self.settings.do_train:
            raise InputError(
                "contains no tagger; train first, or set `init_checkpoint` to a tagger",
                "output_dir",
                self.settings.training.output_dir,
            )
        return super().read(tokenizer, padding)

    @property
    def metric(self):
        """See Task."""
        return "eval_f1" if self._has_entities else "eval_accuracy"

    def score(self, outputs):
        """Computes F1, precision, and recall by seqeval for entities.

        Accuracy and macro F1 for other labels.
        """
        from seqeval import metrics as entity_metrics  # These take a second to import.
        from sklearn import metrics

        labels = self.data.examples("dev").labels
        predicted = self._predict_labels("dev", outputs)
        words = _flat(labels), _flat(predicted)
        loss = float(self.loss(outputs, self.features["dev"])["loss"])
        scores = {"eval_accuracy": metrics.accuracy_score(*words), "eval_loss": loss, "loss": loss}
        if not self._has_entities:
            return {
                **scores,
                "eval_macro_f1": metrics.f1_score(*words, average="macro", zero_division=0),
            }
        return {
            **scores,
            **{
                f"eval_{name}": float(
                    getattr(entity_metrics, f"{name}_score")(labels, predicted, zero_division=0)
                )
                for name in ("f1", "precision", "recall")
            },
        }

    def decisions(self, outputs):
        """Returns the label of each word."""
        return _flat(self._predict_labels("dev", outputs))

    def report(self, outputs, folder):
        """Writes the scores per type or label to eval_report.txt, and plots confusion.png.

        The plot shows the labels of words.
        """
        labels = self.data.examples("dev").labels
        predicted = self._predict_labels("dev", outputs)
        with new_file(os.path.join(folder, "eval_report.txt")) as file:
            file.write(self._scores_by_label(labels, predicted))
        label_ids = self.features["dev"]["label_ids"]
        is_known = label_ids >= 0
        plots.confusion_matrix(
            os.path.join(folder, "confusion.png"),
            label_ids[is_known],
            outputs["logits"].argmax(axis=-1)[is_known],
            self.data.labels,
        )

    def predict(self, predictor, eval_outputs, folder):
        """Writes the test file with the predicted labels.

        test_predictions.txt has an additional column. For a treebank, test_predictions.conllu has
        the predictions in the column of the labels.
        """
        outputs = predictor(self.features["test"], self.settings.tuning.predict_batch_size)
        path = os.path.join(folder, "test_predictions.txt")
        sentences = self.data.examples("test")
        labels = self._predict_labels("test", outputs)
        column = "the last column"
        if conll.is_treebank(sentences.path):
            path = os.path.join(folder, "test_predictions.conllu")
            column = f"the column {self.data.settings.treebank_column.upper()}"
        conll.write_tags(path, sentences, labels, self.data.settings.treebank_column)
        print(f"{path}: {sentences.num_words:,} words, with the predicted labels in {column}")

    def _predict_labels(self, split, outputs):
        """Returns the predicted label of each word from the logits.

        It is a list of str per sentence in valid IOB2.
        """
        ids = outputs["logits"].argmax(axis=-1)[
            self.features[split]["label_ids"] != word_features.IGNORED
        ]
        names = iter([self.data.labels[id_] for id_ in ids])
        labels = [
            list(itertools.islice(names, len(words))) for words in self.data.examples(split).words
        ]
        if not self._has_entities:
            return labels
        scheme = tag_schemes.find_scheme({*self.data.labels}) or tag_schemes.SCHEMES["IOBES"]
        return [tag_schemes.to_iob2(sentence, scheme) for sentence in labels]

    def _scores_by_label(self, labels, predicted):
        """Formats a table of precision, recall, and F1 as text."""
        from seqeval import metrics as entity_metrics
        from sklearn import metrics

        if not self._has_entities:
            return metrics.classification_report(
                _flat(labels), _flat(predicted), digits=4, zero_division=0
            )
        # Seqeval cannot create a table for these.
        if {*_flat(labels), *_flat(predicted)} <= {conll.OUTSIDE}:
            return NO_ENTITIES
        return entity_metrics.classification_report(labels, predicted, digits=4, zero_division=0)

    @property
    def _has_entities(self):
        return conll.are_entity_labels(self.data.labels)


def _flat(labels):
    """Returns the labels of all words in one list."""
    return list(itertools.chain(*labels))
