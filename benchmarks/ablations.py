"""This project compared with itself: the benefit or the cost of a feature on this machine.

    python -m benchmarks.ablations --parts=dynamic_masking,input_hosts

The parts are:

- length_groups: fine-tuning on texts with the lengths of MRPC, in batches of similar lengths without padding.
- recompute: activation checkpointing in pre-training, memory and time. Both steps have their own process.
- dynamic_masking: reading records for pre-training and masking them, on one core.
- input_hosts: reading records on one of several hosts of a training run, which parses only its rows, on one core.
"""

import dataclasses
import functools
import itertools
import os
import tempfile

import numpy as np
import tensorflow as tf

from benchmarks import measurements, models
from benchmarks.measurements import Results, time_turns
from bert_tf import losses, optimization
from bert_tf.cli import script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.models import BertClassifier
from data_prep import records
from data_prep.pretraining.instances import InstanceSettings, masking
from run.arrays import batches
from run.pretraining import dynamic_masking, inputs
from run.training.host_batches import WHOLE, HostShare
from run.training.step import Trainer

SEED = 1
STEPS = 3  # Fine-tuning steps per turn, because batches have several lengths.
CLS_ID, SEP_ID, MASK_ID = 101, 102, 103  # As in BERT-Base, Uncased.
CONTINUATIONS = 0.19  # Fraction of its vocabulary that begins with ##.


@dataclasses.dataclass(frozen=True)
class AblationSettings(measurements.BenchmarkSettings):
    """Settings for the parts and their sizes."""

    parts: tuple[str, ...] = setting(
        ("length_groups", "recompute", "dynamic_masking", "input_hosts"), "Features to measure.")
    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    max_seq_length: int = setting(128, "Sequence length in tokens.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per record.", lower=1)
    train_batch_size: int = setting(32, "Batch size of training steps.", lower=1)
    input_batch_size: int = setting(256, "Batch size for reading records, over all hosts.", lower=1)
    records: int = setting(20_000, "Number of records, which a turn reads once.", lower=1)
    hosts: int = setting(4, "Number of hosts of input_hosts.", lower=2)

    def check(self):
        """See Settings."""
        for part in self.parts:
            if part not in PARTS:
                raise InputError(f"must be one of {', '.join(PARTS)}", "parts", part)


def run(settings):
    """Measures each part; settings: AblationSettings."""
    with Results("ablations", settings) as results:
        for part in settings.parts:
            PARTS[part](settings, results)


def measure_length_groups(settings, results):
    """Measures fine-tuning with and without groups of similar lengths."""
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    features = models.make_batch(config, 50 * settings.train_batch_size, settings.max_seq_length,
                                 token_fraction=models.MRPC_TOKENS)
    arrays = {name: features[name].numpy() for name in ("input_ids", "input_mask", "segment_ids")}
    arrays["label_ids"] = features["next_sentence_labels"].numpy()[:, 0]
    turns = {}
    for layers in ("padded", "unpadded"):
        trainer = Trainer(
            tf.distribute.get_strategy(), BertClassifier(FastEncoder(config, Fast(layers)), models.NUM_LABELS),
            optimization.create_optimizer(2e-5, 1000, 100), losses.classification_loss)
        trainer.set_dataset(functools.partial(_create_training_batches, arrays, settings, layers == "padded"))
        turns[layers] = functools.partial(trainer.train, tf.constant(STEPS))
    times = time_turns(turns, settings.rounds)
    rates = {name: STEPS * settings.train_batch_size / seconds for name, seconds in times.items()}
    results.add("Fine-tuning, lengths of MRPC, grouped by length", rates["unpadded"],
                {"this project, padded": rates["padded"]}, "examples/s", higher_is_better=True)


def _create_training_batches(arrays, settings, static_shapes, share):
    return batches.training_batches(arrays, settings.train_batch_size, SEED, static_shapes=static_shapes, share=share)


