"""This project compared with itself: the benefit or the cost of a feature on this machine.

    python -m benchmarks.ablations --parts=dynamic_masking,input_hosts

The parts are:

- length_groups: fine-tuning on texts with the lengths of MRPC, in batches of similar lengths
  without padding.
- recompute: activation checkpointing in pre-training, memory and time. Both steps have their own
  process.
- dynamic_masking: reading records for pre-training and masking them, on one core.
- input_hosts: reading records on one of several hosts of a training run, which parses only its
  rows, on one core.
"""

import dataclasses
import functools
import itertools
import os
import tempfile

import numpy as np
import tensorflow as tf

from benchmarks import measurements, models
from benchmarks.measurements import Results, StepSettings, time_turns
from benchmarks.peer_process import read_peak_memory
from bert_tf import losses, optimization
from bert_tf.cli import script
from bert_tf.cli.resolution import read_model_config
from bert_tf.cli.settings import setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.features import FEATURES
from bert_tf.models import BertClassifier
from data_prep import records
from data_prep.pretraining.instances import InstanceSettings, masking
from run.pretraining import dynamic_masking, inputs
from run.training import batches
from run.training.host_batches import HostShare
from run.training.padding import Padding
from run.training.step import Trainer

SEED = 1
STEPS = 3  # Fine-tuning steps per turn, because batches have several lengths.
# As in BERT-Base, Uncased.
CLS_ID = 101
SEP_ID = 102
MASK_ID = 103
CONTINUATIONS = 0.19  # Fraction of its vocabulary that begins with ##.
HOSTS = 4


@dataclasses.dataclass(frozen=True)
class AblationSettings(StepSettings):
    """Settings for the parts and their sizes."""

    parts: tuple[str, ...] = setting(
        ("length_groups", "recompute", "dynamic_masking", "input_hosts"), "Features to measure."
    )
    input_batch_size: int = setting(
        256, "Batch size for reading records, over all hosts.", min_value=1
    )
    records: int = setting(20_000, "Number of records, which a turn reads once.", min_value=1)

    def check(self):
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
    config = read_model_config(settings.bert_config_file, settings.max_seq_length)
    features = models.make_batch(
        config,
        50 * settings.train_batch_size,
        settings.max_seq_length,
        token_fraction=models.MRPC_TOKENS,
    )
    arrays = {name: features[name].numpy() for name in FEATURES}
    arrays["label_ids"] = features["next_sentence_labels"].numpy()[:, 0]
    turns = {}
    for padding in (Padding.STATIC, Padding.REMOVED):
        trainer = Trainer(
            tf.distribute.get_strategy(),
            BertClassifier(
                FastEncoder(config, Fast(remove_padding=padding is Padding.REMOVED)),
                models.NUM_LABELS,
            ),
            optimization.create_optimizer(2e-5, 1000, 100),
            losses.classification_loss,
        )
        dataset = batches.training_batches(
            arrays,
            settings.train_batch_size,
            SEED,
            padding=padding,
        )
        trainer.set_dataset(lambda share, dataset=dataset: dataset)
        turns[padding] = functools.partial(trainer.train, tf.constant(STEPS))
    times = time_turns(turns, settings.rounds)
    rates = {name: STEPS * settings.train_batch_size / seconds for name, seconds in times.items()}
    results.add(
        "Fine-tuning step, lengths of MRPC, grouped by length",
        rates[Padding.REMOVED],
        {"this project, padded": rates[Padding.STATIC]},
        "examples/s",
    )


def measure_recomputation(settings, results):
    """Measures a pre-training step with and without activation checkpointing."""
    steps = {
        recompute: results.start_peer(
            f"recompute={recompute}",
            [],
            "benchmarks.ablations",
            settings.bert_config_file,
            settings.train_batch_size,
            settings.max_seq_length,
            settings.max_predictions_per_seq,
            recompute,
        )
        for recompute in (True, False)
    }
    times = time_turns(
        {recompute: functools.partial(step.time, "run") for recompute, step in steps.items()},
        settings.rounds,
    )
    memory = {recompute: step.call("get_peak_memory") / 1e9 for recompute, step in steps.items()}
    peer = "this project, activations kept"
    results.add(
        "Pre-training step with recomputed activations", times[True], {peer: times[False]}, "s"
    )
    results.add(
        "Pre-training with recomputed activations, memory",
        memory[True],
        {peer: memory[False]},
        "GB",
    )


