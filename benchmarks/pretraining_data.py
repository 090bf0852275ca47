"""Pre-training records of English text on one core, compared with tf-models-official.

    python -m benchmarks.pretraining_data [--input_file=text.txt --vocab_file=vocab.txt]

Both projects read the same file with the same flags (the original BERT's defaults: dupe_factor 10, length 128), in
turns on one core, and write their records to disk. Imports, loading the vocabulary, and compilation are excluded.
Without --input_file, the text is CPython's documentation topics.
"""

import contextlib
import dataclasses
import functools
import io
import os
import tempfile

from benchmarks import measurements
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import roles, script
from bert_tf.cli.settings import setting
from data_prep.pretraining import InstanceSettings, JobSettings, job
from run.demo import topics

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


COMMAND = script.Command(PretrainingDataSettings(), __name__)


def run(settings):
    """Measures both projects; settings: PretrainingDataSettings."""
    instances = InstanceSettings(settings.max_seq_length, settings.max_predictions_per_seq, settings.dupe_factor)
    with (tempfile.TemporaryDirectory() as folder, measurements.on_cores(1),
          Results("pretraining_data", settings) as results):
        text = settings.input_file
        if not text:
            text = os.path.join(folder, "topics.txt")
            topics.write_corpus([section for part in topics.read_sections() for section in part], text)
        official = results.start_peer(
            "tf-models-official", ["official"], "benchmarks.peers.official_records", settings.vocab_file, SEED)
        times = time_turns({
            "ours": functools.partial(write_records, text, settings.vocab_file, instances, folder),
            "official": functools.partial(official.time, "write_records", text, instances,
                                          os.path.join(folder, "official.tfrecord")),
        }, settings.rounds)
        print(f"{os.path.getsize(text) / 1e6:.2f} MB of text, dupe_factor {settings.dupe_factor}, length "
              f"{settings.max_seq_length}")
        results.add("Pre-training records, one core", times["ours"],
                    {"tf-models-official create_pretraining_data": times["official"]}, "s")


def write_records(text, vocab_file, instances, folder):
    """Creates the records like `data_prep.create_pretraining_data`, in a new directory, which is deleted."""
    with (tempfile.TemporaryDirectory(dir=folder) as output, contextlib.redirect_stdout(io.StringIO()),
          contextlib.redirect_stderr(io.StringIO())):
        job.run(JobSettings(text, os.path.join(output, "ours.tfrecord"), vocab_file, instances=instances,
                            random_seed=SEED, num_output_shards=1, max_shard_mb=0))


if __name__ == "__main__":
    COMMAND.run()
