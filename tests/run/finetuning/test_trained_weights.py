"""Which weights fine-tuning trains, and how fast: frozen layers, rates that fall from layer to layer, LoRA."""

import dataclasses
import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models, run_state
from bert_tf.checkpoints import convert, open_checkpoint
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.techniques.freezing import freeze
from data_prep.tasks import classifier
from run.finetuning import job
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.settings import OptimizerSettings, StepSettings, TrainingSettings
from run.techniques.settings import Int8Settings, TrainedWeightsSettings, WeightPruningSettings
from run.training import strategies
from tests import state_files, toy_runs
from tests.settings import resolved

TRAIN = TuningSettings(do_train=True, do_eval=True, eval_steps=4, num_train_epochs=4.0)
MOMENTS = re.compile(r"optimizer/_variables/\d+/\.ATTRIBUTES/VARIABLE_VALUE")
HEAD = ("bert/pooler/dense/kernel", "bert/pooler/dense/bias", "output_weights", "output_bias")
FROZEN = {"freeze_layers": 1, "layerwise_learning_rate_decay": 0.5}
LORA = {"lora_rank": 3, "lora_alpha": 6.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("trained_weights")
    toy_runs.write_data(folder)
    toy_runs.write(folder, reference, {"sst": toy_runs.TASKS["sst"]}, num_hidden_layers=2)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def tune(output_dir, *, tuning=TRAIN, step=None, length=20, long_texts="cut", **trained_weights):
    """Trains a classifier of two layers for 12 steps in this process, in the current folder."""
    settings = FineTuningSettings(
        model=ModelSettings(init_checkpoint="sst"), tokenizer=TokenizerSettings(max_seq_length=length),
        training=TrainingSettings(output_dir, train_batch_size=4, save_checkpoints_steps=4, keep_checkpoint_max=9),
        step=StepSettings(**step or {}), optimizer=OptimizerSettings(learning_rate=1e-2), tuning=tuning,
        trained_weights=TrainedWeightsSettings(**trained_weights),
        task=classifier.Settings(task_name="sst-2", data_dir="sst-2", long_texts=long_texts))
    settings = resolved(settings)
    job.run(settings)


def stored(folder):
    """All that the newest checkpoint of a folder holds: {key: array}."""
    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def weights(folder):
    return {name: tensor.read() for name, tensor in open_checkpoint(str(folder)).tensors.items()}


def changed(folder):
    """Names of the weights that a run has changed."""
    before, after = weights("sst"), weights(folder)
    assert before.keys() == after.keys()
    return {name for name, value in before.items() if not np.array_equal(value, after[name])}


def goes_on_from_step_4(folder, **options):
    """Resumes a run as if it had been killed there; what its checkpoint of the end holds then."""
    (folder / "checkpoint").write_text('model_checkpoint_path: "ckpt-4"\n')
    shutil.rmtree(folder / "best")
    tune(folder.name, **options)
    return stored(folder)


def test_frozen_layers_stay_have_no_moments_and_resume_bitwise(here, capsys):
    tune("frozen", **FROZEN)
    found = changed("frozen")
    assert {name.split("/")[2] for name in found if name.startswith("bert/encoder/")} == {"layer_1"}
    assert not any(name.startswith("bert/embeddings/") for name in found)
    assert found >= set(HEAD)
    expected = stored(here / "frozen")
    layer = 12  # variables of a layer whose query, key and value are one kernel
    assert sum(MOMENTS.fullmatch(name) is not None for name in expected) == 2 * (layer + len(HEAD))

    again = goes_on_from_step_4(here / "frozen", **FROZEN)
    assert "frozen: resuming at step 4 of 12" in capsys.readouterr().out
    for name, value in again.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    results = (here / "frozen" / "eval_results.txt").read_text()
    tune("frozen", tuning=TuningSettings(do_eval=True))
    assert (here / "frozen" / "eval_results.txt").read_text() == results

    state_files.assert_holds(here / "frozen" / "run.json", {
        "data_dir": run_state.fingerprint(["sst-2/train.tsv"]), "task_name": "sst-2", "max_seq_length": 20,
        "train_batch_size": 4, "group_by_length": True, "pack_sequences": False, "optimizer": "adamw",
        "random_seed": 12345, **FROZEN, "lora_rank": None, "lora_alpha": 16.0, "weight_pruning": None,
        "changeable": {**state_files.CHANGEABLE, "learning_rate": 0.01,
                       "num_train_epochs": TRAIN.num_train_epochs, "warmup_proportion": 0.1}})
    for name, value in (("freeze_layers", 0), ("layerwise_learning_rate_decay", 0.75)):
        message = f"`output_dir`=frozen: holds a run with `{name}` {FROZEN[name]}, not {value}; choose another folder"
        with pytest.raises(InputError, match=f"^{re.escape(message)}"):
            tune("frozen", **FROZEN | {name: value})


def test_the_result_is_the_same_on_any_devices(here, two_replicas, monkeypatch):
    """On replicas, in micro-batches, with activations computed again; without dropout, which replicas draw apart.

    Of texts in windows, with some layers frozen and adapters in others.
    """
    config = json.loads((here / "sst" / "bert_config.json").read_text())
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        config[name] = 0.0
    monkeypatch.setattr(BertConfig, "from_json_file", classmethod(lambda cls, path: cls.from_dict(config)))
    once = TuningSettings(do_train=True, num_train_epochs=1.0)
    options = {**FROZEN, **LORA, "length": 8, "long_texts": "windows"}
    tune("plain", tuning=once, **options)
    monkeypatch.setattr(strategies, "make_strategy", lambda _: two_replicas)
    tune("spread", tuning=once, step={"accumulate_steps": 2, "recompute_activations": True}, **options)
    assert changed("spread") == changed("plain")
    expected = weights("plain")
    for name, value in weights("spread").items():
        np.testing.assert_allclose(value, expected[name], atol=2e-5, err_msg=name)


def test_lora_trains_adapters_which_are_merged_for_all_who_read_the_run(here, capsys, tmp_path):
    tune("lora", **LORA)
    said = capsys.readouterr().out
    kernels = {name for name in weights("sst") if name.startswith("bert/encoder/") and name.endswith("/kernel")}
    assert changed("lora") == {*kernels, *HEAD}
    expected = stored(here / "lora")
    num_trained = 2 * 2 * 4 + len(HEAD)
    assert sum(MOMENTS.fullmatch(name) is not None for name in expected) == 2 * num_trained

    for name, value in goes_on_from_step_4(here / "lora", **LORA).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    results = (here / "lora" / "eval_results.txt").read_text()
    tune("lora", tuning=TuningSettings(do_eval=True))  # which loads merged kernels
    again = (here / "lora" / "eval_results.txt").read_text()
    numbers = [[float(line.split(" = ")[1]) for line in text.splitlines()] for text in (results, again)]
    np.testing.assert_allclose(*numbers, atol=1e-6)
    with pytest.raises(InputError, match=r"^`output_dir`=lora: holds a run with `lora_rank` 3, not 2; choose another"):
        tune("lora", lora_rank=2, lora_alpha=6.0)

    path = here / "lora" / "adapter.safetensors"
    assert f"lora/adapter.safetensors: the adapters and the head, {path.stat().st_size / 1e6:.2f} MB" in said
    assert path.stat().st_size < 0.2 * (here / "sst" / "ckpt-3.data-00000-of-00001").stat().st_size
    convert("sst", tmp_path / "merged", "tf1", adapter=str(path))
    kept = weights("lora/best")
    assert weights(tmp_path / "merged").keys() == kept.keys()
    for name, value in weights(tmp_path / "merged").items():
        np.testing.assert_allclose(value, kept[name], rtol=0, atol=1e-6, err_msg=name)
    with pytest.raises(InputError, match=r"adapter.safetensors: was trained on other weights than those of lora/ckpt"):
        convert("lora", tmp_path / "never", "tf1", adapter=str(path))
    with pytest.raises(InputError, match=r"^`adapter`=sst/vocab.txt: is no safetensors file, or a damaged one"):
        convert("sst", tmp_path / "never", "tf1", adapter="sst/vocab.txt")
    convert("sst", tmp_path / "hf", "huggingface")
    with pytest.raises(InputError, match=r"model.safetensors: holds no adapters of these scripts$"):
        convert("sst", tmp_path / "never", "tf1", adapter=str(tmp_path / "hf" / "model.safetensors"))
    assert not (tmp_path / "never").exists()


def test_nothing_of_the_backward_pass_lies_below_frozen_layers(reference_config, reference_batches):
    """Of the two layers' products only the upper one's have gradients; those of the trained weights are the same."""
    batch = {name: tf.constant(values[0]) for name, values in reference_batches.items()}

    def gradients(frozen):
        model = models.BertClassifier(models.BertEncoder(reference_config, seed=5), 3)
        if frozen is not None:
            freeze(model.encoder, frozen)

        @tf.function(autograph=False)
        def compute():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(batch)["logits"] ** 2)
            return tape.gradient(loss, model.trainable_variables)
        graph = compute.get_concrete_function().graph
        products = [each for each in graph.get_operations() if "MatMul" in each.type]
        names = [variable.name for variable in model.trainable_variables]
        return dict(zip(names, map(tf.convert_to_tensor, compute()), strict=True)), len(products)

    all_of_them, products = gradients(None)
    for frozen, share in ((0, 1.0), (1, 0.75), (2, 0.5)):
        found, count = gradients(frozen)
        assert len(found) == 4 + 12 * (2 - frozen)
        assert count < share * products
        for name, value in found.items():
            np.testing.assert_allclose(value, all_of_them[name], rtol=1e-5, atol=1e-7, err_msg=name)


