"""Fine-tuning BERT-Base on texts of MRPC's lengths: batches of similar length without padding beside padding to 128.

    python -m benchmarks.length_groups [--data_dir=MRPC --vocab_file=vocab.txt]

Both train with the drivers' own batches and training step, in turns, in one process. Without MRPC's files the
lengths are drawn to be like its: 53 pieces on average, 42 % of 128.
"""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # when run as a file

from absl import flags

from bert_tf.cli import script

FLAGS = flags.FLAGS

MAX_SEQ_LENGTH = 128
MEAN_LENGTH, DEVIATION = 53, 13  # of MRPC's pairs


def define_flags():
    """Defines the benchmark's flags."""
    flags.DEFINE_string("data_dir", None, "Folder of MRPC's train.tsv; lengths like MRPC's are drawn unless given.")
    flags.DEFINE_string("vocab_file", None, "With --data_dir: vocab.txt of BERT-Base, Uncased.")
    flags.DEFINE_integer("batch_size", 32, "Examples in a step.", lower_bound=1)
    flags.DEFINE_integer("steps", 3, "Steps in a turn.", lower_bound=1)
    flags.DEFINE_integer("rounds", 5, "How often each has its turn.", lower_bound=1)
    flags.DEFINE_integer("num_hidden_layers", 12, "Layers of the model; 12 is BERT-Base.", lower_bound=1)


def main(argv):
    """Prints examples a second of both, and their ratio."""
    del argv
    import tensorflow as tf

    from bert_tf.config import BertConfig

    config = BertConfig(30522, num_hidden_layers=FLAGS.num_hidden_layers, type_vocab_size=2)
    arrays = read_mrpc(FLAGS.data_dir, FLAGS.vocab_file) if FLAGS.data_dir else draw_examples(config.vocab_size)
    print(f"{len(arrays['input_ids']):,} examples, {arrays['input_mask'].mean():.1%} of their {MAX_SEQ_LENGTH} "
          "positions are real")
    trainers = {name: make_trainer(config, arrays, FLAGS.batch_size, static_shapes=name == "padded to 128")
                for name in ("padded to 128", "grouped by length")}
    rates = {name: [] for name in trainers}
    for turn in range(FLAGS.rounds + 1):
        for name, trainer in trainers.items():
            start = time.perf_counter()
            trainer.train(tf.constant(FLAGS.steps))
            if turn:  # the first compiles
                rates[name].append(FLAGS.steps * FLAGS.batch_size / (time.perf_counter() - start))
    medians = {name: statistics.median(each) for name, each in rates.items()}
    for name, rate in medians.items():
        print(f"{name:<20}{rate:8.2f} examples/s")
    print(f"ratio {medians['grouped by length'] / medians['padded to 128']:.2f}")


def make_trainer(config, arrays, batch_size, static_shapes):
    """The drivers' Trainer of a classifier, on shuffled batches of `arrays`."""
    import tensorflow as tf

    from bert_tf import losses, models, optimization
    from run.finetuning import batches
    from run.training.step import Trainer

    model = models.BertClassifier(models.BertEncoder(config, remove_padding=not static_shapes), 2)
    trainer = Trainer(
        tf.distribute.get_strategy(), model, optimization.create_optimizer(2e-5, 1000, 100),
        lambda outputs, features: {"loss": losses.classification_loss(outputs, features["label_ids"])}, ("loss",))
    trainer.set_dataset(batches.training_batches(arrays, batch_size, seed=1, static_shapes=static_shapes))
    return trainer


def read_mrpc(data_dir, vocab_file):
    """Features of MRPC's training pairs."""
    from bert_tf.tokenization import BertTokenizer
    from data_prep.tasks import classification

    examples = classification.read_examples(classification.TASKS["mrpc"], data_dir, "train")
    return classification.convert_examples_to_features(examples, BertTokenizer(vocab_file), MAX_SEQ_LENGTH)


def draw_examples(vocab_size):
    """Features of 3,668 random pairs, as many as MRPC has."""
    import numpy as np

    generator = np.random.default_rng(1)
    lengths = np.clip(generator.normal(MEAN_LENGTH, DEVIATION, 3668).round(), 10, MAX_SEQ_LENGTH)
    positions = np.arange(MAX_SEQ_LENGTH)
    mask = (positions < lengths[:, np.newaxis]).astype(np.int32)
    return {"input_ids": generator.integers(0, vocab_size, mask.shape, dtype=np.int32) * mask, "input_mask": mask,
            "segment_ids": (positions >= lengths[:, np.newaxis] // 2).astype(np.int32) * mask,
            "label_ids": generator.integers(0, 2, len(mask), dtype=np.int32)}


if __name__ == "__main__":
    script.run(main, define_flags)