class Peer:
    """A pre-training step in its own process, because the peak memory of a process never decreases.

    Args:
      bert_config_file: str. Path or published size.
      batch_size, length, predictions: int. Shape of the batch.
      recompute: bool. Whether to use activation checkpointing.
    """

    def __init__(self, bert_config_file, batch_size, length, predictions, recompute):
        config = read_model_config(bert_config_file, length)
        self._step = models.create_pretraining_step(
            FastEncoder(config, Fast(recompute=recompute)),
            models.make_batch(config, batch_size, length, predictions),
        )

    def run(self):
        """Computes the step."""
        self._step().numpy()

    def get_peak_memory(self):
        """Returns the largest memory of the process, in bytes."""
        return read_peak_memory()


def measure_dynamic_masking(settings, results):
    """Measures the input pipeline of pre-training with static and with dynamic masks."""
    ids = np.arange(BertConfig.from_name("base").vocab_size)
    continues = np.random.default_rng(SEED).random(len(ids)) < CONTINUATIONS
    vocabulary = masking.Vocabulary(ids, CLS_ID, SEP_ID, MASK_ID, continues)
    masker = dynamic_masking.make_masker(
        create_instance_settings(settings, "dynamic"), vocabulary, SEED
    )
    with tempfile.TemporaryDirectory() as folder, measurements.on_cores(1):
        rates = time_reading(
            {
                "static": read_batches(folder, settings),
                "dynamic": read_batches(folder, settings, "dynamic", transform=masker),
            },
            settings,
        )
    results.add(
        "Records with dynamic masks, one core",
        rates["dynamic"],
        {"this project, static masks": rates["static"]},
        "examples/s",
    )


def measure_input_hosts(settings, results):
    """Measures the input of one of several hosts that parses its rows, compared with all rows."""
    share = HostShare(HOSTS // 2, HOSTS)
    rows = share.rows(settings.input_batch_size)
    with tempfile.TemporaryDirectory() as folder, measurements.on_cores(1):
        everything = read_batches(folder, settings).map(
            lambda batch: {name: values[rows] for name, values in batch.items()}
        )
        rates = time_reading(
            {"everything": everything, "rows": read_batches(folder, settings, share=share)},
            settings,
        )
    results.add(
        f"Input of one of {HOSTS} hosts, one core",
        rates["rows"],
        {"this project, parsing all rows": rates["everything"]},
        "examples/s",
    )


def create_instance_settings(settings, masks):
    """Creates the InstanceSettings of records; masks: str, "static" or "dynamic"."""
    return InstanceSettings(
        settings.max_seq_length, settings.max_predictions_per_seq, masking=masks
    )


def read_batches(folder, settings, masks="static", **options):
    """Writes random records without padding, and creates the dataset of their batches.

    Args:
      folder: str. Directory to write the file of records to.
      settings: AblationSettings.
      masks: str. "static" or "dynamic".
      **options: See `inputs.pretraining_training_data`.
    """
    specs = create_instance_settings(settings, masks).features
    features = models.make_batch(
        BertConfig.from_name("base"),
        settings.records,
        settings.max_seq_length,
        settings.max_predictions_per_seq,
    )
    path = os.path.join(folder, f"{masks}.tfrecord")
    with records.RecordWriter(path, specs) as writer:
        writer.write({spec.name: features[spec.name].numpy() for spec in specs})
    return inputs.pretraining_training_data(
        [path], specs, settings.input_batch_size, SEED, **options
    )


def time_reading(datasets, settings):
    """Measures how fast datasets can be read.

    Args:
      datasets: Dict of name -> dataset.
      settings: AblationSettings.

    Returns:
      Dict of name -> examples of the global batch per second.
    """
    count = max(1, settings.records // settings.input_batch_size)
    turns = {
        name: functools.partial(_take, iter(dataset), count) for name, dataset in datasets.items()
    }
    return {
        name: count * settings.input_batch_size / seconds
        for name, seconds in time_turns(turns, settings.rounds).items()
    }


def _take(iterator, count):
    for _ in itertools.islice(iterator, count):
        pass


PARTS = {
    "length_groups": measure_length_groups,
    "recompute": measure_recomputation,
    "dynamic_masking": measure_dynamic_masking,
    "input_hosts": measure_input_hosts,
}
COMMAND = script.Command(AblationSettings(train_batch_size=32), __name__)

if __name__ == "__main__":
    COMMAND.run()
