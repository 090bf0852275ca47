"""Throughput of the pre-training input pipeline, compared with the training speed of models on its output.

    python -m benchmarks.input_pipeline --sizes=small,base

Generates random records of --max_seq_length, in --files files, unless --input_file names record files.
"""

import dataclasses
import os
import tempfile
import time

import numpy as np

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements
from bert_tf.cli import flags, paths, script
from bert_tf.cli.settings import Settings, setting
from bert_tf.config import BertConfig
from bert_tf.fast import Fast, FastEncoder
from data_prep import records
from data_prep.pretraining import InstanceSettings
from run.pretraining import inputs, record_checks

VOCAB_SIZE = 30522
SEED = 1


@dataclasses.dataclass(frozen=True)
class InputPipelineSettings(Settings):
    """Settings for the measurement."""

    input_file: str | None = setting(None, "Record files: comma-separated glob patterns. Defaults to random records.")
    max_seq_length: int = setting(128, "Sequence length of a record in tokens.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per record.", lower=1)
    records: int = setting(40_000, "Total number of random records in all files.", lower=1)
    files: int = setting(4, "Number of files of random records.", lower=1)
    batch_size: int = setting(256, "Batch size of the pipeline.", lower=1)
    train_batch_size: int = setting(8, "Batch size of a training step.", lower=1)
    rounds: int = setting(3, "Number of training steps to time.", lower=1)
    sizes: tuple[str, ...] = setting(("small", "base"), "Published sizes of the models to train.")


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(InputPipelineSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(InputPipelineSettings()))


def measure(settings):
    """Prints the rates and their ratios; settings: InputPipelineSettings."""
    features = records.pretraining_features(settings.max_seq_length, settings.max_predictions_per_seq)
    configs = {size: BertConfig.from_name(size) for size in settings.sizes}
    with tempfile.TemporaryDirectory() as folder:
        if settings.input_file:
            files = paths.expand_globs("input_file", settings.input_file)
        else:
            files = [os.path.join(folder, f"{number}.tfrecord") for number in range(settings.files)]
            for seed, path in enumerate(files):
                write_random_records(path, features, max(1, settings.records // settings.files), seed)
        pipeline = measure_pipeline(files, features, settings.batch_size)
        for size, config in configs.items():
            rate = training_rate(config, files, features, settings)
            print(f"training BERT-{size.capitalize():<20}{rate:>10,.1f} examples/s   the pipeline gives "
                  f"{pipeline / rate:,.0f} times as many", flush=True)


def write_random_records(path, features, count, seed):
    """Writes records of random IDs; on average, a quarter of the positions are padding."""
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
    """Prints the rates of reading, skipping, and counting records; returns the first, in examples per second."""
    started = time.perf_counter()
    count = sum(record_checks.count_records(files))
    counting = count / (time.perf_counter() - started)
    limits = record_checks.pretraining_limits(BertConfig.from_name("base"), InstanceSettings(
        max_seq_length=features[0].length))

    def batches(skip_steps=0):
        return iter(inputs.pretraining_training_data(files, features, batch_size, SEED, skip_steps, limits=limits))

    iterator = batches()
    next(iterator)
    started = time.perf_counter()
    steps = max(1, count // batch_size)
    for _ in range(steps):
        next(iterator)
    reading = steps * batch_size / (time.perf_counter() - started)
    skipped = max(1, count // batch_size - 1)
    started = time.perf_counter()
    next(batches(skipped))
    skipping = skipped * batch_size / (time.perf_counter() - started)
    print(f"{count:,} records in {len(files)} files, batches of {batch_size} x {features[0].length}")
    for name, rate in (("reading, shuffling, parsing", reading), ("skipping in an epoch", skipping),
                       ("counting", counting)):
        print(f"{name:<34}{rate:>10,.0f} examples/s", flush=True)
    return reading


def training_rate(config, files, features, settings):
    """Measures the examples per second of training steps on one batch in memory."""
    batch = next(iter(inputs.pretraining_training_data(files, features, settings.train_batch_size, SEED)))
    step = encoder_benchmark.our_step(FastEncoder(config, Fast(remove_padding=True)), batch)
    times = measurements.time_turns({"step": lambda: step().numpy()}, settings.rounds)
    return settings.train_batch_size / measurements.medians(times)["step"]


if __name__ == "__main__":
    script.run(main, define_flags)
