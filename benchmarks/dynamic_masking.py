"""Throughput of dynamic masking in training, compared with records that contain their masks.

    python -m benchmarks.dynamic_masking

Reads random records of BERT-Base's sizes from a file with the input pipeline of run_pretraining. Nine in ten records
are full. The pipelines take turns in one process.
"""

import dataclasses
import functools
import itertools
import os
import tempfile

import numpy as np

from benchmarks import measurements
from bert_tf.cli import flags, script
from bert_tf.cli.settings import Settings, setting
from data_prep import records
from data_prep.pretraining.instances import InstanceSettings, masking
from run.pretraining import dynamic_masking, inputs

VOCAB_SIZE = 30522
CLS_ID, SEP_ID, MASK_ID = 101, 102, 103  # As in BERT-Base, Uncased.
CONTINUATIONS = 0.19  # Fraction of its vocabulary that begins with ##.
SEED = 1


@dataclasses.dataclass(frozen=True)
class DynamicMaskingSettings(Settings):
    """Settings for the measurement."""

    max_seq_length: int = setting(128, "Sequence length of a record in tokens.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per record.", lower=1)
    batch_size: int = setting(256, "Batch size.", lower=1)
    batches: int = setting(100, "Number of batches per turn.", lower=1)
    rounds: int = setting(5, "Number of turns.", lower=1)
    records: int = setting(20_000, "Number of records in the file.", lower=1)
    cores: int = setting(2, "Number of cores to use.", lower=1)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(DynamicMaskingSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(DynamicMaskingSettings()))


def measure(settings):
    """Prints examples per second of each pipeline, and ratios to the first; settings: DynamicMaskingSettings."""
    with measurements.on_cores(settings.cores), tempfile.TemporaryDirectory() as folder:
        turns = {name: functools.partial(take, batches, settings.batches)
                 for name, batches in make_pipelines(folder, settings).items()}
        times = measurements.medians(measurements.time_turns(turns, settings.rounds))
    print(f"{settings.cores} cores, batches of {settings.batch_size}, length {settings.max_seq_length}, "
          f"median of {settings.rounds}")
    first = next(iter(times.values()))
    for name, seconds in times.items():
        rate = settings.batches * settings.batch_size / seconds
        print(f"{name:<34}{rate:10,.0f} examples/s  {first / seconds:5.2f}")


def take(batches, count):
    """Takes `count` batches from an iterator."""
    for _ in itertools.islice(batches, count):
        pass


def make_pipelines(folder, settings):
    """Returns dict of name to endless iterator of batches; writes the records into `folder`."""
    generator = np.random.default_rng(SEED)
    vocabulary = masking.Vocabulary(np.arange(VOCAB_SIZE), CLS_ID, SEP_ID, MASK_ID,
                                    generator.random(VOCAB_SIZE) < CONTINUATIONS)
    pieces, words = (InstanceSettings(settings.max_seq_length, settings.max_predictions_per_seq,
                                      do_whole_word_mask=whole, masking="dynamic") for whole in (False, True))
    masked_path, unmasked_path = (os.path.join(folder, name) for name in ("masked", "unmasked"))
    pairs = draw_pairs(generator, settings.records, settings.max_seq_length)
    write(unmasked_path, pieces.features, pairs)
    numbers = np.arange(settings.records)
    masked = dynamic_masking.make_masker(pieces, vocabulary, SEED)(pairs, 0 * numbers, numbers)
    masked_features = records.pretraining_features(settings.max_seq_length, settings.max_predictions_per_seq)
    write(masked_path, masked_features, masked)

    def read(path, features, transform=None):
        return iter(inputs.pretraining_training_data([path], features, settings.batch_size, SEED,
                                                     transform=transform))

    return {
        "records with masks, read": read(masked_path, masked_features),
        "records without masks, read": read(unmasked_path, pieces.features),
        "read and masked": read(unmasked_path, pieces.features,
                                dynamic_masking.make_masker(pieces, vocabulary, SEED)),
        "read and masked, whole words": read(unmasked_path, pieces.features,
                                             dynamic_masking.make_masker(words, vocabulary, SEED)),
    }


def draw_pairs(generator, count, length):
    """Creates int32 features of `count` random pairs; one in ten is shorter than `length`."""
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
    with records.RecordWriter(path, features) as writer:
        writer.write(columns)


if __name__ == "__main__":
    script.run(main, define_flags)
