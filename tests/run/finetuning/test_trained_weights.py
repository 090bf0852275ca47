"""Fine-tuning of a part of the weights: frozen layers, layer-wise learning rates, and LoRA."""

import dataclasses
import json
import re
import shutil

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import convert, open_checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.techniques.freezing import freeze
from run.techniques.settings import TrainedWeightsSettings
from run.training import strategies
from tests import scripts, toy_runs
from tests.end_to_end.toy_files import assert_same_tensors
from tests.errors import rejects

TRAIN = {"do_train": True, "do_eval": True, "eval_steps": 4, "num_train_epochs": 4.0}
MOMENTS = re.compile(r"optimizer/_variables/\d+/\.ATTRIBUTES/VARIABLE_VALUE")
HEAD = ("bert/pooler/dense/kernel", "bert/pooler/dense/bias", "output_weights", "output_bias")
FROZEN = {"freeze_layers": 1, "layerwise_learning_rate_decay": 0.5}
LORA = {"lora_rank": 3}


@pytest.fixture(scope="module")
def here(working_folder, reference):
    """The current directory, with data and a classifier of two layers."""
    toy_runs.write_data(working_folder)
    toy_runs.write(working_folder, reference, {"sst": toy_runs.TASKS["sst"]}, num_hidden_layers=2)
    return working_folder


def tune(output_dir, **flags):
    """Trains a classifier of two layers for 12 steps."""
    scripts.run_here(
        "run.run_classifier",
        **{
            "init_checkpoint": "sst",
            "max_seq_length": 20,
            "output_dir": output_dir,
            "train_batch_size": 4,
            "save_checkpoints_steps": 4,
            "keep_checkpoint_max": 9,
            "learning_rate": 1e-2,
            "task_name": "sst-2",
            "data_dir": "sst-2",
            **(TRAIN if "do_eval" not in flags else {}),
            **flags,
        },
    )


def count_moments(folder):
    """Returns the number of weights with both moments of the optimizer in a run's checkpoint."""
    names = tf.train.load_checkpoint(folder).get_variable_to_shape_map()
    return sum(MOMENTS.fullmatch(name) is not None for name in names) / 2


def weights(folder):
    return {name: tensor.read() for name, tensor in open_checkpoint(str(folder)).tensors.items()}


def changed(folder):
    """Returns the names of the weights that a run has changed."""
    before = weights("sst")
    after = weights(folder)
    assert before.keys() == after.keys()
    return {name for name, value in before.items() if not np.array_equal(value, after[name])}


@pytest.mark.extra_large
@pytest.mark.usefixtures("here")
def test_frozen_layers_have_no_optimizer_state():
    tune("frozen", **FROZEN)
    found = changed("frozen")
    assert {name.split("/")[2] for name in found if name.startswith("bert/encoder/")} == {"layer_1"}
    assert not any(name.startswith("bert/embeddings/") for name in found)
    assert found >= set(HEAD)
    # Query, key, and value of a layer are one kernel.
    assert count_moments("frozen") == 12 + len(HEAD)


@pytest.mark.extra_large
def test_devices_do_not_change_the_result(here, two_replicas, monkeypatch):
    """Two replicas, gradient accumulation, and activation checkpointing do not change the weights.

    There is no dropout, which replicas sample. The texts are read in windows, some layers are
    frozen, and others have adapters.
    """
    config = json.loads((here / "sst" / "bert_config.json").read_text())
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        config[name] = 0.0
    monkeypatch.setattr(
        BertConfig, "from_json_file", classmethod(lambda cls, *_, **__: cls.from_dict(config))
    )
    options = {
        **FROZEN,
        **LORA,
        "max_seq_length": 8,
        "max_windows": 8,
        "do_train": True,
        "do_eval": False,
        "num_train_epochs": 1.0,
    }
    tune("plain", **options)
    monkeypatch.setattr(strategies, "make_strategy", lambda *_: two_replicas)
    tune("spread", accumulate_steps=2, recompute_activations=True, **options)
    assert changed("spread") == changed("plain")
    expected = weights("plain")
    for name, value in weights("spread").items():
        np.testing.assert_allclose(value, expected[name], atol=2e-5, err_msg=name)


