"""BiLSTMs on the embeddings of a frozen encoder: taggers, a regression, and a table.

The embeddings are stored, and runs resume.
"""

import csv
import json
import random
import signal

import numpy as np
import pytest

from bert_tf import models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from data_prep.datasets import conll
from data_prep.tasks import word_features
from run.feature_based import model as feature_model
from run.training.results import read_results
from tests import scripts, short_features, toy_runs
from tests.errors import Message, raises_message, rejects

TAGGER = {
    "features": "weighted_sum_last_four",
    "lstm_width": 9,
    "num_train_epochs": 60.0,
    "learning_rate": 0.05,
    "max_seq_length": 12,
    "train_batch_size": 12,
    "save_checkpoints_steps": 50,
}
STEPS = 120
WORDS = ["the O", "debugger B-TOOL", "stops O", "line B-PLACE", "word I-PLACE", "number O", "at O"]


@pytest.fixture(scope="module", autouse=True)
def one_layer():
    """Removes a layer of the BiLSTM, which halves the time to trace it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_model, "NUM_LAYERS", 1)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A directory with a model of four layers without a task, and labeled sentences."""
    folder = tmp_path_factory.mktemp("frozen")
    toy_runs.write(folder, reference, {"model": (None, models.BertEncoder)}, num_hidden_layers=4)
    rng = random.Random(1)
    sentences = [
        "".join(f"{row}\n" for row in rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(24)
    ]
    (folder / "train.txt").write_text(
        "\n".join(["-DOCSTART- O\n", *sentences[:9], "-DOCSTART- O\n", *sentences[9:]])
    )
    (folder / "dev.txt").write_text("\n".join(sentences[:7]))
    return folder


def run(folder, output_dir, **flags):
    """Trains a tagger, or with `task_name` another model; returns its scores."""
    files = (
        {}
        if "regression" in flags
        else {"train_file": folder / "train.txt", "dev_file": folder / "dev.txt"}
    )
    scripts.run_here(
        "run.run_feature_based",
        **{
            "init_checkpoint": folder / "model",
            "output_dir": folder / output_dir,
            "cache_dir": folder / "embeddings",
            **files,
            **TAGGER,
            **flags,
        },
    )
    return read_results(str(folder / output_dir / "eval_results.txt"))


@pytest.fixture(scope="module")
def scores(folder):
    return run(folder, "out", do_predict=True, test_file=folder / "dev.txt")


@pytest.mark.large
def test_it_learns_and_writes_the_files_of_a_tagger(folder, scores):
    assert scores["eval_f1"] > 0.7
    assert scores["global_step"] == STEPS
    predicted = conll.read_sentences(str(folder / "out" / "test_predictions.txt"), label_column=-1)
    dev = conll.read_sentences(str(folder / "dev.txt"), label_column=-1)
    assert predicted.words == dev.words
    right = np.mean(
        [
            one == two
            for rows in zip(predicted.labels, dev.labels, strict=True)
            for one, two in zip(*rows, strict=True)
        ]
    )
    assert right == pytest.approx(scores["eval_accuracy"])


@pytest.mark.extra_large
@pytest.mark.usefixtures("scores")
def test_embeddings_are_the_encoder_outputs_of_first_tokens(folder):
    """They are in the order of the file, although batches are sorted by length."""
    encoder = models.BertEncoder(BertConfig.from_json_file(folder / "model" / "bert_config.json"))
    load_pretrained(encoder, str(folder / "model"))
    sentences = conll.read_sentences(str(folder / "train.txt"), label_column=-1)
    tokenizer = BertTokenizer(str(folder / "model" / "vocab.txt"))
    features, _ = word_features.convert_sentences_to_features(
        sentences, conll.find_label_names(sentences), tokenizer, 12
    )
    outputs = encoder(
        {name: features[name] for name in ("input_ids", "input_mask", "segment_ids")}
    )["encoder_outputs"]
    expected = outputs[3].numpy()[features["label_ids"] != word_features.IGNORED]
    folders = {
        json.loads(path.read_text())["positions"]: path.parent
        for path in folder.glob("embeddings/*/values.json")
    }
    found = np.fromfile(folders[len(expected)] / "layer_4.bin", np.float16).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, atol=5e-3)


