"""run_classifier on a custom file: training, class weights, evaluation of the result, and hints."""

import csv
import re

import numpy as np
import pytest

from bert_tf import models
from tests import scripts, toy_runs
from tests.errors import Message, check_message, raises_message, rejects

pytestmark = pytest.mark.large

SCRIPT = "run.run_classifier"
FLAGS = {
    "init_checkpoint": "model",
    "max_seq_length": 16,
    "train_batch_size": 8,
    "learning_rate": 5e-3,
}


@pytest.fixture(scope="module", autouse=True)
def folder(working_folder, reference):
    """The current directory, with a model and mail.csv.

    A fifth of its 80 rows have the label spam.
    """
    toy_runs.write(
        working_folder,
        reference,
        {"model": (None, lambda config: models.BertEncoder(config, seed=3))},
    )
    with open(working_folder / "mail.csv", "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "Message", "Category"])
        for number in range(80):
            writer.writerow(
                [number, "the line\nstops", "ham"]
                if number % 5
                else [number, 'a word, "here"', "spam"]
            )
    return working_folder


def test_a_file_is_trained_on_and_evaluated(folder, capsys):
    scripts.run_here(
        SCRIPT,
        data_file="mail.csv",
        output_dir="out",
        do_train=True,
        do_eval=True,
        num_train_epochs=16,
        **FLAGS,
    )
    out, err = capsys.readouterr()
    columns, split = err.splitlines()[:2]
    check_message(
        columns,
        "mail.csv",
        "80 rows",
        "texts: Message",
        "labels: Category",
        "ham (64), spam (16)",
    )
    check_message(split, None, "72 rows", "8 for development", "(--dev_fraction=0.1)")
    assert re.search(
        r"^eval_accuracy = 1\neval_loss = [\d.e-]{5,9}\neval_macro_f1 = 1\nglobal_step = 144$",
        out,
        re.M,
    )
    assert out.splitlines()[-2:] == [
        "to predict: python -m run.predict --model=out --input_file=texts.txt "
        "--output_file=predictions.jsonl",
        "to serve:   python -m run.export_saved_model --init_checkpoint=out --export_dir=export",
    ]
    assert (folder / "out" / "loss.png").exists()

    before = (folder / "out" / "eval_results.txt").read_text()
    assert re.search(r"^loss = \d\.\d{8,}", before, re.M)
    scripts.run_here(
        SCRIPT, data_file="mail.csv", output_dir="out", do_eval=True, max_seq_length=16
    )
    assert (folder / "out" / "eval_results.txt").read_text() == before

    (folder / "texts.txt").write_text("a word, here\nthe line\n")
    scripts.run_here(
        "run.predict", model="out", input_file="texts.txt", output_file="predictions.jsonl"
    )
    assert re.findall('"label": "(\\w+)"', (folder / "predictions.jsonl").read_text()) == [
        "spam",
        "ham",
    ]
    with rejects(None, "contains a run with `class_weights` none", "not balanced"):
        scripts.run_here(
            SCRIPT,
            data_file="mail.csv",
            output_dir="out",
            do_train=True,
            class_weights="balanced",
            **{**FLAGS, "num_train_epochs": 17},
        )


def test_the_next_commands_name_the_evaluated_weights(folder, capsys):
    for learning_rate, output_dir in ((1e-2, "rises"), (0.0, "stays")):
        scripts.run_here(
            SCRIPT,
            data_file="mail.csv",
            output_dir=output_dir,
            do_train=True,
            do_eval=True,
            eval_steps=3,
            num_train_epochs=2,
            **FLAGS | {"learning_rate": learning_rate},
        )
        out, _ = capsys.readouterr()
        is_last = "global_step = 18" in out
        assert learning_rate or not is_last  # The first of equal scores is the best.
        model = output_dir if is_last else f"{output_dir}/best"
        assert out.splitlines()[-2].startswith(
            f"to predict: python -m run.predict --model={model} --input_file"
        )
    with rejects("output_dir", "contains the best weights", "in best", value="stays"):
        scripts.run_here(
            SCRIPT,
            data_file="mail.csv",
            output_dir="stays",
            do_train=True,
            do_eval=True,
            num_train_epochs=3,
            **FLAGS,
        )


def test_class_weights_make_rare_labels_count_as_much(folder):
    """The weights of the first step's loss are 36/29 for ham and 36/7 for spam in 72 rows.

    The losses of both labels begin alike.
    """
    losses = {}
    for name in ("none", "balanced"):
        scripts.run_here(
            SCRIPT,
            data_file="mail.csv",
            output_dir=name,
            do_train=True,
            class_weights=name,
            num_train_epochs=4,
            log_steps=36,
            **FLAGS,
        )
        with open(folder / name / "training_log.csv", newline="") as file:
            losses[name] = float(next(csv.DictReader(file))["loss"])
    assert abs(losses["balanced"] / losses["none"] - 1) > 0.01


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"init_checkpoint": "google-bert/bert-base-cased"},
            Message(
                "init_checkpoint",
                "does not exist",
                "to download a model",
                "hf download google-bert/bert-base-cased --local-dir bert-base-cased",
                value="google-bert/bert-base-cased",
            ),
        ),
        (
            {"init_checkpoint": "modle"},
            Message("init_checkpoint", "does not exist", "did you mean ./model?", value="modle"),
        ),
        (
            {"init_checkpoint": "model/bert_model.ckp"},
            Message(
                "init_checkpoint", "does not exist", "check the path", value="model/bert_model.ckp"
            ),
        ),
        (
            {"init_checkpoint": None},
            Message(
                "init_checkpoint",
                "is required",
                "`bert_config_file` and `vocab_file`",
                "to download a model",
                "hf download google-bert/bert-base-uncased --local-dir bert-base-uncased",
            ),
        ),
        ({"data_file": None}, Message("data_dir", "is required without `data_file`")),
    ],
)
def test_hints(flags, message):
    with raises_message(message):
        scripts.run_here(
            SCRIPT,
            **{"data_file": "mail.csv", "output_dir": "new", "do_train": True, **FLAGS, **flags},
        )


def test_weighted_losses():
    from bert_tf import losses

    outputs = {"logits": np.array([[2.0, 0.0], [0.0, 0.0]], np.float32)}
    features = {"label_ids": np.array([0, 1])}
    loss = losses.create_weighted_classification_loss([0.5, 3.0])
    expected = (0.5 * np.log1p(np.exp(-2.0)) + 3 * np.log(2)) / 2
    for each in (loss, losses.TotalLoss.from_config(loss.get_config())):
        np.testing.assert_allclose(each(outputs, features)["loss"], expected, rtol=1e-6)
