"""Pre-training steps with fixed shapes: rows with one sequence of half their length, compared with packed rows.

    python -m benchmarks.packing

Devices that require fixed shapes compute padding, and packed rows have almost none. Both steps are forward, loss,
backward, clipping, and AdamW, with dropout 0.1, on rows of the same number and length. Sequence lengths have a normal
distribution with a mean of half a row. The relevant result is sequences per second.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements
from benchmarks.measurements import Comparison
from bert_tf.cli import flags, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.fast import FastEncoder
from data_prep.pretraining import InstanceSettings
from data_prep.pretraining.instances import masking
from data_prep.pretraining.instances.packing import compute_packs
from run.settings import DTYPE_POLICIES
from run.training import strategies

SEQUENCES = 10_000  # Sequences to pack.
SPREAD = 0.25  # Standard deviation of the lengths, as a fraction of a row.


@dataclasses.dataclass(frozen=True)
class PackingSettings(measurements.KeptResults):
    """Settings for the measurement."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    train_batch_size: int = setting(4, "Batch size in rows.", lower=1)
    max_seq_length: int = setting(512, "Sequence length of a row in tokens.", lower=16)
    max_predictions_per_seq: int = setting(77, "Maximum number of masked tokens per row.", lower=1)
    max_sequences_per_pack: int = setting(
        InstanceSettings.max_sequences_per_pack, "Maximum number of sequences per row.", lower=1, upper=255)
    mixed_precision: str = setting("float32", "Type of the computations.", choices=tuple(DTYPE_POLICIES))
    rounds: int = setting(3, "Number of turns.", lower=1)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(PackingSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(PackingSettings()))


def measure(settings):
    """Prints both steps, sequences per second, and their ratio; stores the comparison; settings: PackingSettings."""
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    fast = strategies.choose_fast(tf.distribute.get_strategy(), config)
    lengths, packs = sequences_and_packs(settings)
    rows = sum(packs.values())
    fullness = lengths.sum() / settings.max_seq_length / np.array([len(lengths), rows])
    alone = [(length,) for length in lengths[:settings.train_batch_size]]
    generator = np.random.default_rng(2)
    packed = generator.permutation(np.repeat(np.arange(len(packs)), list(packs.values())))
    packed = [list(packs)[number] for number in packed[:settings.train_batch_size]]
    batches = {"padded": make_batch(config, settings, alone, 0),
               "packed": make_batch(config, settings, packed, settings.max_sequences_per_pack)}
    dtype = DTYPE_POLICIES[settings.mixed_precision]
    times = encoder_benchmark.time_calls({
        name: encoder_benchmark.our_step(FastEncoder(config, fast, dtype=dtype), features)
        for name, features in batches.items()}, settings.rounds)
    print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores, {settings.mixed_precision}; steps of "
          f"{settings.train_batch_size} x {settings.max_seq_length}")
    print(f"{'rows':<10}{'full':>8}{'sequences per row':>18}{'step':>10}{'sequences per second':>21}")
    rates = []
    for name, full, count in zip(batches, fullness, (1.0, len(lengths) / rows), strict=True):
        rates.append(count * settings.train_batch_size / times[name])
        print(f"{name:<10}{full:>8.1%}{count:>18.3f}{times[name]:>9.3f}s{rates[-1]:>21.3f}", flush=True)
    print(f"packed: {rates[1] / rates[0]:.2f} times the sequences per second")
    measurements.keep("packing", settings, [Comparison(
        f"Pre-training at {settings.max_seq_length} tokens with fixed shapes, packed", "this project, padded",
        *rates[::-1], "sequences/s", True)])


def sequences_and_packs(settings):
    """Returns sequence lengths, int [N], and their packs: dict of the lengths in a pack to the number of such packs."""
    most = settings.max_seq_length
    lengths = np.random.default_rng(1).normal(most / 2, SPREAD * most, SEQUENCES).astype(int).clip(5, most)
    numbers = masking.numbers_to_predict(InstanceSettings(
        max_seq_length=most, max_predictions_per_seq=settings.max_predictions_per_seq))
    return lengths, dict(compute_packs(
        np.bincount(lengths, minlength=most + 1), numbers, most, settings.max_predictions_per_seq,
        settings.max_sequences_per_pack))


def make_batch(config, settings, rows, most_packed):
    """Creates random pre-training features; rows: tuples of sequence lengths, packed or one per row."""
    features = encoder_benchmark.make_batch(
        config, len(rows), settings.max_seq_length, settings.max_predictions_per_seq)
    numbers, positions = (np.zeros([len(rows), settings.max_seq_length], np.int32) for _ in range(2))
    starts, weights = (np.zeros([len(rows), max(1, most_packed)], dtype) for dtype in (np.int32, np.float32))
    for row, lengths in enumerate(rows):
        start = 0
        for place, length in enumerate(lengths):
            numbers[row, start:start + length] = place + 1
            positions[row, start:start + length] = range(length)
            starts[row, place], weights[row, place] = start, 1
            start += length
    features["input_mask"] = tf.constant(numbers)
    if most_packed:
        features |= {"positions": tf.constant(positions), "next_sentence_positions": tf.constant(starts),
                     "next_sentence_weights": tf.constant(weights),
                     "next_sentence_labels": tf.zeros_like(starts)}
    return features


if __name__ == "__main__":
    script.run(main, define_flags)
