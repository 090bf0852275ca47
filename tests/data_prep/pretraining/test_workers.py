"""Records created in worker processes, and a run that is killed."""

import functools
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from data_prep.pretraining import InstanceSettings
from data_prep.pretraining.plan import create_pretraining_data
from data_prep.sharding import local_runner
from tests import scripts
from tests.data_prep.machine.test_processes import wait_until_dead
from tests.data_prep.pretraining.pretraining_records import CORPUS_FILE, VOCAB_FILE, contents

SCRIPT = "data_prep.create_pretraining_data"


@pytest.fixture(scope="module")
def create(reference_tokenizer):
    """Function that creates four shards of a text."""
    def create(folder, text=CORPUS_FILE, num_output_shards=4, num_workers=None):
        return create_pretraining_data(
            [str(text)], [str(folder / "a.tfrecord")], reference_tokenizer,
            InstanceSettings(max_seq_length=64, dupe_factor=9), 12345, num_output_shards=num_output_shards,
            create_shards=functools.partial(local_runner.create_shards, num_workers=num_workers))
    return create


def test_records_do_not_depend_on_the_number_of_workers(tmp_path, create):
    summary = create(tmp_path / "one", num_workers=1)
    assert create(tmp_path / "three", num_workers=3).counts == summary.counts
    assert contents(tmp_path / "three") == contents(tmp_path / "one")


def test_an_error_of_a_worker_ends_the_run(tmp_path, create):
    (tmp_path / "a-00002-of-00004.tfrecord.partial").mkdir(parents=True)
    with pytest.raises(OSError, match=r"a-00002-of-00004.tfrecord: cannot be written: Is a directory"):
        create(tmp_path, num_workers=2)
    assert [path.name for path in tmp_path.glob("*.partial")] == ["a-00002-of-00004.tfrecord.partial"]


def test_functions_are_compiled_once_for_all_workers(tmp_path):
    flags = {"input_file": CORPUS_FILE, "vocab_file": VOCAB_FILE, "num_output_shards": 2, "num_workers": 2,
             "max_seq_length": 64, "output_file": tmp_path / "a.tfrecord"}
    done = subprocess.run(  # Not a fork of the test server, which has imported numba with its environment.
        scripts.command(SCRIPT, **flags), capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "code"), "NUMBA_DEBUG_CACHE": "1"})
    saved = [line for line in done.stdout.splitlines() if "data saved to" in line]
    assert len(saved) == len(set(saved)) == 5
    assert sum("data loaded from" in line for line in done.stdout.splitlines()) == 2 * 5


def find_children(process):
    """Returns the IDs of the processes that a process started and that still exist."""
    try:
        return [int(each) for each in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:  # it has ended
        return []


def test_a_run_that_is_killed_resumes_and_creates_the_same_bytes(tmp_path, create):
    random_state = random.Random(11)
    text, folder = tmp_path / "text.txt", tmp_path / "killed"
    text.write_bytes((pathlib.Path(CORPUS_FILE).read_bytes().rstrip() + b"\n\n") * 20)
    command = scripts.command(
        SCRIPT, input_file=text, output_file=folder / "a.tfrecord", vocab_file=VOCAB_FILE, dupe_factor=9,
        num_output_shards=8, num_workers=2, max_seq_length=64)
    endings = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "ended by SIGTERM")}
    for signal_number in (signal.SIGKILL, *endings):
        num_finished = len(list(folder.glob("*.tfrecord")))
        with scripts.Process(command) as process:
            while process.poll() is None and len(list(folder.glob("*.tfrecord"))) == num_finished:
                time.sleep(0.005)
            time.sleep(random_state.uniform(0, 0.03))
            workers = find_children(process.pid)
            process.send_signal(signal_number)
            errors = process.communicate()[1]
        assert wait_until_dead(workers)
        if signal_number in endings:
            status, message = endings[signal_number]
            assert process.returncode == status
            assert errors.splitlines()[-1] == f"create_pretraining_data.py: {message}"
            assert not list(folder.glob("*.partial"))
    done = scripts.run(command)
    assert done.returncode == 0, done.stderr
    assert "of 8 shards are finished, " in done.stdout
    create(tmp_path / "complete", text, num_workers=1, num_output_shards=8)
    assert contents(folder) == contents(tmp_path / "complete")
