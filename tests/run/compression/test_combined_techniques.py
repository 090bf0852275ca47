"""Combined techniques: a student with adapters."""

import numpy as np
import pytest

from bert_tf.checkpoints import open_checkpoint
from tests import scripts, toy_runs
from tests.run.compression.students import ALL_LOSSES, assert_losses_add_up, read_log

pytestmark = pytest.mark.extra_large

SIZES = {"num_hidden_layers": 3, "initializer_range": 0.3}
STUDENT_LAYERS = {"layer_0": "layer_0", "layer_1": "layer_2"}  # The student's -> the teacher's.
STUDENT = {"teacher": "sst", "student_layers": "0,2", "data_dir": "sst-2", "train_batch_size": 4, **ALL_LOSSES,
           "learning_rate": 1e-2, "num_train_epochs": 4.0, "iterations_per_loop": 1, "log_steps": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """Directory with data, the teacher sst/ of three layers, and plain/, its student without another technique."""
    folder = tmp_path_factory.mktemp("combined")
    toy_runs.write_data(folder)
    toy_runs.write(folder, reference, {"sst": toy_runs.TASKS["sst"]}, **SIZES)
    (folder / "sst" / "run.json").write_text('{"task_name": "sst-2"}')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        scripts.run_here("run.run_distillation", output_dir="plain", **STUDENT)
        yield folder


def read_weights(folder):
    return {name: tensor.read() for name, tensor in open_checkpoint(str(folder)).tensors.items()}


def test_a_student_with_adapters(folder):
    """Adapters begin as zero. Only they are trained, and they are merged into the kernels."""
    scripts.run_here("run.run_distillation", output_dir="lora", **STUDENT, lora_rank=2)
    plain, log = read_log(folder / "plain"), read_log(folder / "lora")
    for name in log.dtype.names:
        assert log[name][0] == pytest.approx(plain[name][0], rel=1e-6), name
    assert abs(log["loss"][2:] / plain["loss"][2:] - 1).min() > 1e-4
    assert_losses_add_up(log)

    teacher, student = read_weights(folder / "sst"), read_weights(folder / "lora")
    assert {name.split("/")[2] for name in student if "/layer_" in name} == {*STUDENT_LAYERS}
    for name, value in student.items():
        if name.startswith(("bert/encoder", "bert/embeddings")):
            own = next((layer for layer in STUDENT_LAYERS if layer in name), "")
            difference = np.abs(value - teacher[name.replace(own, STUDENT_LAYERS.get(own, ""))])
            assert (difference.max() > 1e-4) == name.endswith("/kernel"), name
    assert (folder / "lora" / "adapter.safetensors").exists()
