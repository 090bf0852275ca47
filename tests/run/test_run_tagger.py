"""run.run_tagger end to end: a toy model learns entities; scores equal those of seqeval."""

import json
import random
import re

import pytest
from seqeval import metrics as entity_metrics

from bert_tf.config import BertConfig
from data_prep.datasets import conll
from run.training.results import read_results
from tests import scripts

pytestmark = pytest.mark.large

SCRIPT = "run.run_tagger"
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "anna",
    "berg",
    "##s",
    "##en",
    "rome",
    "new",
    "york",
    "meets",
    "in",
    "and",
    ".",
]
FLAGS = {
    "bert_config_file": "bert_config.json",
    "vocab_file": "vocab.txt",
    "max_seq_length": 12,
    "random_seed": 3,
    "learning_rate": 1e-2,
}


def make_file(path, num_sentences, seed):
    """Writes sentences about persons and locations, some of several words or tokens."""
    parts = [
        "anna B-PER\nbergsen I-PER",
        "bergs B-PER",
        "rome B-LOC",
        "new B-LOC\nyork I-LOC",
        "meets O",
        "in O",
        "and O",
        "\x01 O",
    ]
    rng = random.Random(seed)
    sentences = [
        "\n".join([*rng.choices(parts, k=rng.randint(2, 9)), ". O"]) for _ in range(num_sentences)
    ]
    path.write_text("\n\n".join(["-DOCSTART- O", *sentences]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
    config = BertConfig(
        len(PIECES),
        16,
        1,
        2,
        24,
        max_position_embeddings=14,
        type_vocab_size=2,
        hidden_dropout_prob=0.05,
        initializer_range=0.2,
    )
    (folder / "bert_config.json").write_text(config.to_json())
    make_file(folder / "train.txt", 120, 1)
    make_file(folder / "dev.txt", 30, 2)
    words = [
        line.rsplit(" ", 1)[0] if line else ""
        for line in (folder / "dev.txt").read_text().splitlines()
    ]
    (folder / "test.txt").write_text("\n".join(words) + "\n")
    return folder


@pytest.fixture(scope="module")
def training_process(folder):
    """The finished process of a run in out/."""
    done = scripts.run_script(
        SCRIPT,
        folder,
        train_file="train.txt",
        dev_file="dev.txt",
        test_file="test.txt",
        output_dir="out",
        do_train=True,
        do_eval=True,
        do_predict=True,
        train_batch_size=8,
        num_train_epochs=6.0,
        eval_steps=40,
        **FLAGS,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.mark.usefixtures("training_process")
def test_entities_are_learned_and_every_word_has_a_prediction(folder):
    """The test file has the words of the development file.

    Its predictions have the reported scores.
    """
    dev = conll.read_sentences(str(folder / "dev.txt"), label_column=-1)
    predicted = conll.read_sentences(str(folder / "out" / "test_predictions.txt"), label_column=-1)
    assert predicted.words == dev.words
    assert [row.rsplit(" ", 1)[0] for row in predicted.rows[2:]] == [
        row.rsplit(" ", 1)[0] for row in dev.rows[2:]
    ]
    assert predicted.rows[:2] == ["-DOCSTART- O", ""] == dev.rows[:2]
    results = read_results(str(folder / "out" / "eval_results.txt"))
    assert results["eval_f1"] > 0.8
    for name in ("f1", "precision", "recall", "accuracy"):
        expected = getattr(entity_metrics, f"{name}_score")(dev.labels, predicted.labels)
        assert results[f"eval_{name}"] == pytest.approx(expected)


def test_files_and_messages_of_a_run(folder, training_process):
    task = json.loads((folder / "out" / "task.json").read_text())
    assert (task["kind"], task["labels"]) == (
        "token_classifier",
        ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"],
    )
    report = (folder / "out" / "eval_report.txt").read_text().split()
    assert {"precision", "recall", "f1-score", "LOC", "PER", "micro"} <= set(report)
    assert (folder / "out" / "confusion.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(
        r"dev: 30 sentences, \d+ words in \d+ rows; "
        "sentences longer than --max_seq_length=12 are split",
        training_process.stderr,
    )
