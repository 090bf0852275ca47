"""Fine-tuning, export, and extraction with a directory that only TensorFlow can access (ram://)."""

import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.cli import places
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder import task_metadata
from bert_tf.serving import exports
from bert_tf.serving.settings import LabelSettings
from data_prep.tasks import multiple_choice
from run.finetuning.settings import TuningSettings
from run.inference.settings import AnswerSettings, ConversionSettings
from tests import remote_folders, scripts
from tests.remote_folders import put

WORDS = ("the", "a", "film", "good", "bad", "was")


@pytest.fixture(scope="module")
def folder():
    """Path of a directory with the config and the vocabulary of a model, a dataset, and texts."""
    path = remote_folders.new_folder()
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    put(f"{path}/vocab.txt", "".join(f"{token}\n" for token in tokens))
    put(f"{path}/bert_config.json", BertConfig(len(tokens), 8, 1, 2, 12, max_position_embeddings=20).to_json())
    rows = "".join(f"the film was {word}\t{word}\n" for word in 8 * ("good", "bad"))
    for split in ("train", "dev", "test"):
        put(f"{path}/data/{split}.tsv", f"text\tlabel\n{rows}")
    put(f"{path}/texts.txt", "the film\na bad film was good\n")
    return path


@pytest.fixture(scope="module")
def tuned(folder):
    """Path of a classifier that was trained and evaluated."""
    for _ in range(2):  # The second run finds the first one finished.
        scripts.run_here("run.run_classifier", bert_config_file=f"{folder}/bert_config.json",
                         vocab_file=f"{folder}/vocab.txt", max_seq_length=12, output_dir=f"{folder}/tuned",
                         train_batch_size=4, save_checkpoints_steps=2, do_train=True, do_eval=True, do_predict=True,
                         num_train_epochs=1, eval_steps=2, task_name="own", data_dir=f"{folder}/data")
    return f"{folder}/tuned"


def test_files_of_fine_tuning(tuned):
    names = {name for name in files.names_in(tuned) if not name.startswith("events.")}
    assert {"bert_config.json", "vocab.txt", "task.json", "run.json", "checkpoint", "best", "training_log.csv",
            "eval_log.csv", "loss.png", "confusion.png", "eval_results.txt", "test_results.tsv"} <= names
    assert not [name for name in names if name.endswith((".partial", "_temp"))]
    assert task_metadata.read(tuned).labels == task_metadata.read(f"{tuned}/best").labels == ("bad", "good")
    assert json.loads(files.read_text(f"{tuned}/run.json"))["data_dir"]["files"] == 1
    assert files.read_bytes(f"{tuned}/loss.png").startswith(b"\x89PNG")


def test_exports(tuned, folder, capsys):
    scripts.run_here("run.export_saved_model", init_checkpoint=tuned, export_dir=f"{folder}/served")
    assert f"{folder}/served/1: SavedModel of a classifier, 1." in capsys.readouterr().out
    put(f"{folder}/served/not_a_version", "x")
    assert exports.newest_version(f"{folder}/served") == exports.newest_version(f"{folder}/served/1") == (
        f"{folder}/served/1")
    with pytest.raises(InputError, match=r"^`saved_model`=.*/data: holds no SavedModel"):
        exports.newest_version(f"{folder}/data")
    loaded = tf.saved_model.load(f"{folder}/served/1").signatures["serving_default"]
    assert set(loaded(text=tf.constant(["the film was bad"]))["label"].numpy()) <= {b"good", b"bad"}
    scripts.run_here("run.export_saved_model", init_checkpoint=tuned, export_dir=f"{folder}/small", format="tflite")
    assert files.size(f"{folder}/small/model_float32.tflite")


def test_embeddings(folder, tuned):
    for name in ("jsonl", "npz", "tfrecord"):
        scripts.run_here("run.extract_features", init_checkpoint=tuned, max_seq_length=12,
                         input_file=f"{folder}/texts.txt", output_file=f"{folder}/vectors.{name}", output_format=name,
                         layers="-1")
    lines = [json.loads(line) for line in files.read_bytes(f"{folder}/vectors.jsonl").splitlines()]
    expected = [[token["layers"][0]["values"] for token in line["features"]] for line in lines]
    assert [len(row) for row in expected] == [4, 7]
    with files.local_copy(f"{folder}/vectors.npz") as path, np.load(path) as arrays:
        np.testing.assert_allclose(arrays["vectors"][:, 0], np.concatenate(expected), atol=1e-6)
    assert len(list(tf.data.TFRecordDataset(f"{folder}/vectors.tfrecord"))) == 2


def test_settings_read_remote_files(folder):
    put(f"{folder}/article.txt", "Mary Shelley wrote it.")
    assert AnswerSettings(context_file=f"{folder}/article.txt").read_context() == "Mary Shelley wrote it."
    put(f"{folder}/labels.txt", "bad\ngood\n")
    assert LabelSettings(labels_file=f"{folder}/labels.txt").read_labels() == ("bad", "good")
    places.check(multiple_choice.Settings(f"{folder}/data", data_format="race"), TuningSettings(do_train=True))
    with pytest.raises(InputError, match=r"data: is not empty; give"):
        ConversionSettings(f"{folder}/a", f"{folder}/data").check_files()
    with pytest.raises(InputError, match="is the folder of `input`; give"):
        ConversionSettings(f"{folder}/data", f"{folder}/data/").check_files()
