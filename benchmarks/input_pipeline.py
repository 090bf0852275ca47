"""The input pipeline of pre-training alone, beside the rate at which models train on what it gives.

    python -m benchmarks.input_pipeline --sizes=small,base

Records are random ones of --max_seq_length, in --files files, unless --input_file names some.
"""

import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # when run as a file

from absl import flags

from bert_tf.cli import paths, script

FLAGS = flags.FLAGS

RECORDS = 40_000
VOCAB_SIZE = 30522


def define_flags():
    """Defines the benchmark's flags."""
    flags.DEFINE_string("input_file", None, "Record files: comma-separated glob patterns; random ones unless given.")
    flags.DEFINE_integer("max_seq_length", 128, "Tokens in a record.", lower_bound=8)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions in a record.", lower_bound=1)
    flags.DEFINE_integer("batch_size", 32, "Examples in a batch of the pipeline.", lower_bound=1)
    flags.DEFINE_integer("files", 4, "Files of random records.", lower_bound=1)
    flags.DEFINE_integer("train_batch_size", 8, "Examples in a training step.", lower_bound=1)
    flags.DEFINE_integer("train_steps", 3, "Training steps that are timed.", lower_bound=1)
    flags.DEFINE_list("sizes", ["small", "base"], "Published sizes of the models that are trained.")


def main(argv):
    """Prints the rates and their ratios."""
    del argv
    from data_prep import records

    features = records.pretraining_features(FLAGS.max_seq_length, FLAGS.max_predictions_per_seq)
    with tempfile.TemporaryDirectory() as folder:
        if FLAGS.input_file:
            files = paths.expand_globs("input_file", FLAGS.input_file)
        else:
            files = [f"{folder}/{number}.tfrecord" for number in range(FLAGS.files)]
            for seed, path in enumerate(files):
                write_random_records(path, features, RECORDS // FLAGS.files, seed)
        pipeline = measure_pipeline(files, features, FLAGS.batch_size)
        for size in FLAGS.sizes:
            rate = training_rate(size, files, features, FLAGS.train_batch_size, FLAGS.train_steps)
            print(f"training BERT-{size.capitalize():<20}{rate:>10,.1f} examples/s   the pipeline gives "
                  f"{pipeline / rate:,.0f} times as many", flush=True)


def write_random_records(path, features, count, seed):
    """Records of random ids, of which a quarter of the positions are padding on average."""
    import numpy as np

    from data_prep import records

    generator = np.random.default_rng(seed)
    length, predictions = features[0].length, features[3].length
    mask = np.arange(length) < generator.integers(length // 2, length + 1, [count, 1])
    with records.RecordWriter(path, features) as writer:
        writer.write({
            "input_ids": generator.integers(1000, VOCAB_SIZE, mask.shape) * mask,
            "input_mask": mask,
            "segment_ids": (np.arange(length) > length // 4) & mask,
            "masked_lm_positions": np.sort(generator.integers(1, length // 2, [count, predictions])),
            "masked_lm_ids": generator.integers(1000, VOCAB_SIZE, [count, predictions]),
            "masked_lm_weights": np.ones([count, predictions], np.float32),
            "next_sentence_labels": generator.integers(0, 2, [count, 1]),
        })


def measure_pipeline(files, features, batch_size):
    """Prints the rates of reading, of skipping and of counting records; returns the first, in examples a second."""
    from bert_tf.config import BertConfig
    from run.pretraining import inputs, record_checks

    started = time.perf_counter()
    count = record_checks.count_records(files)
    counting = count / (time.perf_counter() - started)
    limits = inputs.pretraining_limits(BertConfig.from_name("base"), features[0].length)

    def batches(skip_steps=0):
        return iter(inputs.pretraining_training_data(files, features, batch_size, 1, skip_steps, limits=limits))

    iterator = batches()
    next(iterator)
    started = time.perf_counter()
    steps = max(1, count // batch_size)
    for _ in range(steps):
        next(iterator)
    reading = steps * batch_size / (time.perf_counter() - started)
    skipped = count // batch_size - 1
    started = time.perf_counter()
    next(batches(skipped))
    skipping = skipped * batch_size / (time.perf_counter() - started)
    print(f"{count:,} records in {len(files)} files, batches of {batch_size} x {features[0].length}")
    for name, rate in (("reading, shuffling, parsing", reading), ("skipping in an epoch", skipping),
                       ("counting", counting)):
        print(f"{name:<34}{rate:>10,.0f} examples/s", flush=True)
    return reading


def training_rate(size, files, features, batch_size, steps):
    """Examples a second of training steps on one batch, held in memory, of a published size."""
    from benchmarks import encoder as encoder_benchmark
    from bert_tf.config import BertConfig
    from bert_tf.models import BertEncoder
    from run.pretraining import inputs

    batch = next(iter(inputs.pretraining_training_data(files, features, batch_size, 1)))
    step = encoder_benchmark.our_step(BertEncoder(BertConfig.from_name(size), remove_padding=True), batch)
    step().numpy()  # traces
    started = time.perf_counter()
    for _ in range(steps):
        step().numpy()
    return steps * batch_size / (time.perf_counter() - started)


if __name__ == "__main__":
    script.run(main, define_flags)
