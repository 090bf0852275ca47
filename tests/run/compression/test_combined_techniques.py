"""Techniques combined: a student with adapters, a student trained for int8, a pruned model that had adapters."""

import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import open_checkpoint
from tests import scripts, toy_runs
from tests.run.compression.test_distillation import ALL_LOSSES, log_of

# Some matrices have the 1,024 elements from which int8 rounds them.
SIZES = {"num_hidden_layers": 3, "hidden_size": 12, "intermediate_size": 96, "initializer_range": 0.3}
STUDENT = {"teacher": "sst", "student_layers": "0,2", **toy_runs.DATA["sst"], "train_batch_size": 4,
           "num_train_epochs": 4.0, "learning_rate": 1e-2, "iterations_per_loop": 1, "log_steps": 1}
LORA = {"lora_rank": 2, "lora_alpha": 6.0}
INT8_STEP = 4  # of 12
KERNELS = ("attention/output/dense", "intermediate/dense", "output/dense")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """Data, the teacher sst/ of three layers, and plain/, a student of all losses without another technique."""
    folder = tmp_path_factory.mktemp("combined")
    toy_runs.write_data(folder)
    toy_runs.write(folder, reference, {"sst": toy_runs.TASKS["sst"]}, **SIZES)
    (folder / "sst" / "run.json").write_text('{"task_name": "sst-2"}')
    scripts.succeed("run.run_distillation", folder, output_dir="plain", **STUDENT, **ALL_LOSSES)
    return folder


def stored(folder):
    """All that the latest checkpoint of a directory contains: {key: array}."""
    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()
            if "CHECKPOINTABLE" not in name and "save_counter" not in name}


def weights(folder):
    return {name: tensor.read() for name, tensor in open_checkpoint(str(folder)).tensors.items()}


def results(folder):
    lines = (folder / "eval_results.txt").read_text().splitlines()
    return {name: float(value) for name, value in (line.split(" = ") for line in lines)}


def assert_same_end(folder, name, **flags):
    """Trains a student in two directories, is killed in one and resumes there: both have the same bits."""
    flags = {**STUDENT, **ALL_LOSSES, **flags}
    scripts.succeed("run.run_distillation", folder, output_dir=name, **flags)
    command = scripts.command("run.run_distillation", output_dir="killed", **flags, save_checkpoints_steps=3)
    command = [part.replace("=killed", f"=killed_{name}") for part in command]
    scripts.kill_when(command, folder, (folder / f"killed_{name}" / "checkpoint").exists)
    done = scripts.run_script("run.run_distillation", folder, output_dir=f"killed_{name}", **flags)
    assert "resuming at step" in done.stdout, done.stderr[-3000:]
    ends = [stored(folder / each) for each in (name, f"killed_{name}")]
    assert ends[0].keys() == ends[1].keys()
    for key, value in ends[0].items():
        np.testing.assert_array_equal(value, ends[1][key], err_msg=key)
    assert results(folder / name) == results(folder / f"killed_{name}")


@pytest.mark.timeout(240)  # it trains three times
def test_a_student_with_adapters(folder):
    assert_same_end(folder, "lora", **LORA)
    plain, log = log_of(folder / "plain"), log_of(folder / "lora")
    for name in log.dtype.names:  # adapters begin as zero
        assert log[name][0] == pytest.approx(plain[name][0], rel=1e-6), name
    assert abs(log["loss"][2:] / plain["loss"][2:] - 1).min() > 1e-4
    np.testing.assert_allclose(log["loss"], log["logits_loss"] + 0.5 * log["label_loss"] + log["hidden_loss"]
                               + 0.5 * log["attention_loss"] + 2 * log["cls_loss"], rtol=1e-5)

    teacher, student, variables = weights(folder / "sst"), weights(folder / "lora"), stored(folder / "lora")
    layers = {"layer_0": "layer_0", "layer_1": "layer_2"}  # --student_layers
    assert {name.split("/")[2] for name in student if "/layer_" in name} == {*layers}
    for name, value in student.items():
        if name.startswith(("bert/encoder", "bert/embeddings")) and not name.endswith("/kernel"):
            old, new = next(((old, new) for new, old in layers.items() if new in name), ("", ""))
            np.testing.assert_array_equal(value, teacher[name.replace(new, old)], err_msg=name)
    pairs = [(variables[key], variables[key.replace("lora_a", "lora_b")]) for key in sorted(variables)
             if "lora_a" in key and key.startswith("model/")]
    products = [LORA["lora_alpha"] / LORA["lora_rank"] * a @ b for a, b in pairs if a.shape[1] == LORA["lora_rank"]]
    assert len(products) == len(layers) * len(KERNELS)
    for new, old in layers.items():
        for kernel in KERNELS:
            name = f"bert/encoder/{new}/{kernel}/kernel"
            change = student[name] - teacher[name.replace(new, old)]
            assert np.abs(change).max() > 1e-4
            assert any(each.shape == change.shape and np.abs(change - each).max() < 1e-6 for each in products), name
    assert (folder / "lora" / "adapter.safetensors").exists()
    kept = json.loads((folder / "lora" / "run.json").read_text())
    assert (kept["lora_rank"], kept["lora_alpha"], kept["student_layers"]) == (2, 6.0, [0, 2])
    before = results(folder / "lora")
    scripts.succeed("run.run_classifier", folder, task_name="sst-2", data_dir="sst-2", output_dir="lora",
                    max_seq_length=20, do_eval=True)
    assert results(folder / "lora")["eval_loss"] == pytest.approx(before["eval_loss"], abs=1e-6)


