"""Pre-training steps with fixed shapes: packed rows, compared with one sequence per row.

    python -m benchmarks.packing

Devices that require fixed shapes compute padding, and packed rows have almost none. Both steps are
complete training steps on rows of the same number and length. Sequence lengths have a normal
distribution with a mean of half a row.
"""

import numpy as np
import tensorflow as tf

from benchmarks import models
from benchmarks.measurements import Results, StepSettings, time_turns
from bert_tf.cli import script
from bert_tf.cli.resolution import read_model_config
from bert_tf.fast import FastEncoder
from data_prep.pretraining import InstanceSettings
from data_prep.pretraining.instances import masking
from data_prep.pretraining.instances.packing import compute_packs
from run.training import strategies

SEQUENCES = 10_000  # Sequences to pack.
DEVIATION = 0.25  # Standard deviation of the lengths, as a fraction of a row.
COMMAND = script.Command(
    StepSettings(train_batch_size=4, max_seq_length=512, max_predictions_per_seq=77), __name__
)


def run(settings):
    """Measures both steps; settings: StepSettings, per row."""
    config = read_model_config(settings.bert_config_file, settings.max_seq_length)
    fast = strategies.choose_fast(tf.distribute.get_strategy(), config)
    lengths, packs = sample_packs(settings)
    sample = np.random.default_rng(2).permutation(len(packs))[: settings.train_batch_size]
    rows = {
        "padded": [(length,) for length in lengths[: settings.train_batch_size]],
        "packed": [packs[number] for number in sample],
    }
    times = time_turns(
        {
            name: models.create_pretraining_step(
                FastEncoder(config, fast), make_batch(config, settings, batch)
            )
            for name, batch in rows.items()
        },
        settings.rounds,
    )
    sequences_per_row = len(lengths) / len(packs)
    print(f"{sequences_per_row:.3f} sequences per packed row")
    with Results("packing", settings) as results:
        results.add(
            f"Pre-training at {settings.max_seq_length} tokens with fixed shapes, packed",
            sequences_per_row * settings.train_batch_size / times["packed"],
            {"this project, padded": settings.train_batch_size / times["padded"]},
            "sequences/s",
        )


def sample_packs(settings):
    """Returns sequence lengths, int [N], and the list of their packs, tuples of lengths."""
    max_length = settings.max_seq_length
    lengths = (
        np.random.default_rng(1)
        .normal(max_length / 2, DEVIATION * max_length, SEQUENCES)
        .astype(int)
        .clip(5, max_length)
    )
    numbers = masking.numbers_to_predict(
        InstanceSettings(
            max_seq_length=max_length, max_predictions_per_seq=settings.max_predictions_per_seq
        )
    )
    packs = compute_packs(
        np.bincount(lengths, minlength=max_length + 1),
        numbers,
        max_length,
        settings.max_predictions_per_seq,
        InstanceSettings.max_sequences_per_pack,
    )
    return lengths, [pack for pack, count in dict(packs).items() for _ in range(count)]


def make_batch(config, settings, rows):
    """Creates random pre-training features.

    `rows` has a tuple for each row, with the lengths of its sequences.
    """
    features = models.make_batch(
        config, len(rows), settings.max_seq_length, settings.max_predictions_per_seq
    )
    numbers, positions = (
        np.zeros([len(rows), settings.max_seq_length], np.int32) for _ in range(2)
    )
    starts, weights = (
        np.zeros([len(rows), InstanceSettings.max_sequences_per_pack], dtype)
        for dtype in (np.int32, np.float32)
    )
    for row, lengths in enumerate(rows):
        numbers[row, : sum(lengths)] = np.repeat(np.arange(len(lengths)) + 1, lengths)
        positions[row, : sum(lengths)] = np.concatenate([np.arange(length) for length in lengths])
        starts[row, : len(lengths)] = np.cumsum((0, *lengths[:-1]))
        weights[row, : len(lengths)] = 1
    features["input_mask"] = tf.constant(numbers)
    if weights[:, 1:].any():
        features |= {
            "positions": tf.constant(positions),
            "next_sentence_positions": tf.constant(starts),
            "next_sentence_weights": tf.constant(weights),
            "next_sentence_labels": tf.zeros_like(starts),
        }
    return features


if __name__ == "__main__":
    COMMAND.run()
