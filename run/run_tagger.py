"""Fine-tunes BERT to tag words: named entities as in CoNLL-2003 (section 5.3 of the paper), parts of speech.

  python -m run.run_tagger --train_file=train.txt --dev_file=valid.txt --test_file=test.txt --vocab_file=vocab.txt \\
      --bert_config_file=bert_config.json --init_checkpoint=bert_model.ckpt --do_lower_case=False --output_dir=ner \\
      --do_train --do_eval --do_predict
"""

import itertools
import os
import sys

from absl import flags

from bert_tf.cli import script
from bert_tf.errors import InputError
from bert_tf.files import new_file
from run.finetuning import dataset_flags, job, task_metadata
from run.settings import flags as driver_flags

FLAGS = flags.FLAGS


def define_flags():
    """Defines this script's flags."""
    job.define_flags()
    dataset_flags.define_flags("File of a word a line, columns divided by tabs or spaces, sentences by empty lines")
    flags.DEFINE_integer("token_column", 0, "Column of the word: 0 is the first, -1 the last.")
    flags.DEFINE_integer(
        "label_column", -1, "Column of the label, which --test_file need not have: entities in IOB1, IOB2 or IOBES, or "
                            "any other labels.")


def main(argv):
    """Checks the flags, then trains, evaluates and predicts."""
    del argv
    values = FLAGS.flag_values_dict()
    settings = job.Settings.of_flags(values)
    files = dataset_flags.wanted(values, settings)
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)
    strategy, tokenizer = job.prepare(values, settings, config)
    folder = job.results_dir(settings, strategy)

    from data_prep.tasks import tagging

    label_columns = {"train": FLAGS.label_column, "dev": FLAGS.label_column, "test": None}
    sentences = {split: tagging.read_sentences(path, FLAGS.token_column, label_columns[split])
                 for split, path in files.items()}
    names = tagging.label_names(sentences["train"]) if settings.do_train else kept_labels(settings)
    features = {split: convert(split, each, names, tokenizer, FLAGS.max_seq_length)
                for split, each in sentences.items()}
    job.keep_model_files(settings, strategy, config, FLAGS.vocab_file, task_metadata.Task(
        "token_classifier", FLAGS.max_seq_length, FLAGS.do_lower_case, names), {"train_file": [FLAGS.train_file]})
    judge = Judge(sentences["dev"], features["dev"], names) if settings.do_eval else None
    tuned = job.run(
        settings, strategy, config, task_model(names, judge),
        training_data=job.batches_of(features["train"], settings, strategy) if settings.do_train else None,
        num_train_steps=settings.num_train_steps(len(features["train"]["input_ids"])) if settings.do_train else 1,
        eval_features=features.get("dev"))
    if settings.do_eval:
        judge.report(tuned.eval_outputs, folder)
    if settings.do_predict:
        outputs = tuned.predictor(features["test"], settings.predict_batch_size)
        path = os.path.join(folder, "test_predictions.txt")
        tagging.write_predictions(path, sentences["test"],
                                  predicted_labels(outputs, sentences["test"], features["test"], names))
        print(f"{path}: {sentences['test'].num_words:,} words, the predicted label in the last column")


def kept_labels(settings):
    """The label names of the model that is to be used; InputError if it has none."""
    kept = job.kept_task(settings, "token_classifier")
    if kept:
        return kept.labels
    raise InputError(f"--output_dir={settings.output_dir}: holds no tagger; train first, or give --init_checkpoint of "
                     "one")


def convert(split, sentences, names, tokenizer, max_seq_length):
    """Features of a split's Sentences; says on standard error what is too long."""
    from data_prep.tasks import tagging

    features, num_cut = tagging.convert_sentences_to_features(sentences, names, tokenizer, max_seq_length)
    notes = f"{split}: {len(sentences):,} sentences, {sentences.num_words:,} words"
    if len(features["input_ids"]) > len(sentences):
        notes += (f" in {len(features['input_ids']):,} rows: what is longer than --max_seq_length={max_seq_length} is "
                  "divided")
    if num_cut:
        notes += f"; {num_cut:,} words alone are longer and lose their last pieces"
    print(notes, file=sys.stderr)
    return features


def task_model(names, judge):
    """The finetuning.TaskModel of a tagger; `judge` is None where there is no evaluation."""
    from bert_tf import losses, models
    from data_prep.tasks import tagging

    return job.TaskModel(
        make=lambda encoder: models.BertTokenClassifier(encoder, len(names)),
        loss=losses.token_classification_loss,
        score=judge and judge.score, metric="eval_f1" if tagging.are_entity_labels(names) else "eval_accuracy",
        per_position=True)


def predicted_labels(outputs, sentences, features, names):
    """What a model's outputs, logits [rows, S, labels], say of each word, a list of str a sentence; valid IOB2."""
    from data_prep.tasks import tagging

    ids = tagging.of_words(outputs["logits"].argmax(axis=-1), features["label_ids"])
    labels = tagging.by_sentence([names[id_] for id_ in ids], sentences)
    return [tagging.to_iob2(each) for each in labels] if tagging.are_entity_labels(names) else labels


class Judge:
    """Compares predictions for development data with its labels.

    Args:
      sentences: tagging.Sentences with labels.
      features: theirs.
      names: label names in the order of their ids.
    """

    def __init__(self, sentences, features, names):
        from data_prep.tasks import tagging

        self._sentences, self._features, self._names = sentences, features, names
        self._are_entities = tagging.are_entity_labels(names)

    def score(self, outputs):
        """Scores of a model's outputs, dict of name -> float: of entities F1, precision and recall by seqeval."""
        from seqeval import metrics as entity_metrics
        from sklearn import metrics

        from bert_tf import losses

        labels, predicted = self._sentences.labels, self._predicted(outputs)
        words = _flat(labels), _flat(predicted)
        loss = float(losses.token_classification_loss(outputs, self._features)["loss"])
        scores = {"eval_accuracy": metrics.accuracy_score(*words), "eval_loss": loss, "loss": loss}
        if not self._are_entities:
            return {**scores, "eval_macro_f1": metrics.f1_score(*words, average="macro", zero_division=0)}
        return {**scores, **{
            f"eval_{name}": float(getattr(entity_metrics, f"{name}_score")(labels, predicted, zero_division=0))
            for name in ("f1", "precision", "recall")}}

    def report(self, outputs, folder):
        """Writes eval_report.txt, the scores of each type or label, and confusion.png, of the labels of words."""
        from seqeval import metrics as entity_metrics
        from sklearn import metrics

        from data_prep.tasks import tagging
        from run.evaluation import plots

        labels, predicted = self._sentences.labels, self._predicted(outputs)
        if self._are_entities:
            text = entity_metrics.classification_report(labels, predicted, digits=4, zero_division=0)
        else:
            text = metrics.classification_report(_flat(labels), _flat(predicted), digits=4, zero_division=0)
        path = os.path.join(folder, "eval_report.txt")
        with new_file(path) as file:
            file.write(text)
        label_ids = self._features["label_ids"]
        plots.confusion_matrix(
            os.path.join(folder, "confusion.png"), tagging.of_words(label_ids, label_ids),
            tagging.of_words(outputs["logits"].argmax(axis=-1), label_ids), self._names)

    def _predicted(self, outputs):
        return predicted_labels(outputs, self._sentences, self._features, self._names)


def _flat(labels):
    """The labels of all words in one list."""
    return list(itertools.chain(*labels))


if __name__ == "__main__":
    script.run(main, define_flags)
