"""Fine-tuning on SST-2 and MRPC, compared with Hugging Face on PyTorch and with KerasHub: accuracy and minutes.

    python -m benchmarks.fine_tuning --sst2_dir=SST-2 --mrpc_dir=MRPC --init_checkpoint=minilm

This project runs `run.run_classifier` in its own process, and so does each peer. All use the same rows, checkpoint,
epochs, batch size, learning rate, and maximum length, and compute the accuracy on the development set. The minutes
cover the complete process, with imports, tokenization, and evaluation. The runs do not take turns.
"""

import dataclasses
import itertools
import os
import subprocess
import sys
import tempfile
import time

from benchmarks import measurements, peer_process
from bert_tf import files
from bert_tf.cli import flags, paths, script
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from data_prep.tasks import glue

TASKS = {"sst2_dir": "sst-2", "mrpc_dir": "mrpc"}
TITLES = {"sst-2": "SST-2", "mrpc": "MRPC"}
PEERS = {"Hugging Face on PyTorch": (("torch", "transformers"), "benchmarks.peers.torch_classifier"),
         "KerasHub": (("keras_hub",), "benchmarks.peers.keras_hub_classifier")}
DTYPES = ("float32", "bfloat16")
WARMUP = 0.1  # The default of run_classifier.


@dataclasses.dataclass(frozen=True)
class FineTuningSettings(measurements.KeptResults):
    """Settings for the measurement."""

    sst2_dir: str | None = setting(None, "Directory of SST-2's train.tsv and dev.tsv from GLUE.")
    mrpc_dir: str | None = setting(None, "Directory of MRPC's train.tsv and dev.tsv in GLUE's layout.")
    init_checkpoint: str | None = setting(None, "Directory of a Hugging Face model. Required.")
    dtypes: tuple[str, ...] = setting(DTYPES, f"Types of the computations: {', '.join(DTYPES)}.")
    peers: bool = setting(True, "Run the peers too.")
    num_train_rows: int = setting(8000, "Maximum number of training rows: the first rows of the file.", lower=1)
    num_train_epochs: float = setting(3.0, "Number of training epochs.", lower=0)
    train_batch_size: int = setting(32, "Batch size.", lower=1)
    learning_rate: float = setting(5e-5, "Peak learning rate.", lower=0)
    max_seq_length: int = setting(128, "Maximum length in tokens. Only KerasHub pads to it.", lower=8)
    random_seed: int = setting(12345, "Seed of each run.")

    def check(self):
        """See Settings."""
        for dtype in self.dtypes:
            if dtype not in DTYPES:
                raise InputError(f"`dtypes`={dtype}: must be one of {', '.join(DTYPES)}")


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(FineTuningSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(FineTuningSettings()))


def measure(settings):
    """Prints a line for each run and stores the comparisons with the peers; settings: FineTuningSettings."""
    folders = {task: getattr(settings, name) for name, task in TASKS.items() if getattr(settings, name)}
    if not folders:
        raise InputError("`sst2_dir` or `mrpc_dir` is required")
    if not settings.init_checkpoint:
        raise InputError("`init_checkpoint` is required")
    paths.check_file("init_checkpoint", os.path.join(settings.init_checkpoint, "config.json"))
    rows = {task: [glue.read_examples(glue.TASKS[task], folder, split) for split in ("train", "dev")]
            for task, folder in folders.items()}
    comparisons, left_out = [], set()
    for task, dtype in itertools.product(rows, settings.dtypes):
        training, development = rows[task]
        training = take_rows(training, settings.num_train_rows)
        ours = run_ours(task, folders[task], dtype, settings)
        report(task, dtype, "this project", *ours)
        for name, (packages, module) in PEERS.items() if settings.peers else ():
            result = run_peer(name, packages, module, training, take_rows(development), dtype, settings)
            if result is None:
                left_out.add(name)
                continue
            report(task, dtype, name, *result)
            comparisons.append(measurements.Comparison(
                f"Fine-tuning on {TITLES[task]}, {dtype}", name, ours[0] / 60, result[0] / 60, "min", False,
                tuple(f"accuracy {score:.3f}" for score in (ours[1], result[1]))))
    measurements.keep("fine_tuning", settings, comparisons, left_out=sorted(left_out))


def report(task, dtype, name, seconds, accuracy):
    """Prints the line of a run."""
    print(f"{TITLES[task]:<6} {dtype:<9} {name:<24} {seconds / 60:6.2f} min  accuracy {accuracy:.4f}", flush=True)


def take_rows(examples, count=None):
    """Returns the first `count` rows of Examples as lists (text_a, text_b, labels); text_b can be None."""
    text_b = list(examples.text_b[:count]) if examples.text_b else None
    return list(examples.text_a[:count]), text_b, [int(label) for label in examples.labels[:count]]


def run_ours(task, folder, dtype, settings):
    """Fine-tunes with run_classifier; returns the seconds of its process and the accuracy."""
    split = glue.TASKS[task].splits
    with tempfile.TemporaryDirectory() as temporary:
        data = os.path.join(temporary, "data")
        os.mkdir(data)
        copy_lines(os.path.join(folder, split["train"].file), os.path.join(data, split["train"].file),
                   settings.num_train_rows + split["train"].header)
        copy_lines(os.path.join(folder, split["dev"].file), os.path.join(data, split["dev"].file))
        options = {
            "task_name": task, "data_dir": data, "output_dir": os.path.join(temporary, "output"),
            "init_checkpoint": os.path.abspath(settings.init_checkpoint), "mixed_precision": dtype,
            **{name: getattr(settings, name) for name in (
                "num_train_epochs", "train_batch_size", "learning_rate", "max_seq_length", "random_seed")}}
        start = time.perf_counter()
        process = subprocess.run(
            [sys.executable, "-m", "run.run_classifier", "--do_train", "--do_eval",
             *(f"--{name}={value}" for name, value in options.items())], capture_output=True, text=True, check=False,
            cwd=peer_process.ROOT)
        seconds = time.perf_counter() - start
        if process.returncode:
            raise InputError(f"run.run_classifier failed: {process.stderr.strip().splitlines()[-1]}")
        results = files.read_text(os.path.join(temporary, "output", "eval_results.txt"))
    scores = dict(line.split(" = ") for line in results.splitlines())
    return seconds, float(scores["eval_accuracy"])


def copy_lines(path, new_path, count=None):
    """Writes the first `count` lines of a file to another one."""
    with open(path, "rb") as file, open(new_path, "wb") as new_file:
        new_file.writelines(itertools.islice(file, count))


def run_peer(name, packages, module, training, development, dtype, settings):
    """Fine-tunes with a peer; returns the seconds of its process and the accuracy, or None after a note."""
    options = {"epochs": settings.num_train_epochs, "batch_size": settings.train_batch_size,
               "learning_rate": settings.learning_rate, "warmup": WARMUP, "max_seq_length": settings.max_seq_length,
               "seed": settings.random_seed, "dtype": dtype, "num_labels": 2}
    start = time.perf_counter()
    with peer_process.start(name, packages, module) as peer:
        if peer is None:
            return None
        try:
            predictions = peer.call("train", os.path.abspath(settings.init_checkpoint), training, development, options)
        except peer_process.PeerError as error:
            print(f"note: {name} is not measured: {error}", flush=True)
            return None
        seconds = time.perf_counter() - start
    labels = development[2]
    return seconds, sum(map(int.__eq__, predictions, labels)) / len(labels)


if __name__ == "__main__":
    script.run(main, define_flags)