@pytest.mark.timeout(240)  # it trains three times
def test_a_student_trained_for_int8(folder):
    assert_same_end(folder, "int8", quantize_from_step=INT8_STEP)
    plain, log = log_of(folder / "plain"), log_of(folder / "int8")
    np.testing.assert_array_equal(log["loss"][:INT8_STEP], plain["loss"][:INT8_STEP])
    assert log["loss"][INT8_STEP] != pytest.approx(plain["loss"][INT8_STEP], rel=1e-6)
    found = results(folder / "int8")["eval_loss"]
    evaluate = {"task_name": "sst-2", "data_dir": "sst-2", "max_seq_length": 20, "do_eval": True, "output_dir": "int8"}
    scripts.succeed("run.run_classifier", folder, **evaluate, quantize_from_step=0)
    assert results(folder / "int8")["eval_loss"] == pytest.approx(found, abs=1e-6)
    scripts.succeed("run.run_classifier", folder, **evaluate)
    assert results(folder / "int8")["eval_loss"] != pytest.approx(found, abs=1e-6)


@pytest.mark.timeout(300)  # it trains six times
def test_a_model_that_had_adapters_is_pruned(folder):
    """It is the model before pruning, and the teacher, with its adapters merged."""
    tune = {**toy_runs.DATA["sst"], "train_batch_size": 4, "learning_rate": 1e-2}
    scripts.succeed("run.run_classifier", folder, task_name="sst-2", init_checkpoint="sst", max_seq_length=20,
                    output_dir="tuned", do_train=True, do_eval=True, num_train_epochs=2.0, **tune, **LORA)
    flags = {"init_checkpoint": "tuned", **tune}
    scripts.succeed("run.prune_model", folder, output_dir="same", **flags)
    merged = weights(folder / "tuned")
    assert any(np.abs(value - weights(folder / "sst")[name]).max() > 1e-4 for name, value in merged.items()
               if name.endswith("intermediate/dense/kernel"))
    same = weights(folder / "same")
    assert same.keys() == merged.keys()
    for name, value in same.items():
        np.testing.assert_array_equal(value, merged[name], err_msg=name)
    report = json.loads((folder / "same" / "pruning.json").read_text())
    assert report["whole"]["scores"]["eval_loss"] == pytest.approx(results(folder / "tuned")["eval_loss"], abs=1e-6)

    scripts.succeed("run.prune_model", folder, output_dir="half", **flags, keep_neurons=0.5, keep_heads=0.5,
                    prune_across="layer")
    kept = json.loads((folder / "half" / "round_1" / "pruning.json").read_text())
    half = weights(folder / "half")
    for layer, neurons in enumerate(kept["neurons"]):
        name = f"bert/encoder/layer_{layer}/intermediate/dense/kernel"
        np.testing.assert_array_equal(half[name], merged[name][:, neurons], err_msg=name)

    again = {**flags, "keep_neurons": 0.5, "num_train_epochs": 2.0, "distill": True, "hidden_weight": 1.0,
             "iterations_per_loop": 1}
    scripts.succeed("run.prune_model", folder, output_dir="taught", **again)
    log = log_of(folder / "taught" / "round_1" / "tuned")
    np.testing.assert_allclose(log["loss"], log["logits_loss"] + 0.5 * log["label_loss"] + log["hidden_loss"], 1e-5)
    command = scripts.command("run.prune_model", output_dir="killed_taught", **again, save_checkpoints_steps=1)
    scripts.kill_when(command, folder, (folder / "killed_taught" / "round_1" / "tuned" / "checkpoint").exists)
    scripts.succeed("run.prune_model", folder, output_dir="killed_taught", **again)
    ends = [weights(folder / name) for name in ("taught", "killed_taught")]
    for name, value in ends[0].items():
        np.testing.assert_array_equal(value, ends[1][name], err_msg=name)
