"""An output has one writer at a time, and a lock ends with its process."""

import os
import subprocess
import sys

import pytest

from bert_tf.errors import InputError
from bert_tf.files import lock_output
from tests import scripts

HOLD = ("import sys\nfrom bert_tf.files import lock_output\nwith lock_output('output_dir', sys.argv[1]):\n"
        "    print('held', flush=True)\n    sys.stdin.read()")


def lock_error(path):
    """Returns the message of the error in locking a path."""
    with pytest.raises(InputError) as caught, lock_output("output_dir", str(path)):
        pass
    return str(caught.value)


@pytest.mark.parametrize("name", ["directory", "a.tfrecord"])
def test_this_process_locks_an_output_once(tmp_path, name):
    (tmp_path / "directory").mkdir()
    path = str(tmp_path / name)
    with lock_output("output_dir", path), lock_output("output_dir", f"{tmp_path}/other"):
        assert lock_error(path) == f"`output_dir`={path}: locked by process {os.getpid()}; wait until it finishes, " \
                                   "or stop it"
    with pytest.raises(ZeroDivisionError), lock_output("output_dir", path):
        raise ZeroDivisionError
    with lock_output("output_dir", path):
        pass
    assert os.listdir(tmp_path) == ["directory"]
    assert os.listdir(tmp_path / "directory") == []


@pytest.mark.large
def test_a_lock_ends_with_a_killed_process(tmp_path):
    for path, left in ((tmp_path, []), (tmp_path / "a.tfrecord", [".a.tfrecord.lock"])):
        with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, cwd=scripts.ROOT) as holder:
            assert holder.stdout.readline() == "held\n"
            assert f"locked by process {holder.pid};" in lock_error(path)
            holder.kill()
        assert os.listdir(tmp_path) == left
        with lock_output("output_dir", str(path)):
            pass


def test_remote_outputs_have_no_locks():
    with lock_output("output_dir", "ram://folder"), lock_output("output_dir", "ram://folder"):
        pass
