"""Records from a Dask cluster of three worker processes, of which some are killed."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("apache_beam")
pytest.importorskip("distributed")

from tests import scripts
from tests.data_prep.pretraining.pretraining_records import VOCAB_FILE, contents

pytestmark = pytest.mark.extra_large

NUM_SHARDS = 12
SECONDS = 120
REPOSITORY = pathlib.Path(__file__).parents[3]
SCRIPT = "data_prep.create_pretraining_data"


@pytest.fixture
def cluster(tmp_path):
    """Starts a cluster; yields its scheduler file and its worker processes."""
    scheduler_file = tmp_path / "scheduler.json"
    processes = []

    def start(name, *arguments):
        with open(tmp_path / f"{name}.log", "w", encoding="utf-8") as log:
            processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        f"distributed.cli.{name}",
                        f"--scheduler-file={scheduler_file}",
                        "--no-dashboard",
                        *arguments,
                    ],
                    cwd=tmp_path,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                )
            )

    try:
        start("dask_scheduler", "--host=127.0.0.1", "--port=0")
        scripts.wait_until(scheduler_file.exists)
        for _ in range(3):
            start("dask_worker", "--nthreads=1", "--no-nanny")
        yield scheduler_file, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_killed_workers_and_a_killed_driver(cluster, tmp_path):
    scheduler_file, workers = cluster
    text = tmp_path / "text.txt"
    text.write_text(
        "\n\n".join(
            "\n".join(f"The word {i} of {j} is here." for i in range(9)) for j in range(240)
        )
    )
    flags = {
        "input_file": text,
        "vocab_file": VOCAB_FILE,
        "num_output_shards": NUM_SHARDS,
        "dupe_factor": 3,
        "max_seq_length": 32,
        "max_predictions_per_seq": 5,
    }
    scripts.succeed(SCRIPT, **flags, output_file=tmp_path / "local" / "a.tfrecord", num_workers=1)
    expected = contents(tmp_path / "local")
    cluster_flags = {
        **flags,
        "runner": "dask",
        "beam_options": f"--dask_scheduler_file={scheduler_file}",
    }

    def finished(folder):
        return list((tmp_path / folder).glob("*.shard.json"))

    folder = tmp_path / "one"
    status, errors = scripts.kill_when(
        scripts.command(SCRIPT, **cluster_flags, output_file=folder / "a.tfrecord"),
        None,
        lambda: finished("one"),
    )
    assert status == -9, errors
    output = scripts.succeed(SCRIPT, **cluster_flags, output_file=folder / "a.tfrecord")
    assert re.search(r"resuming; [1-9]\d* of 12 shards are finished", output)
    assert contents(folder) == expected

    command = scripts.command(SCRIPT, **cluster_flags, output_file=tmp_path / "two" / "a.tfrecord")
    with scripts.Process(command) as driver:
        scripts.wait_until(lambda: finished("two"))
        workers[0].kill()
        _, errors = driver.communicate(SECONDS)
        assert driver.returncode == 0, errors
    assert contents(tmp_path / "two") == expected
    assert len(finished("two")) == NUM_SHARDS
