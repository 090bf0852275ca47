"""Fine-tuning, export, answers and vectors from and into a folder that only TensorFlow knows (ram://)."""

import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.cli import places
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder import task_metadata
from bert_tf.serving import exports
from bert_tf.serving.settings import LabelSettings
from data_prep.tasks import classifier, multiple_choice
from run.finetuning import job
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.inference import exporting, extraction
from run.inference.settings import AnswerSettings, ConversionSettings, ExportSettings, ExtractionSettings
from run.settings import TrainingSettings
from tests import remote_folders
from tests.remote_folders import put
from tests.settings import resolved

WORDS = ("the", "a", "film", "good", "bad", "was")


@pytest.fixture(scope="module")
def folder():
    """A folder with a model's config and vocabulary, a data set, and texts."""
    path = remote_folders.new_folder()
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    put(f"{path}/vocab.txt", "".join(f"{piece}\n" for piece in pieces))
    put(f"{path}/bert_config.json", BertConfig(len(pieces), 8, 1, 2, 12, max_position_embeddings=20).to_json())
    rows = "".join(f"the film was {word}\t{word}\n" for word in 8 * ("good", "bad"))
    for split in ("train", "dev", "test"):
        put(f"{path}/data/{split}.tsv", f"text\tlabel\n{rows}")
    put(f"{path}/texts.txt", "the film\na bad film was good\n")
    return path


def model_settings(folder):
    return {"model": ModelSettings(bert_config_file=f"{folder}/bert_config.json"),
            "tokenizer": TokenizerSettings(vocab_file=f"{folder}/vocab.txt", max_seq_length=12)}


@pytest.fixture(scope="module")
def tuned(folder):
    """The folder of a classifier, trained in two goes, evaluated and used to predict."""
    settings = FineTuningSettings(
        **model_settings(folder),
        training=TrainingSettings(output_dir=f"{folder}/tuned", train_batch_size=4, save_checkpoints_steps=2),
        tuning=TuningSettings(do_train=True, do_eval=True, do_predict=True, num_train_epochs=1, eval_steps=2),
        task=classifier.Settings(task_name="own", data_dir=f"{folder}/data"))
    for _ in range(2):  # the second finds it finished
        job.run(resolved(settings))
    return f"{folder}/tuned"


def test_what_fine_tuning_writes(tuned):
    names = {name for name in files.names_in(tuned) if not name.startswith("events.")}
    assert {"bert_config.json", "vocab.txt", "task.json", "run.json", "checkpoint", "best", "training_log.csv",
            "eval_log.csv", "loss.png", "confusion.png", "eval_results.txt", "test_results.tsv"} <= names
    assert not [name for name in names if name.endswith((".partial", "_temp"))]
    assert task_metadata.read(tuned).labels == task_metadata.read(f"{tuned}/best").labels == ("bad", "good")
    assert json.loads(files.read_text(f"{tuned}/run.json"))["data_dir"]["files"] == 1
    assert files.read_bytes(f"{tuned}/loss.png").startswith(b"\x89PNG")


def test_an_export_answers_as_the_run(tuned, folder, capsys):
    exporting.run(resolved(ExportSettings(model=ModelSettings(init_checkpoint=tuned), export_dir=f"{folder}/served")))
    assert f"{folder}/served/1: SavedModel of a classifier, 1." in capsys.readouterr().out
    put(f"{folder}/served/not_a_version", "x")
    assert exports.newest_version(f"{folder}/served") == f"{folder}/served/1"
    assert exports.newest_version(f"{folder}/served/1") == f"{folder}/served/1"
    with pytest.raises(InputError, match=r"^`saved_model`=.*/data: holds no SavedModel"):
        exports.newest_version(f"{folder}/data")
    loaded = tf.saved_model.load(f"{folder}/served/1").signatures["serving_default"]
    answer = loaded(text=tf.constant(["the film was bad"]))
    assert set(answer["label"].numpy()) <= {b"good", b"bad"}
    exporting.run(resolved(ExportSettings(model=ModelSettings(init_checkpoint=tuned), export_dir=f"{folder}/small",
                                          format="tflite")))
    assert files.size(f"{folder}/small/model_float32.tflite")


def test_vectors(folder, tuned):
    expected = None
    for name in ("jsonl", "npz", "tfrecord"):
        settings = ExtractionSettings(
            **{**model_settings(folder), "model": ModelSettings(f"{folder}/bert_config.json", tuned)},
            input_file=f"{folder}/texts.txt", output_file=f"{folder}/vectors.{name}", output_format=name, layers="-1")
        extraction.run(resolved(settings))
        content = files.read_bytes(f"{folder}/vectors.{name}")
        if name == "jsonl":
            lines = [json.loads(line) for line in content.splitlines()]
            expected = [[piece["layers"][0]["values"] for piece in line["features"]] for line in lines]
            assert [len(row) for row in expected] == [4, 7]
        elif name == "npz":
            with files.local_copy(f"{folder}/vectors.npz") as path, np.load(path) as arrays:
                np.testing.assert_allclose(arrays["vectors"][:, 0], np.concatenate(expected), atol=1e-6)
        else:
            records = list(tf.data.TFRecordDataset(f"{folder}/vectors.tfrecord"))
            assert len(records) == 2


def test_settings_look_at_remote_files(folder):
    put(f"{folder}/article.txt", "Mary Shelley wrote it.")
    assert AnswerSettings(context_file=f"{folder}/article.txt").read_context() == "Mary Shelley wrote it."
    put(f"{folder}/labels.txt", "bad\ngood\n")
    assert LabelSettings(labels_file=f"{folder}/labels.txt").read_labels() == ("bad", "good")
    race = multiple_choice.Settings(train_file=f"{folder}/data", data_format="race")
    places.check(race, TuningSettings(do_train=True))
    for check, message in (
        (lambda: places.check(classifier.Settings(task_name="own", data_dir=f"{folder}/none")),
         "^`data_dir`=ram://.*/none: no such folder$"),
        (lambda: places.check(multiple_choice.Settings(train_file=f"{folder}/data"), TuningSettings(do_train=True)),
         "^`train_file`=ram://.*/data: is a directory, a file is needed$"),
        (ConversionSettings(f"{folder}/a", f"{folder}/data").check_files, "data: is not empty; give"),
        (ConversionSettings(f"{folder}/data", f"{folder}/data/").check_files, "is the folder of `input`; give"),
    ):
        with pytest.raises(InputError, match=message):
            check()
