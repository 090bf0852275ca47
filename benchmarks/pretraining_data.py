"""Pre-training records of English text: this project beside tf-models-official, both on one core, in turn.

    python benchmarks/pretraining_data.py

Both read the same file with the same flags (the original's defaults: dupe_factor 10, length 128) and write their
records to a disk. Imports and reading the vocabulary are not counted. Without --text the text is
CPython's documentation topics.
"""

import os
import pydoc_data.topics
import random
import re
import statistics
import tempfile
import time

from absl import flags

from data_prep import command_line

FLAGS = flags.FLAGS

SEED = 12345


def define_flags():
    """Defines this script's flags, under names that the peer's module does not define when it is imported."""
    flags.DEFINE_string("text", None,
                        "Text to use in place of the documentation topics; one sentence a line, a blank line "
                        "after each document.")
    flags.DEFINE_string("vocabulary",
                        os.path.join(os.path.dirname(__file__), "../tests/reference/text/vocab.txt"),
                        "Vocabulary, lower case.")
    flags.DEFINE_integer("repeats", 3, "How many times each makes the records; medians are printed.",
                         lower_bound=1)


def main(_):
    """Prints seconds and MB/s of both, and the ratio."""
    command_line.check_file("vocabulary", FLAGS.vocabulary)
    if FLAGS.text:
        command_line.check_file("text", FLAGS.text)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        text = FLAGS.text or write_topics(os.path.join(folder, "topics.txt"))
        makers = {"this project": this_project(text, FLAGS.vocabulary, folder),
                  "tf-models-official": tf_models_official(text, FLAGS.vocabulary, folder)}
        seconds = {name: [] for name in makers}
        for _ in range(FLAGS.repeats):
            for name, make in makers.items():
                start = time.perf_counter()
                make()
                seconds[name].append(time.perf_counter() - start)
        megabytes = os.path.getsize(text) / 1e6
    print(f"{megabytes:.2f} MB of text, dupe_factor 10, length 128, one core, median of {FLAGS.repeats}")
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name:20} {median:7.2f} s {megabytes / median:7.3f} MB/s")
    ours, theirs = medians.values()
    print(f"ratio {theirs / ours:.1f}")


def this_project(text, vocab_file, folder):
    """A function that makes the records as `data_prep.create_pretraining_data` does."""
    from bert_tf.tokenization import BertTokenizer
    from data_prep import local_runner
    from data_prep.instances import InstanceSettings

    tokenizer = BertTokenizer(vocab_file, lower_case=True)
    tokenizer.tokenize(["the first call of a graph function is not the rule"])
    output = os.path.join(folder, "ours.tfrecord")
    return lambda: local_runner.create_pretraining_data([text], [output], tokenizer, InstanceSettings(), SEED)


def tf_models_official(text, vocab_file, folder):
    """A function that makes them as the main function of official.nlp.data.create_pretraining_data does."""
    from absl import logging
    from official.nlp.data import create_pretraining_data as peer
    from official.nlp.tools import tokenization

    logging.set_verbosity(logging.WARNING)  # it prints twenty records
    tokenizer = tokenization.FullTokenizer(vocab_file, do_lower_case=True)
    output = os.path.join(folder, "theirs.tfrecord")

    def make():
        instances = peer.create_training_instances(
            [text], tokenizer, peer.get_processor_text_fn(False, True), max_seq_length=128, dupe_factor=10,
            short_seq_prob=0.1, masked_lm_prob=0.15, max_predictions_per_seq=20, rng=random.Random(SEED))
        peer.write_instance_to_example_files(instances, tokenizer, 128, 20, [output], gzip_compress=False,
                                             use_v2_feature_names=False)

    return make


def write_topics(path):
    """Writes CPython's documentation topics as a corpus file: a sentence a line, blank lines between topics."""
    with open(path, "w", encoding="utf-8") as file:
        for topic in pydoc_data.topics.topics.values():
            for paragraph in re.split(r"\n\s*\n", topic):
                sentences = re.split(r"(?<=[.!?:])\s+", " ".join(paragraph.split()))
                file.writelines(f"{sentence}\n" for sentence in sentences if sentence)
            file.write("\n")
    return path


if __name__ == "__main__":
    command_line.run(main, define_flags)
