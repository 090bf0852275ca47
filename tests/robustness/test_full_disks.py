"""A limit of the size of files, which is like a full disk: one line, nothing half-written, resume.

The system returns another error for a full disk, which libraries raise in the same calls.
"""

import contextlib
import resource

import pytest

from bert_tf.tasks.metadata import TaskMetadata
from tests import scripts, toy_runs
from tests.errors import check_message

pytestmark = pytest.mark.extra_large

LIMIT = 4096  # Bytes.
TRAINING = {
    "task_name": "sst-2",
    "data_dir": "sst-2",
    "init_checkpoint": "sst",
    "do_train": True,
    "num_train_epochs": 2.0,
    "train_batch_size": 4,
    "max_seq_length": 16,
    "save_checkpoints_steps": 3,
}
COMMANDS = {
    "run.convert_checkpoint": ("output", {"input": "sst", "format": "tf1"}),
    "run.export_saved_model": ("export_dir", {"init_checkpoint": "sst"}),
    "run.predict": ("output_file", {"model": "sst", "input_file": "many.txt"}),
    "run.extract_features": (
        "output_file",
        {
            "init_checkpoint": "sst",
            "input_file": "many.txt",
            "format": "tfrecord",
            "layers": "-1",
            "max_seq_length": 16,
        },
    ),
    "data_prep.create_pretraining_data": (
        "output_file",
        {"input_file": "many.txt", "vocab_file": "sst/vocab.txt"},
    ),
    "data_prep.split_sentences": ("output_dir", {"input_file": "many.txt"}),
}


@contextlib.contextmanager
def limited_files(size):
    """Limits the size of the files that this process writes in a context."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def folder(tmp_path, reference, monkeypatch):
    toy_runs.write_data(tmp_path)
    task = TaskMetadata("classifier", 20, True, ("0", "1"))
    toy_runs.write(tmp_path, reference, {"sst": (task, toy_runs.TASKS["sst"][1])})
    (tmp_path / "many.txt").write_text("the debugger stops at line 1. it prints\n\n" * 200)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_outputs_of_scripts(folder, name, capsys):
    output, flags = COMMANDS[name]
    flags = {**flags, output: "out"}
    with limited_files(LIMIT):
        assert scripts.run_main(name, **flags) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert f": --{output}=out: " in line
    check_message(line, None, "File too large", "raise the limit", "(ulimit -f)")
    assert not (folder / "out").exists()
    assert not list(folder.glob("*.partial*"))


def test_a_training_run_resumes(folder, capsys):
    flags = {**TRAINING, "output_dir": "out"}
    size = (folder / "sst" / "vocab.txt").stat().st_size
    with limited_files(size + 1000):
        assert scripts.run_main("run.run_classifier", **flags) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert ": --output_dir=out: out/ckpt-3_temp/" in line
    check_message(line, None, "File too large", "raise the limit", "(ulimit -f)")
    assert not [path for path in (folder / "out").iterdir() if path.name.startswith("ckpt-")]
    assert scripts.run_main("run.run_classifier", **flags) == 0
    assert (folder / "out" / "ckpt-6.index").exists()
