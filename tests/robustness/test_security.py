"""The claims of docs/security.md: untrusted files execute nothing, and read no other files.

They refer to no file outside their directory.
"""

import gzip
import json
import os

import pytest
import tensorflow as tf

from bert_tf.checkpoints import ModelDirectory, read_config_file
from bert_tf.errors import InputError
from data_prep import reading
from data_prep.pretraining.shards import Counts, Shard, read_finished
from data_prep.tasks import DATA
from run.techniques import teacher_outputs
from run.training import checkpoints
from tests.errors import rejects


@pytest.fixture
def trap(tmp_path):
    """Path of a file that exists if hostile code was executed."""
    path = tmp_path / "executed"
    yield str(path)
    assert not path.exists()


def test_pickles_are_never_opened(tmp_path, trap):
    folder = tmp_path / "model"
    folder.mkdir()
    # This pickle calls open(trap, "w").
    (folder / "pytorch_model.bin").write_bytes(f"cbuiltins\nopen\n(V{trap}\nVw\ntR.".encode())
    for path in (folder, folder / "pytorch_model.bin"):
        with rejects(None, "is a pickle", "arbitrary code"):
            ModelDirectory.open(str(path)).check_loadable()


def test_yaml_creates_no_objects(tmp_path, trap):
    (tmp_path / "params.yaml").write_text(
        f"task: !!python/object/apply:builtins.open ['{trap}', 'w']\n"
    )
    with pytest.raises(InputError, match=r"params\.yaml: is not YAML"):
        read_config_file(str(tmp_path / "params.yaml"))


@pytest.mark.parametrize("path", ["/elsewhere/ckpt-1", "../other/ckpt-1", "below/ckpt-1"])
def test_run_deletes_no_checkpoints_of_other_directories(tmp_path, path):
    """TensorFlow deletes old checkpoints wherever the file `checkpoint` says that they are."""
    folder = tmp_path / "run"
    (folder / "below").mkdir(parents=True)
    (folder / "checkpoint").write_text(
        f'model_checkpoint_path: "ckpt-2"\nall_model_checkpoint_paths: "{path}"\n'
    )
    with rejects("run/checkpoint", "lists", "ckpt-1", "not in its directory"):
        checkpoints.CheckpointManager(tf.train.Checkpoint(), str(folder), max_to_keep=1)


def test_run_json_cannot_locate_data():
    kept = {"task_name": "sst-2", "data_dir": "/etc", "train_file": "/etc/passwd"}
    assert DATA["classifier"].settings_class.from_model(kept, {}).data_dir is None
    assert (
        DATA["classifier"].settings_class.from_model(kept, {"data_dir": "here"}).data_dir == "here"
    )
    assert DATA["token_classifier"].settings_class.from_model(kept, {}).train_file is None


def test_the_description_of_a_shard_cannot_locate_files(tmp_path):
    (tmp_path / "a.tfrecord.shard.json").write_text(
        json.dumps(
            {
                "run": "r",
                "files": [{"file": "../../etc/passwd", "bytes": 1, "sha256": ""}],
                "counts": {},
            }
        )
    )
    shard = Shard(0, 1, (), (str(tmp_path / "a.tfrecord"),), "r")
    assert read_finished(shard) is None
    (tmp_path / "a.tfrecord").write_bytes(b"x")
    assert read_finished(shard) == Counts()


def test_teacher_outputs_cannot_leave_their_directory(tmp_path):
    (tmp_path / "values.json").write_text(
        json.dumps({"entries": {"../x": {"shape": [], "dtype": "float32"}}})
    )
    with pytest.raises(InputError, match="lists files of other directories"):
        teacher_outputs.read(str(tmp_path), [1, 1, 1])


def test_decompression_bomb(tmp_path, monkeypatch):
    """Only a line or a word must fit in memory, and their sizes are limited."""
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"x" * 1_000_000))
    assert os.path.getsize(path) < 2000
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 50_000)
    for separator in (b"\n", b" "):
        with rejects(None, "line of over 50,000 bytes"):
            list(reading.read_blocks(str(path), block_bytes=10_000, separator=separator))
