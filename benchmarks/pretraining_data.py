"""Pre-training records of English text: this project beside tf-models-official, and two processes beside one.

    python benchmarks/pretraining_data.py

Ours and theirs read the same file with the same flags (the original's defaults: dupe_factor 10, length 128), in
turn, both on one core, and write their records to a disk. Then ours makes several shards, in this process alone and in
two worker processes on two cores, in turn. Imports and reading the vocabulary are not counted; the start of the
workers, a fifth of a second, is. Without --text the text is CPython's documentation topics.
"""

import os
import pydoc_data.topics
import random
import re
import statistics
import tempfile
import time

from absl import flags

from bert_tf.cli import paths, script

FLAGS = flags.FLAGS

SEED = 12345
NUM_SHARDS = 16  # each of the whole text once


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
    """Prints seconds and MB/s of each, and the ratios."""
    paths.check_file("vocabulary", FLAGS.vocabulary)
    if FLAGS.text:
        paths.check_file("text", FLAGS.text)
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        text = FLAGS.text or write_topics(os.path.join(folder, "topics.txt"))
        os.sched_setaffinity(0, cores[:1])
        theirs, ours = compare(text, FLAGS.repeats, "one core", {
            "tf-models-official": tf_models_official(text, FLAGS.vocabulary, folder),
            "this project": this_project(text, FLAGS.vocabulary, folder)})
        print(f"ratio {theirs / ours:.1f}")
        if len(cores) < 2:
            print("two processes: not measured on one core")
            return
        os.sched_setaffinity(0, cores[:2])
        shards = repeat_text(text, os.path.join(folder, "shards.txt"), NUM_SHARDS)
        one, two = compare(shards, FLAGS.repeats, f"{NUM_SHARDS} shards", {
            f"{num_workers} worker{'s'[:num_workers - 1]}":
                this_project(shards, FLAGS.vocabulary, folder, num_output_shards=NUM_SHARDS, num_workers=num_workers)
            for num_workers in (1, 2)})
        print(f"ratio {one / two:.2f}")


def compare(text, repeats, how, makers):
    """Lets each of `makers`, a dict of name -> function, make the records in turn; prints and returns medians."""
    seconds = {name: [] for name in makers}
    for _ in range(repeats):
        for name, make in makers.items():
            start = time.perf_counter()
            make()
            seconds[name].append(time.perf_counter() - start)
    megabytes = os.path.getsize(text) / 1e6
    print(f"{megabytes:.2f} MB of text, dupe_factor 10, length 128, {how}, median of {repeats}")
    medians = [statistics.median(times) for times in seconds.values()]
    for name, median in zip(makers, medians, strict=True):
        print(f"{name:20} {median:7.2f} s {megabytes / median:7.3f} MB/s")
    return medians


def this_project(text, vocab_file, folder, **how):
    """A function that makes the records as `data_prep.create_pretraining_data` does."""
    from bert_tf.tokenization import BertTokenizer
    from data_prep.pretraining import local_runner
    from data_prep.pretraining.sentence_pairs import InstanceSettings

    tokenizer = BertTokenizer(vocab_file, lower_case=True)
    tokenizer.tokenize(["the first call of a graph function is not the rule"])

    def make():
        with tempfile.TemporaryDirectory(dir=folder) as output:  # a finished output would be left alone
            local_runner.create_pretraining_data(
                [text], [os.path.join(output, "ours.tfrecord")], tokenizer, InstanceSettings(), SEED, **how)

    return make


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


def repeat_text(path, new_path, times):
    """Writes the text of a file several times into another one."""
    with open(path, "rb") as file, open(new_path, "wb") as new_file:
        new_file.write((file.read().rstrip() + b"\n\n") * times)
    return new_path


if __name__ == "__main__":
    script.run(main, define_flags)