@pytest.mark.extra_large
@pytest.mark.usefixtures("scores")
def test_runs_with_other_settings_and_inputs(folder, reference):
    """The files of the other encoder have the same names and sizes."""
    (folder / "other").mkdir()
    toy_runs.write(
        folder / "other",
        reference,
        {"model": (None, lambda config: models.BertEncoder(config, seed=8))},
        num_hidden_layers=4,
    )
    with pytest.raises(InputError, match="contains a run with `init_checkpoint` of "):
        run(folder, "out", init_checkpoint=folder / "other" / "model")
    (folder / "filled").mkdir()
    (folder / "filled" / "notes.txt").write_text("a")
    with rejects(None, "is not empty", "has no feature_based.json to resume"):
        run(folder, "filled")
    count = lambda: len(list(folder.glob("embeddings/*/layer_4.bin")))
    before = count()
    with pytest.MonkeyPatch.context() as patch:  # Only the embeddings matter here.
        patch.setattr("run.training.loop.Run.train", lambda *_, **__: None)
        for number, flags in enumerate(
            (
                {},
                {"init_checkpoint": folder / "other" / "model"},
                {"max_seq_length": 5},
                {"document_context": True, "dev_file": folder / "train.txt"},
                {"mixed_precision": "bfloat16"},
            )
        ):
            run(folder, f"others_{number}", **flags)
            assert (count() > before) == bool(flags)
            before = count()


@pytest.mark.extra_large
def test_a_regression_of_pairs(folder):
    """The label of a pair is the number of "stops" in its second text.

    The development data are part of the training data.
    """
    rng = random.Random(3)
    rows = []
    for _ in range(96):
        first, second = (
            rng.choices(("the", "line", "word", "at", "stops"), k=rng.randint(1, 3))
            for _ in range(2)
        )
        rows.append((" ".join(first), " ".join(second), str(second.count("stops"))))
    for split, chosen in (("train", rows), ("dev", rows[:24]), ("test", rows[24:32])):
        lines = ("\t".join(row) for row in [("text", "second", "number"), *chosen])
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    flags = {
        "task_name": "custom",
        "data_dir": folder,
        "text_b_column": "second",
        "label_column": "number",
        "regression": True,
        "max_seq_length": 16,
        "num_train_epochs": 60,
        "do_predict": True,
    }
    found = run(folder, "pairs", **flags)
    assert found["eval_pearson"] > 0.8
    assert np.loadtxt(folder / "pairs" / "test_results.tsv").shape == (8,)


@pytest.mark.extra_large
def test_a_table_killed_in_the_second_run_of_a_row(folder, monkeypatch, capsys):
    flags = {
        **TAGGER,
        "features": "all",
        "num_runs": 2,
        "num_train_epochs": 20,
        "iterations_per_loop": 1,
        "save_checkpoints_steps": 4,
        "eval_batch_size": 1,
        "init_checkpoint": folder / "model",
        "train_file": folder / "train.txt",
        "dev_file": folder / "dev.txt",
    }
    killed = folder / "killed_table"
    status, errors = scripts.kill_when(
        scripts.command("tests.short_features", output_dir=killed, **flags),
        None,
        (killed / "last" / "run_2" / "checkpoint").exists,
    )
    assert status == -signal.SIGKILL, errors[-3000:]
    assert (killed / "embeddings" / "eval_results.txt").exists()
    assert not (killed / "last" / "eval_results.txt").exists()
    short_features.shorten(monkeypatch.setattr)
    scripts.run_here("run.run_feature_based", output_dir=killed, **flags)
    with (killed / "table.tsv").open() as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header[:2] == ["features", "eval_f1"]
    assert "eval_f1_std" in header
    assert [row[0] for row in rows] == ["embeddings", "last"]
    output = capsys.readouterr().out
    assert "reusing the embeddings of the train data" in output
    assert len(list(killed.glob("*/run_*/eval_results.txt"))) == 4
    assert not list(killed.glob("*/run_*/ckpt-*"))
    finished = (killed / "last" / "run_2" / "eval_results.txt").read_bytes()
    alone = folder / "last_alone"
    scripts.run_here("run.run_feature_based", output_dir=alone, **{**flags, "features": "last"})
    assert (alone / "run_2" / "eval_results.txt").read_bytes() == finished


@pytest.mark.extra_large
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"label_column": "x"}, Message("label_column", "must be a number", value="x")),
        (
            {"distribution_strategy": "multi_worker_mirrored"},
            Message(None, "only one process can write", "the embeddings"),
        ),
    ],
)
def test_settings_that_do_not_go_together(folder, flags, message):
    with raises_message(message):
        run(folder, "rejected", **flags)
    assert not (folder / "rejected").exists()
