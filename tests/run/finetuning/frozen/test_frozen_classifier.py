"""Classification and regression of texts and pairs on frozen features: training, embeddings, evaluation, the table."""

import json
import random

import numpy as np
import pytest

from bert_tf import models
from bert_tf.checkpoints import checkpoint_files, load_pretrained
from bert_tf.cli import run_state
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from run.evaluation import results
from run.finetuning import frozen_model, job
from run.finetuning import frozen_table as table
from run.finetuning.frozen_task import FROZEN_TASKS
from run.tasks import ClassifierTask
from tests import scripts

WORDS = ("the", "debugger", "line", "word", "number", "at")
FLAGS = {"task_name": "own", "max_seq_length": 16, "train_batch_size": 12, "lstm_width": 9, "lstm_dropout": 0.0,
         "frozen_epochs": 20.0, "frozen_learning_rate": 0.05, "frozen_features": "weighted_sum_last_four"}
SCORES = {"eval_accuracy": 0.75, "eval_accuracy_std": 0.01, "eval_loss": 0.5, "eval_macro_f1": 0.5, "loss": 0.5}


@pytest.fixture(scope="module")
def data(folder):
    """Texts with the label "stops" if they contain the word, and pairs with the number of it in the second text.

    The development and test data are part of the training data.
    """
    rng, rows = random.Random(3), []
    for _ in range(96):
        first, second = (rng.choices((*WORDS, "stops"), k=rng.randint(1, 3)) for _ in range(2))
        rows.append((" ".join(first), " ".join(second), "stops" if "stops" in first else "other",
                     str(second.count("stops"))))
    for split, chosen in (("train", rows), ("dev", rows[:24]), ("test", rows[24:32])):
        lines = ("\t".join(row) for row in [("text", "second", "label", "number"), *chosen])
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module", autouse=True)
def one_layer():
    """Removes a layer of the BiLSTM, which halves the time to trace it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frozen_model, "NUM_LAYERS", 1)
        yield


def run(folder, output_dir, **flags):
    scripts.run_here("run.run_classifier", **{
        "init_checkpoint": folder / "model", "data_dir": folder, "output_dir": folder / output_dir,
        "vectors_dir": folder / "text_vectors", **FLAGS, **flags})
    path = folder / output_dir / "eval_results.txt"
    return {name: float(value) for name, value in (line.split(" = ") for line in path.read_text().splitlines())}


@pytest.fixture(scope="module")
def pairs(data):
    """The results of a regression of pairs."""
    return run(data, "pairs", text_b_column="second", label_column="number", regression=True, do_train=True,
               do_eval=True, do_predict=True)


def test_a_classifier_of_texts_learns_and_predicts(data, capsys):
    scores = run(data, "texts", do_train=True, do_eval=True, do_predict=True)
    assert scores["eval_accuracy"] > 0.8
    assert scores["global_step"] == 160
    probabilities = np.loadtxt(data / "texts" / "test_results.tsv")
    assert probabilities.shape == (8, 2)
    texts = [line.split("\t")[0] for line in (data / "test.tsv").read_text().splitlines()[1:]]
    assert (probabilities[:, 1] > 0.5).tolist() == ["stops" in text.split() for text in texts]
    assert json.loads((data / "texts" / "task.json").read_text())["kind"] == "frozen_classifier"
    assert "tokens of the train file" in capsys.readouterr().out
    assert run(data, "texts", do_eval=True) == scores
    assert "reusing the features of the dev file" in capsys.readouterr().out


def test_a_regression_of_pairs_learns(data, pairs):
    assert pairs["eval_pearson"] > 0.8
    assert pairs["eval_spearman"] > 0.6
    assert np.loadtxt(data / "pairs" / "test_results.tsv").shape == (8,)


@pytest.mark.usefixtures("pairs")
def test_vectors_of_a_pair_equal_the_encoder_outputs_of_all_tokens(data):
    encoder = models.BertEncoder(BertConfig.from_json_file(data / "model" / "bert_config.json"))
    load_pretrained(encoder, str(data / "model"))
    rows = [line.split("\t") for line in (data / "train.tsv").read_text().splitlines()[1:]]
    features = BertTokenizer(str(data / "model" / "vocab.txt")).encode(
        [first for first, *_ in rows], [second for _, second, *_ in rows], 16)
    assert features["segment_ids"].numpy().any()
    expected = encoder(features)["encoder_outputs"][2].numpy()[features["input_mask"].numpy() > 0]
    places = {json.loads(path.read_text())["tokens"]: path.parent for path in data.glob("text_vectors/*/vectors.json")}
    np.testing.assert_allclose(np.load(places[len(expected)] / "layer_3.npy"), expected, atol=5e-3)


def test_a_run_without_a_model(data):
    with pytest.raises(InputError, match=r"`output_dir`=.*/never: contains no classifier trained on frozen features; "):
        run(data, "never", do_eval=True)


def test_long_texts_are_not_read_in_windows(data):
    for used in ("frozen_features", "all_features"):
        features = {"frozen_features": None, used: "last" if used == "frozen_features" else True}
        with pytest.raises(InputError, match=f"^`long_texts`=windows: cannot be combined with `{used}`$"):
            run(data, "windows", long_texts="windows", do_train=True, do_eval=True, **features)


def test_the_table_compares_classifiers(data, monkeypatch, tmp_path, capsys):
    trained = []

    def run_task(task_class, settings, techniques):
        trained.append((task_class, settings.training.output_dir.rpartition("/")[2]))
        (tmp_path / "out" / trained[-1][1]).mkdir(parents=True)
        results.write_results(f"{settings.training.output_dir}/eval_results.txt", SCORES)
        return type("Tuned", (), {"free": lambda self: None})()

    monkeypatch.setattr(job, "run_task", run_task)
    monkeypatch.setattr(table, "KINDS", ("last",))
    flags = {**FLAGS, "init_checkpoint": data / "model", "data_dir": data, "output_dir": tmp_path / "out",
             "do_train": True, "do_eval": True, "frozen_features": None, "all_features": True}
    scripts.run_here("run.run_classifier", **flags)
    assert trained == [(ClassifierTask, "fine_tuned"), (FROZEN_TASKS["classifier"], "last")]
    assert (tmp_path / "out" / "table.tsv").read_text().splitlines() == [
        "features\teval_accuracy\teval_accuracy_std\teval_loss\teval_macro_f1",
        "fine_tuned\t0.75\t0.01\t0.5\t0.5", "last\t0.75\t0.01\t0.5\t0.5"]
    assert "eval_accuracy  eval_loss  eval_macro_f1" in capsys.readouterr().out
    settings = json.loads((tmp_path / "out" / "table.json").read_text())
    assert settings["data_dir"] == run_state.fingerprint([str(data / f"{split}.tsv") for split in ("train", "dev")])
    assert settings["init_checkpoint"] == run_state.fingerprint(checkpoint_files(str(data / "model")), is_complete=True)
    assert settings["task_name"] == "own"
    scripts.run_here("run.run_classifier", **flags)
    assert len(trained) == 2
    with pytest.raises(InputError, match="contains a run with `label_column` label, not second; choose another dir"):
        scripts.run_here("run.run_classifier", **flags, label_column="second")


def test_a_table_without_a_data_file(data, tmp_path):
    (tmp_path / "train.tsv").write_bytes((data / "train.tsv").read_bytes())
    with pytest.raises(InputError, match=r"dev\.tsv: does not exist or is not a file"):
        run(data, "no_dev", data_dir=tmp_path, do_train=True, do_eval=True, frozen_features=None, all_features=True)
    assert not (data / "no_dev").exists()
