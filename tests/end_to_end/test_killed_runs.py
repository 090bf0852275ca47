"""A preempted run, a killed search, and runs of two processes.

tests/robustness/soak kills all other jobs.
"""

import contextlib
import pathlib
import re
import signal
import socket
import time

import pytest

from tests import scripts
from tests.clusters import start_workers
from tests.end_to_end.toy_files import VOCABULARY, assert_same_tensors, read_results
from tests.errors import check_message

pytestmark = pytest.mark.extra_large

STEPS = 24  # Of 8 records.
PRETRAINING = {
    "bert_config_file": "bert_config.json",
    "input_file": "train.tfrecord",
    "do_train": True,
    "max_seq_length": 24,
    "max_predictions_per_seq": 4,
    "train_batch_size": 8,
    "num_train_steps": STEPS,
    "num_warmup_steps": 2,
    "save_checkpoints_steps": 4,
    "learning_rate": 1e-3,
}
FINE_TUNING = {
    "task_name": "custom",
    "data_dir": "words",
    "bert_config_file": "bert_config.json",
    "vocab_file": VOCABULARY,
    "max_seq_length": 16,
    "random_seed": 7,
    "do_train": True,
    "do_eval": True,
    "save_checkpoints_steps": 6,
}
SEARCH = {
    **FINE_TUNING,
    "search": True,
    "search_batch_sizes": 8,
    "search_learning_rates": "1e-6,3e-3",
    "search_epochs": 3,
    "output_dir": "searched",
}
FIRST, SECOND = (
    pathlib.Path(f"searched/search/batch8_lr{rate}_epochs3") for rate in ("1e-06", "0.003")
)


@pytest.mark.timeout(240)  # It trains twice.
def test_preempted_pretraining(prepared):
    command = scripts.command(
        "run.run_pretraining", output_dir="broken", iterations_per_loop=1, **PRETRAINING
    )
    status, errors = scripts.kill_when(
        command, prepared, (prepared / "broken" / "ckpt-4.index").exists, signal.SIGTERM
    )
    assert status == 143
    saved = re.search(
        r"broken: stopped by SIGTERM and saved at step (\d+); run the same command to resume",
        errors,
    )
    assert saved, errors[-3000:]
    assert (prepared / "broken" / f"ckpt-{saved[1]}.index").exists()
    output = scripts.succeed("run.run_pretraining", prepared, output_dir="broken", **PRETRAINING)
    assert f"broken: resuming at step {saved[1]} of {STEPS}" in output
    output = scripts.succeed("run.run_pretraining", prepared, output_dir="broken", **PRETRAINING)
    assert "training is finished at step 24 of 24" in output


@pytest.mark.timeout(180)  # It trains five times.
def test_search_that_is_killed_in_its_second_trial_gives_the_same_bits(words_folder):
    command = scripts.command("run.run_classifier", **SEARCH, iterations_per_loop=1)
    status, _ = scripts.kill_when(
        command, words_folder, (words_folder / SECOND / "checkpoint").exists
    )
    assert status == -signal.SIGKILL
    finished = words_folder / FIRST / "trial.json"
    written = finished.stat().st_mtime_ns
    done = scripts.run_script("run.run_classifier", words_folder, **SEARCH, do_predict=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"search: trial 2 of 2, {SECOND.name}\n" in done.stdout
    assert f"{SECOND}: resuming at step " in done.stdout
    assert finished.stat().st_mtime_ns == written
    assert done.stderr.count("train: 80 rows;") == 1  # Read and tokenized once for all trials.
    assert (
        f"best of 2 trials by eval_accuracy: {SECOND}; its weights are in searched" in done.stdout
    )

    scripts.succeed(
        "run.run_classifier",
        words_folder,
        **FINE_TUNING,
        output_dir="alone",
        train_batch_size=8,
        learning_rate=3e-3,
        num_train_epochs=3,
    )
    searched = words_folder / "searched"
    alone = words_folder / "alone"
    assert_same_tensors(words_folder / SECOND, alone)
    assert_same_tensors(searched, alone, prefix="model/")
    assert read_results(searched / "eval_results.txt") == read_results(alone / "eval_results.txt")
    assert len((searched / "test_results.tsv").read_text().splitlines()) == 20
    error = scripts.fail("run.run_classifier", words_folder, **FINE_TUNING, output_dir="searched")
    check_message(
        error.removeprefix("run_classifier.py: "),
        "output_dir",
        "contains a search",
        "set --search",
        value="searched",
    )


@pytest.mark.timeout(240)  # Two processes must find each other.
def test_of_two_processes_one_writes(words_folder):
    """Both processes use the weights of the last evaluation, which one of them has just written."""
    command = scripts.command(
        "run.run_classifier",
        **{
            **FINE_TUNING,
            "output_dir": "two_processes",
            "do_predict": True,
            "eval_steps": 1000,
            "train_batch_size": 8,
            "num_train_epochs": 1.0,
            "save_checkpoints_steps": None,
            "distribution_strategy": "multi_worker_mirrored",
        },
    )
    with contextlib.ExitStack() as stack:
        _, processes = start_workers(stack, words_folder, command)
        answers = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], (
        answers[0][1][-2000:] + answers[1][1][-2000:]
    )
    assert ["eval_accuracy = " in output for output, _ in answers] == [True, False]
    written = words_folder / "two_processes"
    assert read_results(written / "eval_results.txt")["global_step"] == 10
    assert (written / "best" / "ckpt-10.index").exists()
    assert len((written / "test_results.tsv").read_text().splitlines()) == 20
    assert not list(words_folder.glob("worker_*"))


def is_listening(address):
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
        return True
    return False


@pytest.mark.timeout(300)  # Processes must find each other.
def test_workers_that_never_come_and_that_are_lost(prepared):
    command = scripts.command(
        "run.run_pretraining",
        **{
            **PRETRAINING,
            "output_dir": "lost",
            "num_train_steps": 100_000,
            "log_steps": 1,
            "distribution_strategy": "multi_worker_mirrored",
        },
    )
    with contextlib.ExitStack() as stack:
        addresses, (alone,) = start_workers(stack, prepared, command, 1)
        scripts.wait_until(lambda: is_listening(addresses[0]))
        time.sleep(1)
        alone.send_signal(signal.SIGINT)
        _, errors = alone.communicate(30)
    assert alone.returncode in (-signal.SIGINT, 130)
    assert f"worker 0 at {addresses[0]}: waiting for worker 1 at {addresses[1]}\n" in errors
    assert not (prepared / "lost").exists()

    with contextlib.ExitStack() as stack:
        addresses, (survivor, lost) = start_workers(stack, prepared, command)
        scripts.wait_until((prepared / "lost" / "ckpt-4.index").exists)
        lost.kill()
        _, errors = survivor.communicate(90)
    message = re.search(
        rf"lost: lost the connection to worker 1 at {addresses[1]}; "
        r"the last checkpoint is ckpt-(\d+); run the same command on every worker to continue\n$",
        errors,
    )
    assert survivor.returncode == 75, errors[-2000:]
    assert message, errors[-2000:]
    output = scripts.succeed(
        "run.run_pretraining",
        prepared,
        **{**PRETRAINING, "output_dir": "lost", "num_train_steps": int(message[1]) + 4},
    )
    assert f"lost: resuming at step {message[1]} of " in output
