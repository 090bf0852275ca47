"""Startup times of commands, in one tree or in two trees by turns."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from tests.guards import operations, toy

TIMES = 5
OF_PRETRAINING = ("--bert_config_file=config.json", "--vocab_file=vocab.txt", "--input_file=none.tfrecord",
                  "--output_dir=none", "--do_train")


def commands(folder):
    """Returns the timed commands, dict of name to Python arguments and exit status. Exports the model of the fourth."""
    model = operations.export("pretraining", "litert_masked_lm", folder, task="masked_lm", **{
        **operations.LITERT, **operations.OF_PRETRAINING}) / "model_float32.tflite"
    return {
        "run_classifier --help": (["-m", "run.run_classifier", "--help"], 1),
        "create_pretraining_data --help": (["-m", "data_prep.create_pretraining_data", "--help"], 1),
        "a value that run_pretraining rejects": (
            ["-m", "run.run_pretraining", *OF_PRETRAINING, "--train_batch_size=-1"], 1),
        "fill_mask of a .tflite file": (["-m", "run.fill_mask", f"--model={model}", "--text=the [MASK] stops"], 0),
        "import bert_tf": (["-c", "import bert_tf"], 0),
    }


def run(other=None):
    """Prints the median time of each command, in seconds. For two trees it also prints the ratio.

    Args:
      other: Directory of the other tree, or None.
    """
    trees = [os.getcwd(), *([os.path.abspath(other)] if other else [])]
    with tempfile.TemporaryDirectory() as folder:
        toy.write(pathlib.Path(folder))
        for name, (arguments, status) in commands(pathlib.Path(folder)).items():
            taken = [[] for _ in trees]
            for _ in range(TIMES + 1):  # the first run reads files into the page cache
                for seconds, tree in zip(taken, trees, strict=True):
                    seconds.append(timed(arguments, status, tree, folder))
            here, *there = (statistics.median(seconds[1:]) for seconds in taken)
            beside = f", there {there[0]:.2f} s: here / there = {here / there[0]:.2f}" if there else ""
            print(f"{name}: {here:.2f} s{beside}", flush=True)


def timed(arguments, status, tree, folder):
    """Times a command in a tree, in seconds. Raises AssertionError for another exit status."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": tree},
                          capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    assert done.returncode == status, done.stderr[-2000:]
    return seconds
