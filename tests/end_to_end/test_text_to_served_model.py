"""A complete workflow through the scripts, from text to the SavedModel of a classifier."""

import json

import numpy as np
import pytest
import tensorflow as tf

import bert_tf
from bert_tf import models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.tokenization import BertTokenizer
from run.training.step import LOGGED
from tests import scripts
from tests.end_to_end.toy_files import read_results

pytestmark = pytest.mark.large

MAX_SEQ_LENGTH = 24
MAX_PREDICTIONS = 4
PRETRAINING = {
    "bert_config_file": "bert_config.json",
    "input_file": "train.tfrecord",
    "do_train": True,
    "max_seq_length": MAX_SEQ_LENGTH,
    "max_predictions_per_seq": MAX_PREDICTIONS,
    "do_eval": True,
    "train_batch_size": 6,
    "num_train_steps": 12,
    "num_warmup_steps": 2,
    "save_checkpoints_steps": 5,
    "learning_rate": 1e-3,
}
# Records and directories of models supply the vocabulary and the casing.
MODEL = {"max_seq_length": MAX_SEQ_LENGTH}
CLASSIFIER = {**MODEL, "task_name": "custom", "do_train": True, "train_batch_size": 5}


@pytest.fixture(scope="module")
def pretrained(prepared):
    """`prepared`, with a run of pre-training and evaluation in pretrained/."""
    output = scripts.succeed(
        "run.run_pretraining", prepared, output_dir="pretrained", **PRETRAINING
    )
    assert "masked_lm_accuracy = " in output
    return prepared


@pytest.fixture(scope="module")
def classified(pretrained):
    """`pretrained`, with a run of fine-tuning, evaluation, and prediction in classifier/."""
    scripts.succeed(
        "run.run_classifier",
        pretrained,
        data_dir="task",
        init_checkpoint="pretrained",
        output_dir="classifier",
        do_eval=True,
        do_predict=True,
        num_train_epochs=2.0,
        **CLASSIFIER,
    )
    return pretrained


def test_pretraining_writes_checkpoints_results_and_curves(pretrained):
    folder = pretrained / "pretrained"
    results = read_results(folder / "eval_results.txt")
    assert results["global_step"] == 12
    assert results["loss"] == pytest.approx(
        results["masked_lm_loss"] + results["next_sentence_loss"], rel=0.05
    )
    assert {path.name for path in folder.glob("ckpt-*.index")} >= {
        "ckpt-5.index",
        "ckpt-10.index",
        "ckpt-12.index",
    }
    assert (folder / "loss.png").read_bytes().startswith(b"\x89PNG")
    rows = (folder / "training_log.csv").read_text().splitlines()
    names = ["step", "loss", "masked_lm_loss", "next_sentence_loss", *LOGGED]
    assert rows[0].split(",") == names
    assert rows[-1].startswith("12,")
    assert (folder / "vocab.txt").read_bytes() == (pretrained / "vocab.txt").read_bytes()
    assert json.loads((folder / "tokenizer_config.json").read_text()) == {
        "do_lower_case": True,
        "strip_accents": None,
    }
    assert not list(folder.glob("*.partial"))


def test_prediction_requires_only_the_test_file(classified):
    (classified / "only_test").mkdir()
    (classified / "only_test" / "test.tsv").write_text(
        (classified / "task" / "test.tsv").read_text()
    )
    names = ("test_results.tsv", "task.json")
    before = [(classified / "classifier" / name).read_bytes() for name in names]
    scripts.succeed(
        "run.run_classifier",
        classified,
        data_dir="only_test",
        output_dir="classifier",
        do_predict=True,
        **{**CLASSIFIER, "do_train": None},
    )
    assert [(classified / "classifier" / name).read_bytes() for name in names] == before


def test_export_predicts_what_the_model_predicts(classified):
    output = scripts.succeed(
        "run.export_saved_model",
        classified,
        init_checkpoint="classifier",
        export_dir="served",
        **MODEL,
    )
    assert output.startswith("served/1: SavedModel of a classifier, ")
    assert "with the signatures serving_default (text), ids, and tf_example; labels 0, 1" in output
    texts = ["The debugger stops.", "", "A very long sentence " * 20]
    tokenizer = BertTokenizer(str(classified / "vocab.txt"))
    model = models.BertClassifier(BertConfig.from_json_file(classified / "bert_config.json"), 2)
    load_pretrained(model, str(classified / "classifier"))
    expected = tf.nn.softmax(
        model(tokenizer.encode(texts, max_seq_length=MAX_SEQ_LENGTH))["logits"]
    ).numpy()
    for name in ("classifier", "served"):
        answers = bert_tf.load(classified / name)(text=texts)
        np.testing.assert_allclose(answers["probabilities"], expected, rtol=0, atol=1e-5)
        assert answers["labels"].tolist() == [[b"0", b"1"]] * 3
        assert answers["label"].tolist() == [
            [b"0", b"1"][number] for number in expected.argmax(axis=1)
        ]
