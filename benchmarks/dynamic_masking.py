"""Masks drawn in training: examples a second of length 128, on two cores, beside records that hold their masks.

    python -m benchmarks.dynamic_masking

Random records of BERT-Base's sizes, nine in ten of them full, are read from a file by the driver's own input
pipeline, in turns, in one process.
"""

import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # when run as a file

from absl import flags

from bert_tf.cli import script

FLAGS = flags.FLAGS

VOCAB_SIZE = 30522
CLS_ID, SEP_ID, MASK_ID = 101, 102, 103  # of BERT-Base, Uncased
CONTINUATIONS = 0.19  # share of its vocabulary that begins with ##
SEED = 1


def define_flags():
    """Defines the benchmark's flags."""
    flags.DEFINE_integer("batch_size", 256, "Examples in a batch.", lower_bound=1)
    flags.DEFINE_integer("batches", 100, "Batches in a turn.", lower_bound=1)
    flags.DEFINE_integer("rounds", 5, "How often each has its turn.", lower_bound=1)
    flags.DEFINE_integer("records", 20_000, "Records in the file.", lower_bound=1)
    flags.DEFINE_integer("cores", 2, "Cores to use.", lower_bound=1)


def main(argv):
    """Prints examples a second of each, and ratios."""
    del argv
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:FLAGS.cores])
    with tempfile.TemporaryDirectory() as folder:
        pipelines = make_pipelines(folder, FLAGS.records, FLAGS.batch_size)
        rates = {name: [] for name in pipelines}
        for _ in range(FLAGS.rounds):
            for name, batches in pipelines.items():
                next(batches)
                start = time.perf_counter()
                for _ in range(FLAGS.batches):
                    next(batches)
                rates[name].append(FLAGS.batches * FLAGS.batch_size / (time.perf_counter() - start))
    print(f"{FLAGS.cores} cores, batches of {FLAGS.batch_size}, length 128, median of {FLAGS.rounds}")
    medians = {name: statistics.median(each) for name, each in rates.items()}
    for name, median in medians.items():
        print(f"{name:<34}{median:10,.0f} examples/s  {median / next(iter(medians.values())):5.2f}")


def make_pipelines(folder, num_records, batch_size):
    """dict of name -> iterator of batches; the records are written into `folder`."""
    import numpy as np

    from data_prep import records
    from data_prep.pretraining import masking
    from data_prep.pretraining.sentence_pairs import InstanceSettings
    from run.pretraining import dynamic_masking, inputs

    generator = np.random.default_rng(SEED)
    vocabulary = masking.Vocabulary(VOCAB_SIZE, CLS_ID, SEP_ID, MASK_ID, generator.random(VOCAB_SIZE) < CONTINUATIONS)
    pieces, words = (InstanceSettings(do_whole_word_mask=whole, masking="dynamic") for whole in (False, True))
    masked_path, unmasked_path = (os.path.join(folder, name) for name in ("masked", "unmasked"))
    pairs = draw_pairs(generator, num_records, pieces.max_seq_length)
    write(unmasked_path, pieces.features, pairs)
    numbers = np.arange(num_records)
    masked = dynamic_masking.make_masker(pieces, vocabulary, SEED)(pairs, 0 * numbers, numbers)
    masked_features = records.pretraining_features(pieces.max_seq_length, pieces.max_predictions_per_seq)
    write(masked_path, masked_features, masked)

    def read(path, features, transform=None):
        return iter(inputs.pretraining_training_data([path], features, batch_size, SEED, transform=transform))

    return {
        "records with masks, read": read(masked_path, masked_features),
        "records without masks, read": read(unmasked_path, pieces.features),
        "read and masked": read(unmasked_path, pieces.features,
                                dynamic_masking.make_masker(pieces, vocabulary, SEED)),
        "read and masked, whole words": read(unmasked_path, pieces.features,
                                             dynamic_masking.make_masker(words, vocabulary, SEED)),
    }


def draw_pairs(generator, count, length):
    """Features of `count` random pairs, int32, one in ten of them shorter than `length`."""
    import numpy as np

    lengths = np.where(generator.random(count) < 0.1, generator.integers(5, length + 1, count), length)
    places, rows = np.arange(length), np.arange(count)
    is_real = places < lengths[:, np.newaxis]
    middles = lengths // 2
    ids = np.where(is_real, generator.integers(1000, VOCAB_SIZE, is_real.shape), 0)
    ids[:, 0] = CLS_ID
    ids[rows, middles] = ids[rows, lengths - 1] = SEP_ID
    return {"input_ids": ids.astype(np.int32), "input_mask": is_real.astype(np.int32),
            "segment_ids": (is_real & (places > middles[:, np.newaxis])).astype(np.int32),
            "next_sentence_labels": generator.integers(0, 2, (count, 1), dtype=np.int32)}


def write(path, features, columns):
    """Writes a file of records."""
    from data_prep import records

    with records.RecordWriter(path, features) as writer:
        writer.write(columns)


if __name__ == "__main__":
    script.run(main, define_flags)
