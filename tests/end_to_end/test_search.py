"""A search that is killed and goes on, and what its folder is good for; and classifiers that start from others."""

import json
import pathlib

import numpy as np
import pytest

from bert_tf import models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.serving import checkpoint
from bert_tf.serving.settings import of_checkpoint
from tests import scripts
from tests.end_to_end.test_text_to_served_model import read_results

REFERENCE = pathlib.Path(__file__).parents[1] / "reference"
FLAGS = {"task_name": "own", "bert_config_file": "bert_config.json", "vocab_file": REFERENCE / "text" / "vocab.txt",
         "max_seq_length": 16, "random_seed": 7, "save_checkpoints_steps": 6}
BOTH = {"do_train": True, "do_eval": True}
SEARCH = {**FLAGS, **BOTH, "data_dir": "words", "search": True, "search_batch_sizes": 8,
          "search_learning_rates": "1e-6,3e-3", "search_epochs": 6, "output_dir": "searched"}
FIRST, SECOND = (pathlib.Path(f"searched/search/batch8_lr{rate}_epochs6") for rate in ("1e-06", "0.003"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a config and two tasks: words/ of two labels, which are words of the texts, and more/ of three."""
    folder = tmp_path_factory.mktemp("search")
    vocab_size = len((REFERENCE / "text" / "vocab.txt").read_text(encoding="utf-8").splitlines())
    config = BertConfig(vocab_size, 16, 1, 2, 24, max_position_embeddings=32, type_vocab_size=2,
                        hidden_dropout_prob=0.05, initializer_range=0.2)
    (folder / "bert_config.json").write_text(config.to_json())
    for task, labels in (("words", ("class", "function")), ("more", ("class", "function", "module"))):
        (folder / task).mkdir()
        rows = [f"{'the ' * (number % 5)}{word}\t{word}\n" for number in range(24) for word in labels]
        rows[3] = "the " * 30 + f"\t{labels[0]}\n"
        for split, chosen in (("train", rows), ("dev", rows[5:25]), ("test", rows[5:25])):
            (folder / task / f"{split}.tsv").write_text("text\tlabel\n" + "".join(chosen))
    return folder


@pytest.fixture(scope="module")
def searched(folder):
    """`folder` with a search in searched/ that was killed in its second trial and resumed; and the second process."""
    command = scripts.command("run.run_classifier", **SEARCH, iterations_per_loop=1)
    scripts.kill_when(command, folder, (folder / SECOND / "checkpoint").exists)
    kept = [folder / FIRST / name for name in ("trial.json", "training_log.csv", "run.json")]
    before = [path.stat().st_mtime_ns for path in kept]
    assert not (folder / SECOND / "trial.json").exists()
    done = scripts.run_script("run.run_classifier", folder, **SEARCH, do_predict=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert [path.stat().st_mtime_ns for path in kept] == before
    return done


def weights(folder):
    model = models.BertClassifier(BertConfig.from_json_file(folder.parent / "bert_config.json"), 2)
    load_pretrained(model, str(folder))
    return model.variables


@pytest.mark.timeout(180)  # with the search, of two processes
def test_a_killed_search_goes_on_where_it_was(searched):
    assert "trial 1 of 2" not in searched.stdout
    assert f"search: trial 2 of 2, {SECOND.name}\n{SECOND}: resuming at step " in searched.stdout
    assert searched.stderr.count("train: 48 rows;") == 1  # read and tokenized once, for all trials
    assert f"best of 2 trials by eval_accuracy: {SECOND}; searched has its weights" in searched.stdout


def test_its_best_trial_is_as_a_run_of_its_own(folder, searched):
    scripts.succeed("run.run_classifier", folder, **FLAGS, **BOTH, data_dir="words", output_dir="alone",
                    train_batch_size=8, learning_rate=3e-3, num_train_epochs=6)
    for ours, alone in zip(weights(folder / "searched"), weights(folder / "alone"), strict=True):
        np.testing.assert_array_equal(ours, alone, err_msg=ours.name)
    assert read_results(folder / "searched" / "eval_results.txt") == read_results(folder / "alone" / "eval_results.txt")
    lines = (folder / "searched" / "search" / "search.tsv").read_text().splitlines()
    assert [line.rsplit("\t", 1)[1] for line in lines] == ["folder", FIRST.name, SECOND.name]
    assert (folder / "searched" / "search" / "search.png").read_bytes().startswith(b"\x89PNG")


def test_its_folder_predicts_and_is_served_as_that_of_a_run(folder, searched):
    before = (folder / "searched" / "test_results.tsv").read_text()
    scripts.succeed("run.run_classifier", folder, **FLAGS, data_dir="words", output_dir="searched", do_predict=True)
    assert (folder / "searched" / "test_results.tsv").read_text() == before
    servable, card = checkpoint.load(of_checkpoint(str(folder / "searched")))
    assert card.labels == ("class", "function")
    assert servable.max_seq_length == 16


def test_what_does_not_go_together(folder, searched):
    plain = {**SEARCH, **dict.fromkeys(("search", "search_batch_sizes", "search_learning_rates", "search_epochs"))}
    assert "--output_dir=searched: holds a search; give --search to go on with it, or choose another folder" in (
        scripts.last_error("run.run_classifier", folder, **plain))
    for name in (FIRST, SECOND):  # of the first only its results are left: they count as much
        assert f"--output_dir={name}: holds a run with --random_seed 7, not 8; choose another folder" in (
            scripts.last_error("run.run_classifier", folder, **{
                **SEARCH, "random_seed": 8, "search_learning_rates": name.name.split("_")[1].removeprefix("lr")}))
    assert "--search=True: cannot be combined with --num_runs" in scripts.fail(
        "run.run_classifier", folder, **SEARCH, num_runs=2)
    assert "flag --search_epochs=2,x: " in scripts.fail(
        "run.run_classifier", folder, **{**SEARCH, "search_epochs": "2,x"})


def test_a_classifier_of_other_labels_starts_from_the_encoder(folder, searched):
    flags = {**FLAGS, "do_train": True, "data_dir": "more", "init_checkpoint": "searched", "output_dir": "transferred",
             "num_train_epochs": 0.5, "train_batch_size": 8, "learning_rate": 0.0}
    assert ("--keep_head: the head of --init_checkpoint=searched does not fit: it has 2 outputs, and this task needs 3"
            in scripts.last_error("run.run_classifier", folder, **flags, keep_head=True))
    assert not (folder / "transferred").exists()
    done = scripts.run_script("run.run_classifier", folder, **flags)
    assert done.returncode == 0, done.stderr[-3000:]
    assert ("--init_checkpoint=searched: the encoder is taken, the head is new; of the checkpoint's head: it has 2 "
            "outputs, and this task needs 3\n") in done.stdout
    model = models.BertClassifier(BertConfig.from_json_file(folder / "bert_config.json"), 3)
    load_pretrained(model, str(folder / "transferred"))
    for ours, theirs in zip(model.encoder.variables, weights(folder / "searched"), strict=False):
        np.testing.assert_array_equal(ours, theirs, err_msg=ours.name)  # at rate 0 all is as it started
    assert json.loads((folder / "transferred" / "task.json").read_text())["labels"] == ["class", "function", "module"]
    assert ("transferred: goes on with other settings than it was started with: --learning_rate 0.01 (was 0.0), "
            "--mixed_precision bfloat16 (was float32), --num_train_epochs 0.25 (was 0.5)\n") in scripts.succeed(
        "run.run_classifier", folder, **{**flags, "learning_rate": 0.01, "mixed_precision": "bfloat16",
                                         "num_train_epochs": 0.25})
