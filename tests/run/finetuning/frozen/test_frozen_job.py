"""Taggers on frozen features: training, reuse of saved embeddings, resume, and evaluation without training."""

import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import checkpoint_files, load_pretrained
from bert_tf.cli import run_state
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import conll
from run.arrays import batches
from run.finetuning import frozen_model
from run.settings.served_models import resolve_checkpoint
from tests import scripts, state_files, toy_runs

FROZEN = {"lstm_width": 9, "lstm_dropout": 0.1, "frozen_epochs": 60.0, "frozen_learning_rate": 0.05}
STEPS = 120


@pytest.fixture(scope="module", autouse=True)
def one_layer():
    """Removes a layer of the BiLSTM, which halves the time to trace it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frozen_model, "NUM_LAYERS", 1)
        yield


def run(folder, output_dir, kind="weighted_sum_last_four", model="model", **flags):
    scripts.run_here("run.run_tagger", **{
        "init_checkpoint": folder / model, "frozen_features": kind, "output_dir": folder / output_dir,
        "vectors_dir": folder / "vectors", "max_seq_length": 12, "train_batch_size": 12, "save_checkpoints_steps": 50,
        **{f"{split}_file": folder / f"{'train' if split == 'train' else 'dev'}.txt" for split in (
            "train", "dev", "test")}, **FROZEN, **(flags or {"do_train": True})})


def weights(folder):
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(folder)))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if name != "_CHECKPOINTABLE"
            "_OBJECT_GRAPH"}


@pytest.fixture(scope="module")
def trained(folder):
    run(folder, "out", do_train=True, do_eval=True, do_predict=True)
    return folder / "out"


def test_it_learns_and_writes_the_files_of_a_tagger(folder, trained):
    results = dict(line.split(" = ") for line in (trained / "eval_results.txt").read_text().splitlines())
    assert float(results["eval_f1"]) > 0.7
    assert int(results["global_step"]) == STEPS
    predicted = conll.read_sentences(str(trained / "test_predictions.txt"), label_column=-1)
    dev = conll.read_sentences(str(folder / "dev.txt"), label_column=-1)
    assert predicted.words == dev.words
    right = np.mean([one == two for rows in zip(predicted.labels, dev.labels, strict=True)
                     for one, two in zip(*rows, strict=True)])
    assert right == pytest.approx(float(results["eval_accuracy"]))
    encoder = checkpoint_files(str(folder / "model"))
    state_files.assert_holds(trained / "run.json", {
        "train_file": run_state.fingerprint([str(folder / "train.txt")]), "token_column": 0, "label_column": -1,
        "document_context": False, "frozen_features": "weighted_sum_last_four", "lstm_width": 9, "lstm_dropout": 0.1,
        "frozen_checkpoint": run_state.fingerprint(encoder, is_complete=True), "max_seq_length": 12,
        "train_batch_size": 12, "group_by_length": True, "optimizer": "adamw",
        "random_seed": 12345, "freeze_layers": None, "layerwise_learning_rate_decay": 1.0, "lora_rank": None,
        "lora_alpha": 16.0, "changeable": {
            **state_files.CHANGEABLE, "learning_rate": 0.05, "num_train_epochs": 60.0, "warmup_proportion": 0.1}})


@pytest.mark.usefixtures("trained")
def test_vectors_equal_the_encoder_outputs_of_first_tokens(folder):
    """They are in the order of the file, although batches are sorted by length."""
    config = BertConfig.from_json_file(folder / "model" / "bert_config.json")
    encoder = models.BertEncoder(config)
    load_pretrained(encoder, str(folder / "model"))
    sentences = conll.read_sentences(str(folder / "train.txt"), label_column=-1)
    tokenizer = BertTokenizer(str(folder / "model" / "vocab.txt"))
    features, _ = conll.convert_sentences_to_features(sentences, conll.find_label_names(sentences), tokenizer, 12)
    outputs = encoder({name: features[name] for name in ("input_ids", "input_mask", "segment_ids")})["encoder_outputs"]
    expected = conll.select_word_values(outputs[3].numpy(), features["label_ids"])
    places = {json.loads(path.read_text())["words"]: path.parent for path in folder.glob("vectors/*/vectors.json")}
    np.testing.assert_allclose(np.load(places[len(expected)] / "layer_4.npy"), expected, atol=5e-3)


def test_an_interrupted_run_ends_bit_identical(folder, trained, monkeypatch, capsys):
    """The run is interrupted after about step 70, and resumes at the checkpoint of step 50."""
    original = batches.take_rows
    taken = []

    def failing(*args, **options):
        taken.append(1)
        if len(taken) > 75:
            raise KeyboardInterrupt
        return original(*args, **options)

    monkeypatch.setattr(batches, "take_rows", failing)
    with pytest.raises(tf.errors.UnknownError, match="KeyboardInterrupt"):
        run(folder, "killed")
    assert tf.train.latest_checkpoint(str(folder / "killed")).endswith("ckpt-50")
    monkeypatch.setattr(batches, "take_rows", original)
    capsys.readouterr()
    run(folder, "killed")
    assert f"resuming at step 50 of {STEPS}" in capsys.readouterr().out
    whole, resumed = weights(trained), weights(folder / "killed")
    assert whole.keys() == resumed.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(value, resumed[name], err_msg=name)


def test_evaluation_alone_requires_the_same_vectors(folder, trained, capsys):
    before = (trained / "eval_results.txt").read_text()
    run(folder, "out", do_eval=True)
    assert (trained / "eval_results.txt").read_text() == before
    assert "reusing the features of the dev file" in capsys.readouterr().out
    with pytest.raises(InputError, match="contains a run with `frozen_features` weighted_sum_last_four, not last"):
        run(folder, "out", "last", do_eval=True)
    with pytest.raises(InputError, match="contains a run with `lstm_width` 9, not 4; choose"):
        run(folder, "out", do_eval=True, lstm_width=4)
    with pytest.raises(InputError, match=r"`output_dir`=.*: contains no tagger trained on frozen features; train"):
        run(folder, "never", do_eval=True)
    with pytest.raises(InputError, match=r"^task\.json of `init_checkpoint`=.*: kind is 'frozen_token_cl"):
        resolve_checkpoint(str(trained))


@pytest.mark.usefixtures("trained")
def test_other_encoders_and_other_inputs_have_other_vectors(folder, reference):
    """The files of the other encoder have the same names and sizes."""
    (folder / "other").mkdir()
    toy_runs.write(folder / "other", reference, {"model": (None, lambda config: models.BertEncoder(config, seed=8))},
                   num_hidden_layers=4)
    count = lambda: len(list(folder.glob("vectors/*/layer_4.npy")))
    before = count()
    with pytest.raises(InputError, match="contains a run with `init_checkpoint` of "):
        run(folder, "out", model="other/model", do_eval=True)
    with pytest.MonkeyPatch.context() as patch:  # Only the vectors matter here.
        patch.setattr("run.training.loop.TrainingRun.train", lambda *_, **__: None)
        run(folder, "same")
        assert count() == before
        run(folder, "else", model="other/model")
        assert count() == before + 1
        run(folder, "short", max_seq_length=5, do_train=True)  # Sentences are divided.
        assert count() == before + 2
        run(folder, "docs", document_context=True, do_train=True)
        assert count() == before + 3
        run(folder, "half", mixed_precision="bfloat16", do_train=True)
        assert count() == before + 4
        run(folder, "all", "weighted_sum_all")  # It uses the same layers.
        assert count() == before + 4
        run(folder, "embeddings", "embeddings")
        assert len(list(folder.glob("vectors/*/layer_0.npy"))) == 1
