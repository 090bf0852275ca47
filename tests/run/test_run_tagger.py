"""The tagger end to end at toy size, the loss by hand, and what is said of bad files."""

import json
import random
import re

import numpy as np
import pytest
from seqeval import metrics as entity_metrics

from bert_tf.cli.model_settings import TokenizerSettings
from bert_tf.config import BertConfig
from bert_tf.model_folder import task_metadata
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import conll, token_classifier
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.settings import TrainingSettings
from run.tasks import TokenClassifierTask
from tests import scripts
from tests.end_to_end.test_text_to_served_model import read_results

SCRIPT = "run.run_tagger"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "anna", "berg", "##s", "##en", "rome", "new", "york", "meets",
          "in", "and", "."]
FLAGS = {"bert_config_file": "bert_config.json", "vocab_file": "vocab.txt", "max_seq_length": 12, "random_seed": 3,
         "learning_rate": 1e-2}


def make_file(path, num_sentences, seed, scheme):
    """Sentences of persons and places, some over several words or pieces; `scheme`: IOB1 or IOBES."""
    parts = [("anna bergsen", "PER"), ("bergs", "PER"), ("rome", "LOC"), ("new york", "LOC"), ("meets", None),
             ("in", None), ("and", None), ("\x01", None)]
    rng = random.Random(seed)
    lines = ["-DOCSTART- -X- O O", ""]
    for _ in range(num_sentences):
        before = None
        for words, kind in rng.choices(parts, k=rng.randint(2, 9)):
            words = words.split()
            labels = ["O"] * len(words)
            if kind and scheme == "IOB1":
                labels = [f"{'B' if before == kind and not place else 'I'}-{kind}" for place in range(len(words))]
            elif kind:
                labels = [f"S-{kind}"] if len(words) == 1 else [f"B-{kind}", f"E-{kind}"]
            lines += [f"{word} X {label}" for word, label in zip(words, labels, strict=True)]
            before = kind
        lines += [". X O", ""]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
    config = BertConfig(len(PIECES), 16, 1, 2, 24, max_position_embeddings=14, type_vocab_size=2,
                        hidden_dropout_prob=0.05, initializer_range=0.2)
    (folder / "bert_config.json").write_text(config.to_json())
    make_file(folder / "train.txt", 120, 1, "IOB1")
    make_file(folder / "dev.txt", 30, 2, "IOBES")
    words = [line.rsplit(" ", 1)[0] if line else "" for line in (folder / "dev.txt").read_text().splitlines()]
    (folder / "test.txt").write_text("\n".join(words) + "\n")
    return folder


@pytest.fixture(scope="module")
def trained(folder):
    """`folder` with a run in out/; and the process that made it."""
    done = scripts.run_script(
        SCRIPT, folder, train_file="train.txt", dev_file="dev.txt", test_file="test.txt", output_dir="out",
        do_train=True, do_eval=True, do_predict=True, train_batch_size=8, num_train_epochs=6.0, eval_steps=40, **FLAGS)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_the_entities_are_learned_and_every_word_has_its_prediction(folder, trained):
    """The predictions for the test file, whose words are the development file's, give the reported scores."""
    dev = conll.read_sentences(str(folder / "dev.txt"), label_column=-1)
    predicted = conll.read_sentences(str(folder / "out" / "test_predictions.txt"), label_column=-1)
    assert predicted.words == dev.words
    assert [row.rsplit(" ", 1)[0] for row in predicted.rows[2:]] == [row.rsplit(" ", 1)[0] for row in dev.rows[2:]]
    assert predicted.rows[:2] == ["-DOCSTART- -X- O O", ""] == dev.rows[:2]
    results = read_results(folder / "out" / "eval_results.txt")
    assert results["eval_f1"] > 0.8
    for name in ("f1", "precision", "recall", "accuracy"):
        expected = getattr(entity_metrics, f"{name}_score")(dev.labels, predicted.labels)
        assert results[f"eval_{name}"] == pytest.approx(expected)


