"""Fine-tuning BERT-Base on texts of MRPC's lengths: batches of similar lengths compared with padding to 128.

    python -m benchmarks.length_groups [--data_dir=MRPC --vocab_file=vocab.txt]

Both use the batches and the training step of the scripts, in turns, in one process. Without MRPC's files, lengths are
sampled from a similar distribution: 53 tokens on average, 42% of 128.
"""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from benchmarks import measurements
from bert_tf import losses, models, optimization
from bert_tf.cli import flags, paths, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import Settings, setting
from bert_tf.fast import Fast, FastEncoder
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import glue, text_features
from run.arrays import batches
from run.training.step import Trainer

MEAN_LENGTH, DEVIATION = 53 / 128, 13 / 128  # MRPC's pairs, as fractions of the padded length.
SHORTEST = 10 / 128
PADDED, GROUPED = "padded", "grouped by length"
SEED = 1


@dataclasses.dataclass(frozen=True)
class LengthGroupsSettings(Settings):
    """Settings for the measurement."""

    data_dir: str | None = setting(
        None, "Directory of MRPC's train.tsv. By default, samples lengths similar to MRPC's.")
    vocab_file: str = setting(measurements.VOCAB_FILE, "With --data_dir: vocabulary, one token per line.")
    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    max_seq_length: int = setting(128, "Length in tokens to which examples are padded.", lower=16)
    examples: int = setting(3668, "Number of examples to sample; MRPC has 3,668.", lower=1)
    batch_size: int = setting(32, "Batch size.", lower=1)
    steps: int = setting(3, "Number of steps per turn.", lower=1)
    rounds: int = setting(5, "Number of turns.", lower=1)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(LengthGroupsSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(LengthGroupsSettings()))


def measure(settings):
    """Prints examples per second of both, and their ratio; settings: LengthGroupsSettings."""
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    arrays = read_mrpc(settings) if settings.data_dir else draw_examples(config.vocab_size, settings)
    print(f"{len(arrays['input_ids']):,} examples, {arrays['input_mask'].mean():.1%} of their "
          f"{settings.max_seq_length} positions are not padding")
    trainers = {name: make_trainer(config, arrays, settings.batch_size, static_shapes=name == PADDED)
                for name in (PADDED, GROUPED)}
    turns = {name: functools.partial(trainer.train, tf.constant(settings.steps))
             for name, trainer in trainers.items()}
    times = measurements.medians(measurements.time_turns(turns, settings.rounds))
    for name, seconds in times.items():
        print(f"{name:<20}{settings.steps * settings.batch_size / seconds:8.2f} examples/s")
    print(f"ratio {times[PADDED] / times[GROUPED]:.2f}")


def make_trainer(config, arrays, batch_size, static_shapes):
    """Creates the scripts' Trainer of a classifier, on shuffled batches of `arrays`."""
    model = models.BertClassifier(FastEncoder(config, Fast("padded" if static_shapes else "unpadded")), 2)
    trainer = Trainer(
        tf.distribute.get_strategy(), model, optimization.create_optimizer(2e-5, 1000, 100),
        losses.classification_loss)
    trainer.set_dataset(lambda share: batches.training_batches(
        arrays, batch_size, SEED, static_shapes=static_shapes, share=share))
    return trainer


def read_mrpc(settings):
    """Returns the features of MRPC's training pairs."""
    paths.check_file("vocab_file", settings.vocab_file)
    examples = glue.read_examples(glue.TASKS["mrpc"], settings.data_dir, "train")
    features, _ = text_features.convert_texts_to_features(
        examples.text_a, examples.text_b, BertTokenizer(settings.vocab_file), settings.max_seq_length)
    return {**features, "label_ids": examples.labels}


def draw_examples(vocab_size, settings):
    """Creates features of random pairs of MRPC's lengths."""
    generator = np.random.default_rng(SEED)
    longest = settings.max_seq_length
    lengths = longest * generator.normal(MEAN_LENGTH, DEVIATION, settings.examples)
    lengths = np.clip(lengths.round(), round(longest * SHORTEST), longest)
    positions = np.arange(longest)
    mask = (positions < lengths[:, np.newaxis]).astype(np.int32)
    return {"input_ids": generator.integers(0, vocab_size, mask.shape, dtype=np.int32) * mask, "input_mask": mask,
            "segment_ids": (positions >= lengths[:, np.newaxis] // 2).astype(np.int32) * mask,
            "label_ids": generator.integers(0, 2, len(mask), dtype=np.int32)}


if __name__ == "__main__":
    script.run(main, define_flags)
