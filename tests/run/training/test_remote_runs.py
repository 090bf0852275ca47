"""A training run in a directory that only TensorFlow can open (ram://): when it writes, and resuming."""

import csv

import pytest
import tensorflow as tf

from bert_tf import files, run_state
from run.training import metrics_log
from run.training.summaries import Summaries
from tests import remote_folders
from tests.remote_folders import put
from tests.run.training.test_loop import batches, evaluate_by_step, start


@pytest.fixture
def folder():
    return remote_folders.new_folder()


def read_rows(path):
    return list(csv.DictReader(files.read_text(path).splitlines()))


@pytest.fixture
def written(monkeypatch):
    """Names of the files that are written, in order, with "ckpt-N" for a checkpoint."""
    names, new_file, save = [], files.new_file, tf.train.CheckpointManager.save

    def noted_file(path, *args, **options):
        names.append(path.rpartition("/")[2])
        return new_file(path, *args, **options)

    def noted_save(manager, number, **options):
        names.append(f"ckpt-{number}")
        return save(manager, number, **options)

    monkeypatch.setattr(files, "new_file", noted_file)
    monkeypatch.setattr(tf.train.CheckpointManager, "save", noted_save)
    return names


def test_a_run_writes_only_at_checkpoints_and_equals_a_local_run(folder, tmp_path, written):
    settings = {"steps": 13, "save_checkpoints_steps": 5, "iterations_per_loop": 1, "keep_checkpoint_max": 1}
    run, model = start(folder, **settings)
    run.train(batches)
    assert written == ["training_log.csv", "ckpt-5", "training_log.csv", "ckpt-10", "training_log.csv", "ckpt-13"]
    local, local_model = start(tmp_path, **settings)
    local.train(batches)
    assert float(model.weight) == float(local_model.weight)
    assert files.read_bytes(f"{folder}/training_log.csv") == (tmp_path / "training_log.csv").read_bytes()
    events = [name for name in files.names_in(folder) if name.startswith("events.out.tfevents")]
    assert sorted(set(files.names_in(folder)) - set(events)) == sorted(
        path.name for path in tmp_path.iterdir() if not path.name.startswith("events."))
    steps = {event.step for event in tf.compat.v1.train.summary_iterator(f"{folder}/{events[0]}") if event.step}
    assert steps == set(range(1, 14))


def test_a_killed_run_resumes_with_its_log(folder, tmp_path):
    settings = {"steps": 13, "save_checkpoints_steps": 5, "iterations_per_loop": 1, "best_metric": "accuracy",
                "eval_steps": 2}
    seen, again = {}, {}
    run, model = start(folder, **settings)

    def stops_at_8():
        if run.step == 8:
            raise KeyboardInterrupt
        return evaluate_by_step(run, model, seen)()

    with pytest.raises(KeyboardInterrupt):
        run.train(batches, stops_at_8)
    assert [int(row["step"]) for row in read_rows(f"{folder}/training_log.csv")] == [1, 2, 3, 4, 5]
    files.make_dirs(f"{folder}/ckpt-9_temp")
    put(f"{folder}/ckpt-9_temp/part", b"half")
    put(f"{folder}/checkpoint.tmp" + 32 * "a", b"half")

    run, model = start(folder, **settings)
    assert not {"ckpt-9_temp", "checkpoint.tmp" + 32 * "a"} & set(files.names_in(folder))
    assert run.step == 5
    run.train(batches, evaluate_by_step(run, model, again))
    assert list(again) == [6, 8, 10, 12, 13]
    assert run.restore_best() == 12

    local, local_model = start(tmp_path, **settings)
    local.train(batches, evaluate_by_step(local, local_model, {}))
    for name in ("training_log.csv", "eval_log.csv"):
        assert files.read_bytes(f"{folder}/{name}") == (tmp_path / name).read_bytes()
    assert local.restore_best() == 12
    assert float(model.weight) == float(local_model.weight)


def test_a_log_is_written_on_request(folder):
    log = metrics_log.Log(folder, "log.csv", 0)
    log.write()
    for step in (2, 4, 6):
        log.add(step, {"loss": step / 8})
    assert files.names_in(folder) == []
    log.write()
    assert files.read_text(f"{folder}/log.csv").split() == ["step,loss", "2,0.25", "4,0.5", "6,0.75"]
    resumed = metrics_log.Log(folder, "log.csv", 4)
    resumed.add(5, {"loss": 0.125, "accuracy": 1.0})
    resumed.write()
    assert files.read_text(f"{folder}/log.csv").split() == ["step,loss,accuracy", "2,0.25,", "4,0.5,", "5,0.125,1.0"]
    other = metrics_log.Log(folder, "other.csv", 0, writes=False)
    other.add(1, {"loss": 0.5})
    other.write()
    assert files.names_in(folder) == ["log.csv"]


def test_tensorboard_files_grow_on_request(folder):
    step = tf.Variable(1, dtype=tf.int64)
    summaries = Summaries(folder, step)
    summaries.add({"loss": 0.5})
    summaries.add({"accuracy": 1.0}, "eval")

    def num_bytes():
        return sum(map(files.size, files.files_below(folder)))

    before = num_bytes()
    summaries.add({"loss": 0.25})
    assert num_bytes() == before
    summaries.write()
    assert num_bytes() > before
    Summaries(None, step).add({"loss": 0.5})


def test_only_a_few_blocks_of_many_large_remote_files_are_read(folder, monkeypatch):
    monkeypatch.setattr(run_state, "WHOLE_BYTES", 50)
    monkeypatch.setattr(run_state, "BLOCK_BYTES", 4)
    paths = [f"{folder}/{number:02}" for number in range(40)]
    for path in paths:
        put(path, b"abcdef")
    opened, open_bytes = [], files.open_bytes
    monkeypatch.setattr(files, "open_bytes", lambda path: opened.append(path) or open_bytes(path))
    first = run_state.fingerprint(paths)
    assert len(opened) == run_state.SAMPLE_BLOCKS
    assert {opened[0], opened[-1]} == {paths[0], paths[-1]}
    put(paths[0], b"abXdef")
    second = run_state.fingerprint(paths)
    assert first.keys() == second.keys() == {"files", "bytes", "sha256", "remote_contents"}
    assert first["remote_contents"] != second["remote_contents"]
