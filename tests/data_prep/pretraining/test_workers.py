"""Records created in worker processes, and a run that is killed."""

import os
import pathlib
import random
import signal
import time

import pytest

from data_prep.pretraining import InstanceSettings, JobSettings, job
from tests import scripts
from tests.data_prep.pretraining.pretraining_records import CORPUS_FILE, VOCAB_FILE, contents
from tests.data_prep.worker_processes import wait_until_dead

pytestmark = pytest.mark.extra_large

SCRIPT = "data_prep.create_pretraining_data"


def create(folder, text=CORPUS_FILE, num_output_shards=4, num_workers=None):
    """Creates shards of a text."""
    return job.run(
        JobSettings(
            input_file=str(text),
            output_file=str(folder / "a.tfrecord"),
            vocab_file=VOCAB_FILE,
            instances=InstanceSettings(max_seq_length=64, dupe_factor=9),
            num_output_shards=num_output_shards,
            num_workers=num_workers,
        )
    )


def test_records_do_not_depend_on_the_number_of_workers(tmp_path):
    counts, _ = create(tmp_path / "one", num_workers=1)
    for num_workers in (2, 3):
        assert create(tmp_path / str(num_workers), num_workers=num_workers)[0] == counts
        assert contents(tmp_path / str(num_workers)) == contents(tmp_path / "one")


def find_children(process):
    """Returns the IDs of the processes that a process started and that still exist."""
    try:
        return [
            int(child)
            for child in pathlib.Path(f"/proc/{process}/task/{process}/children")
            .read_text()
            .split()
        ]
    except FileNotFoundError:  # it has ended
        return []


def test_a_run_that_is_killed_resumes_and_creates_the_same_bytes(tmp_path):
    random_state = random.Random(11)
    text = tmp_path / "text.txt"
    folder = tmp_path / "killed"
    text.write_bytes((pathlib.Path(CORPUS_FILE).read_bytes().rstrip() + b"\n\n") * 20)
    command = scripts.command(
        SCRIPT,
        input_file=text,
        output_file=folder / "a.tfrecord",
        vocab_file=VOCAB_FILE,
        dupe_factor=9,
        num_output_shards=8,
        num_workers=2,
        max_seq_length=64,
    )
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
    with scripts.Process(command) as process:
        workers = []
        while len(workers) < 2:  # The first is multiprocessing's resource tracker.
            time.sleep(0.005)
            workers = find_children(process.pid)
        os.kill(workers[-1], signal.SIGKILL)
        errors = process.communicate()[1]
        assert process.returncode == 1
        assert errors.splitlines()[-1].startswith(
            "create_pretraining_data.py: a worker process was killed, often for lack of memory; "
            "to continue, run the"
        )
    done = scripts.run(command)
    assert done.returncode == 0, done.stderr
    assert "of 8 shards are finished, " in done.stdout
    create(tmp_path / "complete", text, num_workers=1, num_output_shards=8)
    assert contents(folder) == contents(tmp_path / "complete")