def test_what_a_run_leaves(folder, trained):
    task = json.loads((folder / "out" / "task.json").read_text())
    assert (task["kind"], task["labels"]) == ("token_classifier", ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"])
    report = (folder / "out" / "eval_report.txt").read_text().split()
    assert {"precision", "recall", "f1-score", "LOC", "PER", "micro"} <= set(report)
    assert (folder / "out" / "confusion.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"dev: 30 sentences, \d+ words in \d+ rows: what is longer than --max_seq_length=12 is divided",
                     trained.stderr)


def test_a_model_that_was_trained_predicts_alone(folder, trained):
    before = (folder / "out" / "test_predictions.txt").read_text()
    scripts.succeed(SCRIPT, folder, test_file="test.txt", output_dir="out", do_predict=True, **FLAGS)
    assert (folder / "out" / "test_predictions.txt").read_text() == before


def test_plain_labels(folder):
    """Labels without prefixes are judged by accuracy: here the first letter of a word."""
    for split in ("train", "dev"):
        rows = [line.split(" ")[0] for line in (folder / f"{split}.txt").read_text().splitlines()]
        (folder / f"letters_{split}.txt").write_text(
            "".join(f"{'' if not row else row[0]}\t{row}\n" if row else "\n" for row in rows))
    scripts.succeed(SCRIPT, folder, train_file="letters_train.txt", dev_file="letters_dev.txt", token_column=1,
                    label_column=0, output_dir="letters", do_train=True, do_eval=True, train_batch_size=8,
                    num_train_epochs=3.0, **FLAGS)
    results = read_results(folder / "letters" / "eval_results.txt")
    assert results["eval_accuracy"] > 0.8
    assert 0 < results["eval_macro_f1"] <= 1
    assert "eval_f1" not in results
    assert "macro" in (folder / "letters" / "eval_report.txt").read_text()


def test_a_search(folder):
    output = scripts.succeed(
        SCRIPT, folder, train_file="train.txt", dev_file="dev.txt", test_file="test.txt", output_dir="searched",
        do_train=True, do_eval=True, do_predict=True, search=True, search_batch_sizes=8,
        search_learning_rates=1e-2, search_epochs=0.5, **{**FLAGS, "learning_rate": None})
    trial = "searched/search/batch8_lr0.01_epochs0.5"
    assert f"best of 1 trials by eval_f1: {trial}; searched has its weights\n" in output
    assert read_results(folder / "searched" / "eval_results.txt") == read_results(folder / trial / "eval_results.txt")
    assert {"test_predictions.txt", "eval_report.txt", "task.json"} <= {
        path.name for path in (folder / "searched").iterdir()}


@pytest.mark.parametrize(("flags", "message"), [
    ({"train_file": None}, "--train_file is required with --do_train"),
    ({"dev_file": "."}, "--dev_file=.: is a directory, a file is needed"),
])
def test_mistakes(folder, flags, message):
    given = {"train_file": "train.txt", "dev_file": "dev.txt", "output_dir": "never", "do_train": True, "do_eval": True}
    assert message in scripts.fail(SCRIPT, folder, **FLAGS, **{**given, **flags})


def test_labels_of_a_model_that_is_to_be_used(tmp_path):
    (tmp_path / "dev.txt").write_text("one O\n")
    settings = FineTuningSettings(
        training=TrainingSettings(output_dir=str(tmp_path / "out")), tuning=TuningSettings(do_eval=True),
        task=token_classifier.Settings(dev_file=str(tmp_path / "dev.txt")))
    with pytest.raises(ValueError, match=r"`output_dir`=.*out: holds no tagger; train first, or give `init"):
        TokenClassifierTask(settings, None).read(None, ignore_padding=False)


def test_a_model_that_finds_no_entity_where_there_is_none(tmp_path, reference):
    (tmp_path / "dev.txt").write_text("one O\ntwo O\n\nthree O\n")
    kept = task_metadata.TaskMetadata("token_classifier", 7, True, ("O", "B-X", "I-X"))
    settings = FineTuningSettings(tuning=TuningSettings(do_eval=True),
                                  task=token_classifier.Settings(dev_file=str(tmp_path / "dev.txt")))
    tagging_task = TokenClassifierTask(settings, kept)
    tagging_task.read(BertTokenizer(str(reference / "text" / "vocab.txt")), ignore_padding=False)
    rows, length = tagging_task.eval_features["input_ids"].shape
    outputs = {"logits": np.tile(np.float32([3, 1, 2]), [rows, length, 1])}
    assert tagging_task.score(outputs)["eval_f1"] == 0
    tagging_task.report(outputs, str(tmp_path))
    assert (tmp_path / "eval_report.txt").read_text() == "neither the labels nor the predictions hold an entity\n"


def test_predictions_with_document_context_are_those_of_the_words(tmp_path, reference):
    """Of each word the scores in one window count: others say something else of it."""
    (tmp_path / "dev.txt").write_text("-DOCSTART- O\n\n" + "the O\nfirst B-X\nline I-X\n\nstops O\n\n" * 4
                                      + "-DOCSTART- O\n\nnumber B-X\n")
    settings = FineTuningSettings(
        tuning=TuningSettings(do_eval=True), tokenizer=TokenizerSettings(max_seq_length=9),
        task=token_classifier.Settings(dev_file=str(tmp_path / "dev.txt"), document_context=True))
    task = TokenClassifierTask(settings, task_metadata.TaskMetadata("token_classifier", 9, True, ("O", "B-X", "I-X")))
    task.read(BertTokenizer(str(reference / "text" / "vocab.txt")), ignore_padding=False)
    label_ids = task.eval_features["label_ids"]
    assert len(label_ids) > 3
    assert ((task.eval_features["input_mask"].sum(axis=1) - 2) > (label_ids >= 0).sum(axis=1)).any()
    scores = task.score({"logits": np.eye(3, dtype=np.float32)[np.where(label_ids < 0, 1, label_ids)]})
    assert (scores["eval_f1"], scores["eval_accuracy"]) == (1, 1)


def test_predictions_are_the_test_file_with_one_more_column(tmp_path, reference):
    """As it stands, in IOB1; "first line" is one entity, "stops" and "here" two of one type."""
    content = "-DOCSTART- O\n\nthe O\nfirst I-X\nline I-X\n\n\nstops I-X\nhere B-X\n"
    (tmp_path / "test.txt").write_text(content)
    settings = FineTuningSettings(
        tuning=TuningSettings(do_predict=True), tokenizer=TokenizerSettings(max_seq_length=9),
        task=token_classifier.Settings(test_file=str(tmp_path / "test.txt")))
    task = TokenClassifierTask(settings, task_metadata.TaskMetadata("token_classifier", 9, True, ("O", "B-X", "I-X")))
    task.read(BertTokenizer(str(reference / "text" / "vocab.txt")), ignore_padding=False)
    labels = np.full(task.features["test"]["label_ids"].shape, conll.IGNORED)
    labels[task.features["test"]["label_ids"] != conll.IGNORED] = [0, 1, 2, 1, 1]

    task.predict(lambda *_: {"logits": np.eye(3, dtype=np.float32)[labels]}, None, str(tmp_path))

    assert (tmp_path / "test_predictions.txt").read_text() == "".join(
        f"{row} {row.split()[1]}\n" if row else "\n" for row in content.splitlines())
