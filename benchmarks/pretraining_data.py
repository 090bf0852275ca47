"""Pre-training records of English text: this project compared with tf-models-official, and two processes with one.

    python -m benchmarks.pretraining_data [--input_file=text.txt --vocab_file=vocab.txt]

Both projects read the same file with the same flags (the original BERT's defaults: dupe_factor 10, length 128), in
turns on one core, and write their records to disk. Then this project creates several shards, in this process only and
in two worker processes on two cores, in turns. Imports, loading the vocabulary, and compilation are excluded, except
those of the worker processes, several seconds. Without --input_file, the text is CPython's documentation topics.

Worker processes import this module again, so functions import TensorFlow locally.
"""

import dataclasses
import os
import pydoc_data.topics
import random
import re
import tempfile

from absl import flags as absl_flags
from absl import logging

from benchmarks import measurements
from bert_tf.cli import flags, paths, script
from bert_tf.cli.settings import setting
from data_prep.pretraining import InstanceSettings

OURS, THEIRS = "this project", "tf-models-official"
SEED = 12345


@dataclasses.dataclass(frozen=True)
class PretrainingDataSettings(measurements.KeptResults):
    """Settings for the measurement."""

    input_file: str | None = setting(
        None, "Text with one sentence per line and a blank line after each document. Defaults to CPython's "
              "documentation topics.")
    vocab_file: str = setting(measurements.VOCAB_FILE, "Lowercase vocabulary. Defaults to the vocabulary of the tests.")
    max_seq_length: int = setting(128, "Sequence length of a record in tokens.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per record.", lower=1)
    dupe_factor: int = setting(10, "Number of times to use each document.", lower=1)
    num_output_shards: int = setting(64, "Number of shards for one and two workers, each of the complete text once.",
                                     lower=2)
    rounds: int = setting(2, "Number of times to create the records.", lower=1)

    @property
    def instances(self):
        """InstanceSettings."""
        return InstanceSettings(self.max_seq_length, self.max_predictions_per_seq, self.dupe_factor)


def define_flags():
    """Defines the benchmark's flags."""
    import_peer()  # Must come before flags with the same names as the peer's are defined.
    flags.define(PretrainingDataSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(PretrainingDataSettings()))


def measure(settings):
    """Prints seconds, MB/s, and ratios; stores the comparison with the peer; settings: PretrainingDataSettings."""
    paths.check_file("vocab_file", settings.vocab_file)
    if settings.input_file:
        paths.check_file("input_file", settings.input_file)
    with tempfile.TemporaryDirectory() as folder:
        text = settings.input_file or write_topics(os.path.join(folder, "topics.txt"))
        with measurements.on_cores(1):
            this_project(text, settings, folder)()  # Compiles.
            times = compare(text, settings, "one core", {
                THEIRS: tf_models_official(text, settings, folder), OURS: this_project(text, settings, folder)})
        print(f"ratio {times[THEIRS] / times[OURS]:.1f}")
        measurements.keep("pretraining_data", settings, [measurements.Comparison(
            "Pre-training records, one core", "tf-models-official create_pretraining_data", times[OURS], times[THEIRS],
            "s", False)])
        if len(os.sched_getaffinity(0)) < 2:
            print("two processes: not measured on one core")
            return
        num_shards = settings.num_output_shards
        shards = repeat_text(text, os.path.join(folder, "shards.txt"), num_shards)
        with measurements.on_cores(2):
            times = compare(shards, settings, f"{num_shards} shards", {
                f"{num_workers} worker{'s'[:num_workers - 1]}":
                    this_project(shards, settings, folder, num_output_shards=num_shards, num_workers=num_workers)
                for num_workers in (1, 2)})
        print(f"ratio {times['1 worker'] / times['2 workers']:.2f}")


def compare(text, settings, how, makers):
    """Lets `makers`, a dict of name to function, create the records in turns; prints and returns median seconds."""
    times = measurements.medians(measurements.time_turns(makers, settings.rounds, warm_up=0))
    megabytes = os.path.getsize(text) / 1e6
    print(f"{megabytes:.2f} MB of text, dupe_factor {settings.dupe_factor}, length {settings.max_seq_length}, {how}, "
          f"median of {settings.rounds}")
    for name, seconds in times.items():
        print(f"{name:20} {seconds:7.2f} s {megabytes / seconds:7.3f} MB/s")
    return times


def this_project(text, settings, folder, num_workers=None, num_output_shards=1):
    """Returns a function that creates the records like `data_prep.create_pretraining_data`."""
    from data_prep.pretraining import JobSettings, job

    def make():
        with tempfile.TemporaryDirectory(dir=folder) as output:  # A finished output would not be created again.
            job.run(JobSettings(
                text, os.path.join(output, "ours.tfrecord"), settings.vocab_file, instances=settings.instances,
                random_seed=SEED, num_output_shards=num_output_shards, max_shard_mb=0, num_workers=num_workers))

    return make


def tf_models_official(text, settings, folder):
    """Returns a function that creates the records like main() of official.nlp.data.create_pretraining_data."""
    from official.nlp.tools import tokenization

    peer = import_peer()
    logging.set_verbosity(logging.WARNING)  # It prints twenty records.
    tokenizer = tokenization.FullTokenizer(settings.vocab_file, do_lower_case=True)
    output = os.path.join(folder, "theirs.tfrecord")
    how = settings.instances

    def make():
        instances = peer.create_training_instances(
            [text], tokenizer, peer.get_processor_text_fn(False, True), how.max_seq_length, how.dupe_factor,
            how.short_seq_prob, how.masked_lm_prob, how.max_predictions_per_seq, rng=random.Random(SEED))
        peer.write_instance_to_example_files(
            instances, tokenizer, how.max_seq_length, how.max_predictions_per_seq, [output], gzip_compress=False,
            use_v2_feature_names=False)

    return make


def import_peer():
    """Imports tf-models-official's module and removes the flags that it defines, which only its main() reads."""
    from official.nlp.data import create_pretraining_data as peer

    for flag in list(absl_flags.FLAGS.flags_by_module_dict().get(peer.__name__, ())):
        delattr(absl_flags.FLAGS, flag.name)
    return peer


def write_topics(path):
    """Writes CPython's documentation topics as a corpus file: one sentence per line, blank lines between topics."""
    with open(path, "w", encoding="utf-8") as file:
        for topic in pydoc_data.topics.topics.values():
            for paragraph in re.split(r"\n\s*\n", topic):
                sentences = re.split(r"(?<=[.!?:])\s+", " ".join(paragraph.split()))
                file.writelines(f"{sentence}\n" for sentence in sentences if sentence)
            file.write("\n")
    return path


def repeat_text(path, new_path, times):
    """Writes the text of a file several times to another file."""
    with open(path, "rb") as file, open(new_path, "wb") as new_file:
        new_file.write((file.read().rstrip() + b"\n\n") * times)
    return new_path


if __name__ == "__main__":
    script.run(main, define_flags)
