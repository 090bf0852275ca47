"""Pre-training records of English text, compared with tf-models-official.

    python -m benchmarks.pretraining_data [--input_file=text.txt --vocab_file=vocab.txt]

Both projects read the same file with the same flags (the original BERT's defaults: dupe_factor 10,
length 128), in turns on one core, and write their records to disk. Imports, loading the vocabulary,
and compilation are excluded. Then this project's script creates the records of a larger text, as a
whole, in one process and in two on two cores.
"""

import contextlib
import dataclasses
import functools
import io
import os
import subprocess
import sys
import tempfile

from benchmarks import measurements, texts
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import roles, script
from bert_tf.cli.settings import setting
from data_prep.pretraining import InstanceSettings, JobSettings, job

SEED = 12345


@dataclasses.dataclass(frozen=True)
class PretrainingDataSettings(measurements.BenchmarkSettings):
    """Settings for the text and the records."""

    input_file: str | None = setting(
        None,
        "Text with one sentence per line and a blank line after each document. Defaults to "
        "CPython's documentation topics.",
        role=roles.INPUT_FILE,
    )
    vocab_file: str = setting(
        measurements.VOCAB_FILE,
        "Lowercase vocabulary. Defaults to the vocabulary of the tests.",
        role=roles.INPUT_FILE,
    )
    dupe_factor: int = setting(10, "Number of times to use each document.", min_value=1)
    copies: int = setting(256, "Copies of the text in the text for two workers.", min_value=2)


COMMAND = script.Command(PretrainingDataSettings(), __name__)


def run(settings):
    """Measures the peer on one core, and two workers on two cores.

    `settings` are PretrainingDataSettings.
    """
    instances = InstanceSettings(dupe_factor=settings.dupe_factor)
    with tempfile.TemporaryDirectory() as folder, Results("pretraining_data", settings) as results:
        text = settings.input_file or os.path.join(folder, "topics.txt")
        repeated = os.path.join(folder, "repeated.txt")
        if not settings.input_file:
            texts.write_corpus(text)
        with measurements.on_cores(1):
            official = results.start_peer(
                "tf-models-official",
                ["official"],
                "benchmarks.peers.official_records",
                settings.vocab_file,
                SEED,
            )
            times = time_turns(
                {
                    "ours": functools.partial(
                        create_records, settings.vocab_file, instances, folder, text
                    ),
                    "official": functools.partial(
                        official.time, "write_records", text, instances, folder + "/official"
                    ),
                },
                settings.rounds,
            )
        results.add(
            "Pre-training records, one core",
            times["ours"],
            {"tf-models-official create_pretraining_data": times["official"]},
            "s",
        )
        with open(text, "rb") as file, open(repeated, "wb") as new_file:
            new_file.write((file.read().rstrip() + b"\n\n") * settings.copies)
        with measurements.on_cores(2):
            times = time_turns(
                {
                    num_workers: functools.partial(
                        run_script, repeated, folder, settings, num_workers
                    )
                    for num_workers in (1, 2)
                },
                2,
            )
        megabytes = os.path.getsize(repeated) / 1e6
        results.add(
            "Pre-training records, two workers on two cores",
            megabytes / times[2],
            {"this project, one worker": megabytes / times[1]},
            "MB/s",
        )


def create_records(vocab_file, instances, folder, text):
    """Creates records like `data_prep.create_pretraining_data`, in this process."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as output,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        job.run(
            JobSettings(
                text,
                os.path.join(output, "ours.tfrecord"),
                vocab_file,
                instances=instances,
                random_seed=SEED,
                max_shard_mb=0,
            )
        )


def run_script(text, folder, settings, num_workers):
    """Runs `data_prep.create_pretraining_data` in its own process."""
    with tempfile.TemporaryDirectory(dir=folder) as output:
        flags = {
            "input_file": text,
            "output_file": f"{output}/ours.tfrecord",
            "vocab_file": settings.vocab_file,
            "dupe_factor": settings.dupe_factor,
            "num_workers": num_workers,
        }
        subprocess.run(
            [
                sys.executable,
                "-m",
                "data_prep.create_pretraining_data",
                *(f"--{name}={value}" for name, value in flags.items()),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    COMMAND.run()
