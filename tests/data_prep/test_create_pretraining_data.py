"""The script: its flags, its one-line errors, and what is left when it is killed."""

import gzip
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

from bert_tf.tokenization import BertTokenizer
from data_prep import create_pretraining_data
from data_prep.pretraining import InstanceSettings, local_runner
from tests import scripts
from tests.data_prep.machine.test_processes import wait_until_dead
from tests.data_prep.pretraining.pretraining_records import (
    CORPUS_FILE,
    RUNS,
    VOCAB_FILE,
    contents,
    digest,
    read_records,
)

NAME = "data_prep.create_pretraining_data"
SCRIPT = [create_pretraining_data.__file__]


def run_script(command, **flags):
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    return subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("is_module", [True, False], ids=["module", "script"])
def test_script(tmp_path, is_module):
    run = dict(RUNS["wwm"])
    count, sha256 = run.pop("num_records"), run.pop("sha256")
    del run["name"]
    half = pathlib.Path(CORPUS_FILE).read_bytes().index(b"\n\n") + 2
    (tmp_path / "1.txt.gz").write_bytes(gzip.compress(pathlib.Path(CORPUS_FILE).read_bytes()[:half]))
    (tmp_path / "2.txt").write_bytes(pathlib.Path(CORPUS_FILE).read_bytes()[half:])
    output = tmp_path / "a.tfrecord"

    flags = {"input_file": f"{tmp_path}/*.txt*", "output_file": output, "vocab_file": VOCAB_FILE, **run}
    done = scripts.run_script(NAME, **flags) if is_module else run_script(SCRIPT, **flags)

    assert done.returncode == 0, done.stderr
    assert f"{count} records" in done.stdout
    for step in ("tokenizing", "making instances", "writing"):
        assert f"{step}: 100%" in done.stderr
    assert digest(read_records(output)) == sha256


def test_accents_may_stay_in_lower_case(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "größe", "grosse"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    (tmp_path / "text.txt").write_text("Größe Größe\nGröße\n\nGröße\nGröße Größe\n\n", encoding="utf-8")
    flags = {"input_file": "text.txt", "output_file": "a.tfrecord", "vocab_file": "vocab.txt", "dupe_factor": 1}
    assert "(0.00% [UNK])" in scripts.succeed(NAME, tmp_path, **flags, strip_accents=False)
    assert "--strip_accents was False, now None" in scripts.last_error(NAME, tmp_path, **flags)
    assert "(100.00% [UNK])" in scripts.succeed(NAME, tmp_path, **flags | {"output_file": "b.tfrecord"})


def test_script_refuses():
    done = run_script(SCRIPT, input_file=CORPUS_FILE, output_file="x", vocab_file="none.txt")

    assert done.returncode == 1
    assert done.stderr.splitlines() == ["create_pretraining_data.py: --vocab_file=none.txt: no such file"]


def make_text(path, repeats):
    path.write_bytes((pathlib.Path(CORPUS_FILE).read_bytes().rstrip() + b"\n\n") * repeats)
    return path


def sharded(folder, text):
    """Flags of a run of 8 shards and 2 workers that takes some seconds when TensorFlow is there: it can be stopped."""
    return {"input_file": text, "output_file": folder / "a.tfrecord", "vocab_file": VOCAB_FILE, "dupe_factor": 9,
            "num_output_shards": 8, "num_workers": 2, "max_seq_length": 64}


def children(process):
    """Ids of the processes that a process started and still has."""
    try:
        return [int(each) for each in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:  # it has ended
        return []


def test_stopped_at_random_moments_it_resumes_to_the_same_bytes(tmp_path):
    draw = random.Random(11)
    text, folder = make_text(tmp_path / "text.txt", 20), tmp_path / "stopped"
    flags = sharded(folder, text)
    endings = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "ended by SIGTERM")}
    for signal_number in (signal.SIGKILL, *endings):
        num_finished = len(list(folder.glob("*.tfrecord")))
        with scripts.Process(scripts.command(NAME, **flags)) as process:
            while process.poll() is None and len(list(folder.glob("*.tfrecord"))) == num_finished:
                time.sleep(0.005)
            time.sleep(draw.uniform(0, 0.03))
            workers = children(process.pid)
            process.send_signal(signal_number)
            errors = process.communicate()[1]
        assert wait_until_dead(workers)
        if signal_number in endings:
            status, said = endings[signal_number]
            assert process.returncode == status
            assert errors.splitlines()[-1] == f"create_pretraining_data.py: {said}"
            assert not list(folder.glob("*.partial"))
    done = scripts.run_script(NAME, **flags)

    assert done.returncode == 0, done.stderr
    assert "of 8 shards are finished already" in done.stdout
    local_runner.create_pretraining_data(
        [str(text)], [str(tmp_path / "whole" / "a.tfrecord")], BertTokenizer(VOCAB_FILE),
        InstanceSettings(max_seq_length=64, dupe_factor=9), 12345, num_output_shards=8, num_workers=1)
    assert contents(folder) == contents(tmp_path / "whole")


def test_functions_are_compiled_once_for_all_workers(tmp_path):
    text = make_text(tmp_path / "text.txt", 1)
    flags = {"input_file": text, "vocab_file": VOCAB_FILE, "num_output_shards": 2, "num_workers": 2,
             "max_seq_length": 64}
    done = subprocess.run(  # the tests' fork server has imported numba, which reads its environment then
        scripts.command(NAME, output_file=tmp_path / "compiled" / "a.tfrecord", **flags), capture_output=True,
        text=True, check=False, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "code"), "NUMBA_DEBUG_CACHE": "1"})
    assert done.returncode == 0, done.stderr
    saved = [line for line in done.stdout.splitlines() if "data saved to" in line]
    assert len(saved) == len(set(saved)) == 5
    assert sum("data loaded from" in line for line in done.stdout.splitlines()) == 2 * 5


def test_no_space_leaves_nothing_half_written(tmp_path):
    """A limit on the size of a file stands in for a full disk: writing fails as it would there."""
    text = make_text(tmp_path / "text.txt", 2)
    done = subprocess.run(
        scripts.command(NAME, **sharded(tmp_path / "out", text)), capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (99_999, 99_999)))

    assert done.returncode == 1
    last_line = done.stderr.splitlines()[-1]
    assert last_line.startswith(f"create_pretraining_data.py: {tmp_path}/out/a-0000")
    assert last_line.endswith("-of-00008.tfrecord: cannot be written: File too large")
    assert list((tmp_path / "out").iterdir()) == []
