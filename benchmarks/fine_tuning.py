"""Fine-tuning on SST-2 and MRPC, compared with Hugging Face on PyTorch and with KerasHub.

    python -m benchmarks.fine_tuning --sst2_dir=SST-2 --mrpc_dir=MRPC --init_checkpoint=minilm

The results are accuracy and minutes. This project runs `run.run_classifier` in its own process, and
so does each peer, all with the same rows, checkpoint, and hyperparameters. The minutes cover the
complete process, with imports, tokenization, and evaluation. The runs do not take turns.
"""

import dataclasses
import itertools
import os
import subprocess
import sys
import tempfile
import time

from benchmarks import measurements
from benchmarks.peer_process import ROOT, PeerError
from benchmarks.peers import LabeledTexts
from bert_tf import files
from bert_tf.cli import roles, script
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from data_prep.datasets import published, reader
from run.training.results import RESULTS_FILE

PEERS = {
    "Hugging Face on PyTorch": (("torch", "transformers"), "benchmarks.peers.torch_classifier"),
    "KerasHub": (("keras_hub",), "benchmarks.peers.keras_hub_classifier"),
}
HYPERPARAMETERS = (
    "num_train_epochs",
    "train_batch_size",
    "learning_rate",
    "max_seq_length",
    "random_seed",
)


@dataclasses.dataclass(frozen=True)
class FineTuningSettings(Settings):
    """Settings for the data and the hyperparameters."""

    results_dir: str = setting(
        measurements.RESULTS_DIR,
        "Directory for the comparisons, fine_tuning.json.",
        role=roles.OUTPUT_FOLDER,
    )
    sst2_dir: str | None = setting(
        None,
        "Directory of SST-2's train.tsv and dev.tsv from GLUE.",
        role=roles.INPUT_FOLDER,
        rules=[Required(unless="mrpc_dir")],
    )
    mrpc_dir: str | None = setting(
        None, "Directory of MRPC's train.tsv and dev.tsv in GLUE's layout.", role=roles.INPUT_FOLDER
    )
    init_checkpoint: str | None = setting(
        None, "Directory of a Hugging Face model. Required.", rules=[Required()], role=roles.INPUT
    )
    dtypes: tuple[str, ...] = setting(("float32", "bfloat16"), "Types of the computations.")
    num_train_rows: int = setting(
        8000, "Maximum number of training rows: the first rows of the file.", min_value=1
    )
    num_train_epochs: float = setting(3.0, "Number of training epochs.", min_value=0)
    train_batch_size: int = setting(32, "Batch size.", min_value=1)
    learning_rate: float = setting(5e-5, "Peak learning rate.", min_value=0)
    max_seq_length: int = setting(
        128, "Maximum length in tokens. Only KerasHub pads to it.", min_value=8
    )
    random_seed: int = setting(12345, "Seed of each run.")


COMMAND = script.Command(FineTuningSettings(), __name__)


def run(settings):
    """Fine-tunes on each data set, in each type, with each library.

    `settings` are FineTuningSettings.
    """
    folders = {"sst-2": settings.sst2_dir, "mrpc": settings.mrpc_dir}
    with measurements.Results("fine_tuning", settings) as results:
        for task, dtype in itertools.product(
            (task for task, folder in folders.items() if folder), settings.dtypes
        ):
            name = f"Fine-tuning on {task.upper()}, {dtype}"
            with tempfile.TemporaryDirectory() as data:
                for split, count in (("train", settings.num_train_rows), ("dev", None)):
                    copy_rows(folders[task], data, published.DATASETS[task].splits[split], count)
                minutes, accuracy = run_ours(task, data, dtype, settings)
                training, development = (read_rows(task, data, split) for split in ("train", "dev"))
            print(f"{name}, this project: {minutes:.2f} min, accuracy {accuracy:.4f}", flush=True)
            for peer in PEERS:
                outcome = run_peer(peer, training, development, dtype, settings, results)
                if outcome:
                    peer_minutes, peer_accuracy = outcome
                    scores = [f"accuracy {score:.3f}" for score in (accuracy, peer_accuracy)]
                    results.add(name, minutes, {peer: peer_minutes}, "min", scores=scores)


def copy_rows(folder, new_folder, split, count):
    """Copies the first `count` rows of the file of a Split into another directory.

    If `count` is None, it copies all rows.
    """
    num_lines = None if count is None else count + split.header
    with (
        open(os.path.join(folder, split.file), "rb") as file,
        open(os.path.join(new_folder, split.file), "wb") as new_file,
    ):
        new_file.writelines(itertools.islice(file, num_lines))


def read_rows(task, folder, split):
    """Returns the LabeledTexts of a split."""
    examples = reader.read_split(published.DATASETS[task], folder, split)
    return LabeledTexts(
        list(examples.text_a),
        examples.text_b and list(examples.text_b),
        list(map(int, examples.labels)),
    )


def run_ours(task, data, dtype, settings):
    """Fine-tunes with run_classifier; returns the minutes of its process and the accuracy."""
    with tempfile.TemporaryDirectory() as output:
        options = {
            "task_name": task,
            "data_dir": data,
            "output_dir": output,
            "init_checkpoint": os.path.abspath(settings.init_checkpoint),
            "mixed_precision": dtype,
            **{name: getattr(settings, name) for name in HYPERPARAMETERS},
        }
        start = time.perf_counter()
        process = subprocess.run(
            [
                sys.executable,
                "-m",
                "run.run_classifier",
                "--do_train",
                "--do_eval",
                *(f"--{name}={value}" for name, value in options.items()),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        minutes = (time.perf_counter() - start) / 60
        if process.returncode:
            raise InputError(
                f"run.run_classifier failed: {process.stderr.strip().splitlines()[-1]}"
            )
        results = files.read_text(os.path.join(output, RESULTS_FILE))
    scores = dict(line.split(" = ") for line in results.splitlines())
    return minutes, float(scores["eval_accuracy"])


def run_peer(name, training, development, dtype, settings, results):
    """Fine-tunes with a peer.

    Returns:
      Tuple `(minutes, accuracy)` of its process, or None after a note.
    """
    packages, module = PEERS[name]
    options = {
        "dtype": dtype,
        "num_labels": 2,
        **{name: getattr(settings, name) for name in HYPERPARAMETERS},
    }
    start = time.perf_counter()
    peer = results.start_peer(name, packages, module)
    if peer is None:
        return None
    try:
        predictions = peer.call(
            "train", os.path.abspath(settings.init_checkpoint), training, development, options
        )
    except PeerError as error:
        results.leave_out(name, error)
        return None
    finally:
        peer.close()
    minutes = (time.perf_counter() - start) / 60
    num_correct = sum(map(int.__eq__, predictions, development.labels))
    return minutes, num_correct / len(development.labels)


if __name__ == "__main__":
    COMMAND.run()
