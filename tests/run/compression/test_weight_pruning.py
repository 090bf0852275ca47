"""--weight_pruning of the fine-tuning scripts: the pruned weights, and resuming."""

import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import open_checkpoint
from bert_tf.errors import InputError
from tests import scripts

MATRIX = re.compile(r"bert/encoder/.*/kernel")
PRUNING = {"keep_weights": 0.25, "pruning_end": 0.8, "weight_pruning": "magnitude"}


def tune(output_dir, **flags):
    """Trains a classifier for 12 steps in this process, with an evaluation every 4."""
    scripts.run_here("run.run_classifier", init_checkpoint="sst", task_name="sst-2", data_dir="sst-2",
                     output_dir=output_dir, max_seq_length=20, do_train=True, do_eval=True, eval_steps=4,
                     num_train_epochs=4, train_batch_size=4, learning_rate=1e-2, save_checkpoints_steps=4,
                     keep_checkpoint_max=9, **flags)


def read_variables(folder):
    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.mark.usefixtures("in_flat")
def test_a_resumed_run_ends_like_an_uninterrupted_one(tmp_path, capsys):
    """It resumes at step 4, in the middle of the schedule. Only weights after its end are saved to best/."""
    tune(tmp_path, **PRUNING)
    note = re.search(r"(\d+) of (\d+) weights of the encoder's matrices are nonzero \(25.0%\)",
                     capsys.readouterr().out.replace(",", ""))
    kernels = [tensor.read() for name, tensor in open_checkpoint(str(tmp_path)).tensors.items()
               if MATRIX.fullmatch(name)]
    assert [sum(map(np.count_nonzero, kernels)), sum(kernel.size for kernel in kernels)] == [*map(int, note.groups())]
    assert json.loads((tmp_path / "best" / "best.json").read_text())["step"] == 12

    expected = read_variables(tmp_path)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-4"\n')
    shutil.rmtree(tmp_path / "best")
    tune(tmp_path, **PRUNING)
    assert "resuming at step 4 of 12" in capsys.readouterr().out
    for name, value in read_variables(tmp_path).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)

    with pytest.raises(InputError, match=r"`output_dir`=.*: contains a run with `weight_pruning` magnitude, not None"):
        tune(tmp_path)
