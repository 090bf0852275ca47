"""run.run_multiple_choice: a toy model learns from files of SWAG, and predicts for RACE."""

import csv
import json
import random

import numpy as np
import pytest

from bert_tf.config import BertConfig
from run.training.results import read_results
from tests import scripts
from tests.errors import check_message

pytestmark = pytest.mark.large

SCRIPT = "run.run_multiple_choice"
WORDS = ["he", "she", "eats", "drinks", "bread", "water", "stone", "cloud", "a", "and"]
FLAGS = {
    "bert_config_file": "bert_config.json",
    "vocab_file": "vocab.txt",
    "max_seq_length": 13,
    "random_seed": 5,
    "learning_rate": 1e-2,
}


def questions(number, seed):
    """Yields (sentence, beginning, four endings, label). Only the correct ending contains bread."""
    rng = random.Random(seed)
    for _ in range(number):
        endings = [rng.choice(["water", "stone", "cloud and water"]) for _ in range(4)]
        label = rng.randrange(4)
        endings[label] = rng.choice(["bread", "a bread and water", "bread and stone"])
        yield rng.choice(["he eats", "she drinks"]), rng.choice(["he", "she eats"]), endings, label


def write_swag(path, number, seed, with_labels=True):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        header = ["sent1", "sent2", *(f"ending{number}" for number in range(4))]
        writer.writerow([*header, "label"] if with_labels else header)
        for sentence, beginning, endings, label in questions(number, seed):
            row = [sentence, beginning, *endings]
            writer.writerow([*row, label] if with_labels else row)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with files of SWAG, and a finished run in out/."""
    folder = tmp_path_factory.mktemp("choice")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    config = BertConfig(
        len(pieces),
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
    write_swag(folder / "train.csv", 160, 1)
    write_swag(folder / "val.csv", 30, 2)
    write_swag(folder / "test.csv", 30, 2, with_labels=False)
    scripts.succeed(
        SCRIPT,
        folder,
        train_file="train.csv",
        dev_file="val.csv",
        test_file="test.csv",
        output_dir="out",
        do_train=True,
        do_eval=True,
        do_predict=True,
        train_batch_size=8,
        num_train_epochs=5.0,
        eval_steps=50,
        **FLAGS,
    )
    return folder


def test_the_rule_is_learned_and_probabilities_match_the_scores(folder):
    results = read_results(str(folder / "out" / "eval_results.txt"))
    assert results["eval_accuracy"] > 0.8  # 0.25 at random
    probabilities = np.loadtxt(folder / "out" / "test_results.tsv", delimiter="\t")
    assert probabilities.shape == (30, 4)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    labels = [label for *_, label in questions(30, 2)]
    assert (probabilities.argmax(axis=1) == labels).mean() == pytest.approx(
        results["eval_accuracy"]
    )
    assert -np.log(probabilities[np.arange(30), labels]).mean() == pytest.approx(
        results["eval_loss"], rel=1e-4, abs=2**-24
    )  # Resolution of float32 below 1.


def test_race_with_another_number_of_choices(folder):
    """The model does not depend on the number of choices.

    It is trained with four, and answers questions with three.
    """
    for number, (sentence, beginning, endings, label) in enumerate(questions(12, 3)):
        level = folder / "race" / ("high" if number % 2 else "middle")
        level.mkdir(parents=True, exist_ok=True)
        chosen = [
            endings[label],
            *(ending for each, ending in enumerate(endings) if each != label),
        ][:3]
        chosen = chosen[number % 3 :] + chosen[: number % 3]
        # One article is too long for a row.
        length = 20 if number == 7 else 0
        (level / f"{number}.txt").write_text(
            json.dumps(
                {
                    "article": sentence + " and" * length,
                    "questions": [f"{beginning} _"],
                    "options": [chosen],
                    "answers": ["ACB"[number % 3]],
                    "id": f"{number}.txt",
                }
            )
        )
    done = scripts.run_script(
        SCRIPT,
        folder,
        data_format="race",
        dev_file="race",
        test_file="race",
        output_dir="race_out",
        init_checkpoint="out",
        do_eval=True,
        do_predict=True,
        **FLAGS,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    check_message(
        done.stderr,
        None,
        "dev",
        "12 questions with 3 choices each",
        "3 choices are longer than --max_seq_length=13",
    )
    assert read_results(str(folder / "race_out" / "eval_results.txt"))["eval_accuracy"] > 0.7
    assert np.loadtxt(folder / "race_out" / "test_results.tsv", delimiter="\t").shape == (12, 3)