@pytest.mark.large
def test_lora_trains_adapters_which_readers_of_the_run_merge(here, capsys, tmp_path):
    tune("lora", **LORA)
    output = capsys.readouterr().out
    kernels = {
        name
        for name in weights("sst")
        if name.startswith("bert/encoder/") and name.endswith("/kernel")
    }
    assert changed("lora") == {*kernels, *HEAD}
    assert count_moments("lora") == 2 * 2 * 4 + len(HEAD)

    shutil.copytree("lora", "killed")
    (here / "killed" / "checkpoint").write_text('model_checkpoint_path: "ckpt-4"\n')
    shutil.rmtree("killed/best")
    tune("killed", **LORA)
    assert "killed: resuming at step 4 of 12" in capsys.readouterr().out
    assert_same_tensors("killed", "lora")
    results = (here / "lora" / "eval_results.txt").read_text()
    tune("lora", do_eval=True)  # Loads merged kernels.
    again = (here / "lora" / "eval_results.txt").read_text()
    numbers = [
        [float(line.split(" = ")[1]) for line in text.splitlines()] for text in (results, again)
    ]
    np.testing.assert_allclose(*numbers, atol=1e-6)

    adapter = here / "lora" / "adapter"
    size = (adapter / "adapter_model.safetensors").stat().st_size
    assert f"lora/adapter: adapters and head, {size / 1e6:.2f} MB" in output
    assert size < 0.2 * (here / "sst" / "ckpt-3.data-00000-of-00001").stat().st_size
    assert (adapter / "vocab.txt").read_bytes() == (here / "lora" / "vocab.txt").read_bytes()
    config = json.loads((adapter / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "sst"
    assert config["modules_to_save"] == ["classifier", "pooler"]
    assert (config["r"], config["lora_alpha"], config["task_type"]) == (3, 16, "SEQ_CLS")
    convert("sst", tmp_path / "merged", "tf1", adapter=str(adapter))
    kept = weights("lora/best")
    assert weights(tmp_path / "merged").keys() == kept.keys()
    for name, value in weights(tmp_path / "merged").items():
        np.testing.assert_allclose(value, kept[name], rtol=0, atol=1e-6, err_msg=name)
    assert_other_adapters_are_rejected(adapter, tmp_path)


def assert_other_adapters_are_rejected(adapter, folder):
    """Adapters of other weights, and files that are invalid, are not merged.

    Args:
      adapter: pathlib.Path of the adapter that lora/ trained on sst/.
      folder: pathlib.Path of a directory for files.
    """
    with rejects("lora/adapter", "was trained on weights other", "lora/ckpt"):
        convert("lora", folder / "never", "tf1", adapter=str(adapter))
    with pytest.raises(InputError, match=r"^sst: contains no adapter \(adapter_config.json and"):
        convert("sst", folder / "never", "tf1", adapter="sst")
    path = folder / "damaged" / "adapter_model.safetensors"
    shutil.copytree(adapter, path.parent)
    with safetensors.safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in list(file.keys())}
        metadata = file.metadata()
    damaged = min(arrays)
    safetensors.numpy.save_file(arrays | {damaged: arrays[damaged] * np.nan}, path, metadata)
    with pytest.raises(InputError, match=rf"safetensors: {re.escape(damaged)} contains numbers"):
        convert("sst", folder / "never", "tf1", adapter=str(path.parent))
    path.write_bytes(b"no tensors")
    with rejects(None, "safetensors: is not a safetensors file"):
        convert("sst", folder / "never", "tf1", adapter=str(path.parent))
    assert not (folder / "never").exists()


@pytest.mark.large
def test_frozen_layers_have_no_backward_pass(reference_config, reference_batches):
    """Freezing removes matmuls from the backward pass.

    It does not change the gradients of the trained weights.
    """
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

    expected, num_products = gradients(None)
    for frozen, fraction in ((0, 1.0), (1, 0.75), (2, 0.5)):
        found, count = gradients(frozen)
        assert len(found) == 4 + 12 * (2 - frozen)
        assert count < fraction * num_products
        for name, value in found.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-7, err_msg=name)


def test_layers_with_shared_weights_are_frozen_together(reference_config):
    shared = dataclasses.replace(reference_config, num_hidden_groups=1)
    encoder = models.BertEncoder(shared)
    with rejects("freeze_layers", "share weights", "set 0 to freeze ", value=1):
        freeze(encoder, 1)
    freeze(encoder, 2)
    assert [variable.name.split("/")[1] for variable in encoder.trainable_variables] == [
        "pooler"
    ] * 2
    with rejects("layerwise_learning_rate_decay", "must be 1", "since the layers of", value=0.5):
        TrainedWeightsSettings(layerwise_learning_rate_decay=0.5).check_model(shared)


def test_more_frozen_layers_than_the_model_has(reference_config):
    with rejects("freeze_layers", "must be at most 2", "the number of layers", value=3):
        TrainedWeightsSettings(freeze_layers=3).check_model(reference_config)
