"""Pre-training records of English text: compared with tf-models-official, and two worker processes with one.

    python -m benchmarks.pretraining_data [--input_file=text.txt --vocab_file=vocab.txt]

Both projects read the same file with the same flags (the original BERT's defaults: dupe_factor 10, length 128), in
turns on one core, and write their records to disk. Then this project creates several shards, in one process and in two
on two cores. Imports, loading the vocabulary, and compilation are excluded, except seconds of the second worker.
"""

import contextlib
import dataclasses
import functools
import io
import os
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
        None, "Text with one sentence per line and a blank line after each document. Defaults to CPython's "
              "documentation topics.", role=roles.INPUT_FILE)
    vocab_file: str = setting(measurements.VOCAB_FILE, "Lowercase vocabulary. Defaults to the vocabulary of the tests.",
                              role=roles.INPUT_FILE)
    max_seq_length: int = setting(128, "Sequence length of a record in tokens.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per record.", lower=1)
    dupe_factor: int = setting(10, "Number of times to use each document.", lower=1)
    num_output_shards: int = setting(64, "Number of shards for two workers. Each has the complete text once.", lower=2)


COMMAND = script.Command(PretrainingDataSettings(), __name__)


def run(settings):
    """Measures the peer on one core and two workers on two cores; settings: PretrainingDataSettings."""
    instances = InstanceSettings(settings.max_seq_length, settings.max_predictions_per_seq, settings.dupe_factor)
    with tempfile.TemporaryDirectory() as folder, Results("pretraining_data", settings) as results:
        create = functools.partial(create_records, settings.vocab_file, instances, folder)
        text, repeated = settings.input_file or os.path.join(folder, "topics.txt"), os.path.join(folder, "repeated.txt")
        if not settings.input_file:
            texts.write_corpus(text)
        print(f"{os.path.getsize(text) / 1e6:.2f} MB of text, dupe_factor {settings.dupe_factor}, length "
              f"{settings.max_seq_length}")
        with measurements.on_cores(1):
            official = results.start_peer(
                "tf-models-official", ["official"], "benchmarks.peers.official_records", settings.vocab_file, SEED)
            times = time_turns({"ours": functools.partial(create, text), "official": functools.partial(
                official.time, "write_records", text, instances, os.path.join(folder, "official.tfrecord"))},
                settings.rounds)
        results.add("Pre-training records, one core", times["ours"],
                    {"tf-models-official create_pretraining_data": times["official"]}, "s")
        if len(os.sched_getaffinity(0)) < 2:
            print("note: two workers are not measured on one core")
            return
        num_shards = settings.num_output_shards
        with open(text, "rb") as file, open(repeated, "wb") as new_file:
            new_file.write((file.read().rstrip() + b"\n\n") * num_shards)
        with measurements.on_cores(2):
            times = time_turns({num_workers: functools.partial(
                create, repeated, num_output_shards=num_shards, num_workers=num_workers) for num_workers in (1, 2)},
                settings.rounds)
        results.add("Pre-training records, two workers on two cores", times[2], {"this project, one worker": times[1]},
                    "s")


def create_records(vocab_file, instances, folder, text, **options):
    """Creates records like `data_prep.create_pretraining_data`; options: further fields of JobSettings."""
    with (tempfile.TemporaryDirectory(dir=folder) as output, contextlib.redirect_stdout(io.StringIO()),
          contextlib.redirect_stderr(io.StringIO())):
        job.run(JobSettings(text, os.path.join(output, "ours.tfrecord"), vocab_file, instances=instances,
                            random_seed=SEED, max_shard_mb=0, **options))


if __name__ == "__main__":
    COMMAND.run()
