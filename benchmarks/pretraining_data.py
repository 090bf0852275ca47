"""Pre-training records of English text: this project compared with tf-models-official, and two processes with one.

    python -m benchmarks.pretraining_data [--input_file=text.txt --vocab_file=vocab.txt]

Both projects read the same file with the same flags (the original BERT's defaults: dupe_factor 10, length 128), in
turns on one core, and write their records to disk. Then this project creates several shards, in this process only and
in two worker processes on two cores, in turns. Imports, loading the vocabulary, and compilation are excluded; starting
the workers, about a second, is included. Last, prints how fast one process reads and tokenizes shards in one and in
several threads, and how many workers that feeds. For more threads than cores, this is an estimate from the time during
which a thread holds the interpreter's lock. Without --input_file, the text is CPython's documentation topics.

Worker processes import this module again, so functions import TensorFlow locally.
"""

import dataclasses
import functools
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
        measure_reader(shards, text, settings, folder)


def measure_reader(long_text, text, settings, folder):
    """Prints the rate of reading and tokenizing, and the number of workers that it feeds."""
    from bert_tf.tokenization import BertTokenizer
    from data_prep.pretraining import shards
    from data_prep.pretraining.plan import Plan
    from data_prep.sharding import local_runner, text_units

    tokenizer = BertTokenizer(settings.vocab_file, lower_case=True)
    lines = repeat_text(text, os.path.join(folder, "lines.txt"), 1)

    def plan(path):
        return Plan([path], [os.path.join(folder, "worker.tfrecord")], text_units.plan_units([path]),
                             tokenizer, settings.instances, SEED)

    def read(num_threads, tokenizer=tokenizer):
        with text_units.TextReader() as reader:
            return dataclasses.replace(plan(long_text), tokenizer=tokenizer).create_task(
                0, reader, num_threads=num_threads)

    with text_units.TextReader() as reader:
        task = plan(lines).create_task(0, reader)
    stand_in = OpsElsewhere(tokenizer)
    turns = {"worker": lambda: shards.create_shard(task), "1 thread": lambda: read(1), "2 threads": lambda: read(2),
             "lock": lambda: read(1, stand_in)}
    with measurements.on_cores(2):
        times = measurements.medians(measurements.time_turns(turns, settings.rounds))
    long, short = (os.path.getsize(path) / 1e6 for path in (long_text, lines))
    worker = short / times["worker"]
    print(f"a worker takes {worker:.2f} MB/s of text")
    for name in ("1 thread", "2 threads"):
        rate = long / times[name]
        print(f"{name + ' tokenizing':<30}{rate:8.1f} MB/s, {rate / worker:6.1f} workers")
    for name, rate in ((f"{local_runner.MAX_THREADS} threads, by their number",
                        local_runner.MAX_THREADS * long / times["1 thread"]),
                       ("any threads, by the lock", long / times["lock"])):
        print(f"{name:<30}{rate:8.1f} MB/s, {rate / worker:6.1f} workers")


class OpsElsewhere:
    """A tokenizer that passes lines to TensorFlow and returns cached IDs: the part that holds the interpreter lock."""

    def __init__(self, tokenizer):
        self._tokenizer, self._known = tokenizer, {}
        self.vocab_size, self.vocabulary, self.unk_id = tokenizer.vocab_size, tokenizer.vocabulary, tokenizer.unk_id
        self.cls_id, self.sep_id, self.mask_id = tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id

    def tokenize(self, lines):
        """See BertTokenizer. Returns cached IDs from the second call with the same lines."""
        import tensorflow as tf

        texts = tf.convert_to_tensor(lines, tf.string)
        key = len(lines), lines[0], lines[-1]
        if key not in self._known:
            self._known[key] = self._tokenizer.tokenize(texts)
        return self._known[key]


def compare(text, settings, how, makers):
    """Lets `makers`, a dict of name to function, create the records in turns; prints and returns median seconds."""
    times = measurements.medians(measurements.time_turns(makers, settings.rounds, warm_up=0))
    megabytes = os.path.getsize(text) / 1e6
    print(f"{megabytes:.2f} MB of text, dupe_factor {settings.dupe_factor}, length {settings.max_seq_length}, {how}, "
          f"median of {settings.rounds}")
    for name, seconds in times.items():
        print(f"{name:20} {seconds:7.2f} s {megabytes / seconds:7.3f} MB/s")
    return times


def this_project(text, settings, folder, num_workers=None, **how):
    """Returns a function that creates the records like `data_prep.create_pretraining_data`."""
    from bert_tf.tokenization import BertTokenizer
    from data_prep.pretraining.plan import create_pretraining_data
    from data_prep.sharding import local_runner

    tokenizer = BertTokenizer(settings.vocab_file, lower_case=True)
    tokenizer.tokenize(["the first call of a graph function is not the rule"])

    def make():
        with tempfile.TemporaryDirectory(dir=folder) as output:  # A finished output would not be recreated.
            create_pretraining_data(
                [text], [os.path.join(output, "ours.tfrecord")], tokenizer, settings.instances, SEED,
                create_shards=functools.partial(local_runner.create_shards, num_workers=num_workers), **how)

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
