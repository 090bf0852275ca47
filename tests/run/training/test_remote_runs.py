"""A training run in a directory that only TensorFlow can open (ram://): writes, and resuming."""

import pytest

from bert_tf import files
from tests import remote_folders
from tests.remote_folders import put
from tests.run.training.toy_loop import batches, evaluate_by_step, start, train

pytestmark = pytest.mark.extra_large


def test_a_killed_run_resumes_with_its_log_and_without_temporary_files(tmp_path):
    folder = remote_folders.new_folder()
    settings = {
        "steps": 13,
        "save_checkpoints_steps": 5,
        "iterations_per_loop": 1,
        "best_metric": "accuracy",
        "eval_steps": 2,
    }
    again = {}
    run, model = start(folder, **settings)

    def evaluate_until_6():
        if run.step == 8:
            raise KeyboardInterrupt
        return evaluate_by_step(run, model, {})()

    with pytest.raises(KeyboardInterrupt):
        train(run, batches, evaluate_until_6)
    assert [
        line.split(",")[0] for line in files.read_text(f"{folder}/training_log.csv").split()[1:]
    ] == [*"12345"]
    temporary = {"ckpt-9_temp", "checkpoint.tmp" + 32 * "a"}
    put(f"{folder}/ckpt-9_temp/part", b"half")
    put(f"{folder}/checkpoint.tmp" + 32 * "a", b"half")

    run, model = start(folder, **settings)
    assert not temporary & set(files.at(folder).names())
    assert run.step == 5
    train(run, batches, evaluate_by_step(run, model, again))
    assert list(again) == [6, 8, 10, 12, 13]
    assert run.restore_best() == 12

    local, local_model = start(tmp_path, **settings)
    train(local, batches, evaluate_by_step(local, local_model, {}))
    for name in ("training_log.csv", "eval_log.csv"):
        assert files.read_bytes(f"{folder}/{name}") == (tmp_path / name).read_bytes()
    assert local.restore_best() == 12
    assert float(model.weight) == float(local_model.weight)