def measure_recomputation(settings, results):
    """Measures a pre-training step with and without activation checkpointing."""
    steps = {recompute: results.start_peer(
        f"recompute={recompute}", [], "benchmarks.peers.pretraining_step", settings.bert_config_file,
        settings.train_batch_size, settings.max_seq_length, settings.max_predictions_per_seq, recompute)
        for recompute in (True, False)}
    if not all(steps.values()):
        return
    times = time_turns({recompute: functools.partial(step.time, "run") for recompute, step in steps.items()},
                       settings.rounds)
    memory = {recompute: step.call("get_peak_memory") / 1e9 for recompute, step in steps.items()}
    peer = "this project, activations kept"
    results.add("Pre-training with recomputed activations, a step", times[True], {peer: times[False]}, "s")
    results.add("Pre-training with recomputed activations, memory", memory[True], {peer: memory[False]}, "GB")


def measure_dynamic_masking(settings, results):
    """Measures the input pipeline of pre-training with static and with dynamic masks."""
    with tempfile.TemporaryDirectory() as folder, measurements.on_cores(1):
        static, dynamic = (create_instance_settings(settings, masks) for masks in ("static", "dynamic"))
        read_masked = read_batches(write_records(folder, settings, static), static, settings)
        read_and_mask = read_batches(write_records(folder, settings, dynamic), dynamic, settings,
                                     transform=create_masker(dynamic))
        rates = time_reading({"static": read_masked, "dynamic": read_and_mask}, settings)
    results.add("Records with dynamic masks, one core", rates["dynamic"],
                {"this project, static masks": rates["static"]}, "examples/s", higher_is_better=True)


def measure_input_hosts(settings, results):
    """Measures the input of one of several hosts that parses its rows, or all rows as a single host does."""
    share = HostShare(settings.hosts // 2, settings.hosts)
    rows = share.rows(settings.input_batch_size)
    with tempfile.TemporaryDirectory() as folder, measurements.on_cores(1):
        static = create_instance_settings(settings, "static")
        path = write_records(folder, settings, static)
        everything = read_batches(path, static, settings).map(
            lambda batch: {name: values[rows] for name, values in batch.items()})
        rates = time_reading({"everything": everything, "rows": read_batches(path, static, settings, share=share)},
                             settings)
    results.add(f"Input of one of {settings.hosts} hosts, one core", rates["rows"],
                {"this project, parsing all rows": rates["everything"]}, "examples/s", higher_is_better=True)


def create_instance_settings(settings, masks):
    """Creates the InstanceSettings of records; masks: str, "static" or "dynamic"."""
    return InstanceSettings(settings.max_seq_length, settings.max_predictions_per_seq, masking=masks)


def create_masker(instances):
    """Creates the function that masks records, with a vocabulary of the size and shape of BERT-Base's."""
    ids = np.arange(BertConfig.from_name("base").vocab_size)
    continues = np.random.default_rng(SEED).random(len(ids)) < CONTINUATIONS
    vocabulary = masking.Vocabulary(ids, CLS_ID, SEP_ID, MASK_ID, continues)
    return dynamic_masking.make_masker(instances, vocabulary, SEED)


def write_records(folder, settings, instances):
    """Writes a file of random records without padding; returns its path."""
    features = models.make_batch(BertConfig.from_name("base"), settings.records, settings.max_seq_length,
                                 settings.max_predictions_per_seq)
    path = os.path.join(folder, f"{instances.masking}.tfrecord")
    with records.RecordWriter(path, instances.features) as writer:
        writer.write({feature.name: features[feature.name].numpy() for feature in instances.features})
    return path


def read_batches(path, instances, settings, share=WHOLE, transform=None):
    """Creates the dataset of training batches of a record file; see inputs.pretraining_training_data."""
    return inputs.pretraining_training_data([path], instances.features, settings.input_batch_size, SEED, share=share,
                                            transform=transform)


def time_reading(datasets, settings):
    """Returns a dict of name -> examples of the global batch per second, for a dict of name -> dataset."""
    count = max(1, settings.records // settings.input_batch_size)
    turns = {name: functools.partial(_take, iter(dataset), count) for name, dataset in datasets.items()}
    return {name: count * settings.input_batch_size / seconds
            for name, seconds in time_turns(turns, settings.rounds).items()}


def _take(iterator, count):
    for _ in itertools.islice(iterator, count):
        pass


PARTS = {"length_groups": measure_length_groups, "recompute": measure_recomputation,
         "dynamic_masking": measure_dynamic_masking, "input_hosts": measure_input_hosts}
COMMAND = script.Command(AblationSettings(), __name__)

if __name__ == "__main__":
    COMMAND.run()