def test_layers_that_share_their_weights_are_frozen_together(reference_config):
    shared = dataclasses.replace(reference_config, num_hidden_groups=1)
    encoder = models.BertEncoder(shared)
    with pytest.raises(InputError, match=r"^`freeze_layers`=1: the model's layers share their weights; 0 freezes the "):
        freeze(encoder, 1)
    freeze(encoder, 2)
    assert [variable.name.split("/")[1] for variable in encoder.trainable_variables] == ["pooler"] * 2
    with pytest.raises(InputError, match=r"^`layerwise_learning_rate_decay`=0\.5: the model's layers share their wei"):
        TrainedWeightsSettings(layerwise_learning_rate_decay=0.5).check_model(shared)


@pytest.mark.parametrize(("tuning", "groups", "message"), [
    ("do_eval", {"freeze_layers": 0}, "`freeze_layers`=0: requires `do_train`"),
    ("do_eval", {"layerwise_learning_rate_decay": 0.5}, "`layerwise_learning_rate_decay`=0.5: requires `do_train`"),
    ("do_train", {"layerwise_learning_rate_decay": 0.0}, "`layerwise_learning_rate_decay`=0.0: it must be over 0"),
    ("do_train", {"layerwise_learning_rate_decay": 1.5}, "`layerwise_learning_rate_decay`=1.5: it must be at most 1"),
    ("do_train", {"freeze_layers": -1}, "`freeze_layers`=-1: it must be at least 0"),
    ("do_train", {"freeze_layers": 1, "pruning": "magnitude"}, "`freeze_layers`=1: cannot be combined with `weig"),
    ("do_train", {"lora_rank": 8, "pruning": "magnitude"}, "`lora_rank`=8: cannot be combined with `weight_pruning`"),
    ("do_train", {"lora_rank": 0}, "`lora_rank`=0: it must be at least 1"),
    ("do_train", {"lora_rank": 8, "lora_alpha": 0.0}, "`lora_alpha`=0.0: it must be over 0"),
    ("do_train", {"lora_alpha": 8.0}, "`lora_alpha`=8.0: requires `lora_rank`"),
    ("do_eval", {"lora_rank": 8}, "`lora_rank`=8: requires `do_train`"),
])
def test_settings_that_do_not_go_together(tuning, groups, message):
    pruning = WeightPruningSettings(groups.get("pruning"))
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        FineTuningSettings(tuning=TuningSettings(**{tuning: True}), weight_pruning=pruning, trained_weights=(
            TrainedWeightsSettings(**{name: value for name, value in groups.items() if name != "pruning"})))


@pytest.mark.parametrize(("settings", "message"), [
    ({"freeze_layers": 3}, "`freeze_layers`=3: the model has 2 layers"),
    ({"lora_rank": 33}, "`lora_rank`=33: it must be at most the model's width, 32"),
    ({"freeze_layers": 2, "lora_rank": 4}, "`freeze_layers`=2: leaves no layer for `lora_rank`=4"),
])
def test_more_than_the_model_has(reference_config, settings, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        TrainedWeightsSettings(**settings).check_model(reference_config)


def test_lora_is_not_trained_for_int8():
    with pytest.raises(InputError, match=r"^`lora_rank`=8: cannot be combined with `quantize_from_step`$"):
        FineTuningSettings(tuning=TuningSettings(do_train=True), int8=Int8Settings(0),
                           trained_weights=TrainedWeightsSettings(lora_rank=8))
