"""Input of one training run on several hosts: each parses only its own rows, compared with parsing everything.

    python -m benchmarks.input_hosts

Processes represent hosts, each on one core, and take the same batches at the same time, as in training. If each host
has a core, the total examples per second show the gain of additional hosts. If hosts share a core, compare the CPU time
of a host per example of the global batch. The last table measures one of many hosts, alone on its core: the examples
per second of the global batch with which it keeps up.
"""

import dataclasses
import multiprocessing
import os
import statistics
import tempfile
import time

import numpy as np

from benchmarks import dynamic_masking as masking_benchmark
from benchmarks import measurements
from bert_tf.cli import flags, script
from bert_tf.cli.settings import Settings, setting
from data_prep import records
from data_prep.pretraining.instances import InstanceSettings, masking
from run.pretraining import dynamic_masking, inputs
from run.training.host_batches import WHOLE, HostShare

SEED = 1
SPAWN = multiprocessing.get_context("spawn")
EVERYTHING, ROWS = "each parses everything", "each parses its rows"
WAYS = {EVERYTHING: True, ROWS: False}
WIDTH = 40  # First column.


@dataclasses.dataclass(frozen=True)
class InputHostsSettings(Settings):
    """Settings for the measurement."""

    max_seq_length: int = setting(128, "Sequence length of a record in tokens.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per record.", lower=1)
    batch_size: int = setting(1024, "Batch size, over all hosts.", lower=1)
    batches: int = setting(100, "Number of batches per turn.", lower=1)
    rounds: int = setting(3, "Number of turns.", lower=1)
    records: int = setting(40_000, "Total number of records in all files.", lower=1)
    files: int = setting(8, "Number of record files.", lower=1)
    hosts: tuple[str, ...] = setting(("1", "2", "4"), "Number of hosts that run together.")
    parts: tuple[str, ...] = setting(("16", "64"), "Numbers of hosts; for each, only one host runs.")


@dataclasses.dataclass(frozen=True)
class Turn:
    """The work of one host.

    Attributes:
      files: Paths of record files, without masks if `draws_masks`, otherwise with masks.
      draws_masks: bool. Whether to sample masks.
      share: HostShare.
      parses_all: bool. Whether to select rows only after parsing and masking, as in earlier versions.
      settings: InputHostsSettings.
    """

    files: tuple
    draws_masks: bool
    share: HostShare
    parses_all: bool
    settings: InputHostsSettings

    def batches(self):
        """Returns an endless iterator of this host's rows of batches."""
        settings, features, masker = self.settings, instances(self.settings, self.draws_masks).features, None
        if self.draws_masks:
            masker = dynamic_masking.make_masker(instances(settings, True), vocabulary(), SEED)
        rows = self.share.rows(settings.batch_size)
        data = inputs.pretraining_training_data(
            list(self.files), features, settings.batch_size, SEED, share=WHOLE if self.parses_all else self.share,
            transform=masker)
        if self.parses_all:
            data = data.map(lambda batch: {name: values[rows] for name, values in batch.items()})
        return iter(data)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(InputHostsSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(InputHostsSettings()))


def measure(settings, processes=SPAWN):
    """Prints the tables.

    Args:
      settings: InputHostsSettings.
      processes: Provides Pipe and Process. Tests pass one for threads.
    """
    hosts, parts = (measurements.whole_numbers(name, getattr(settings, name)) for name in ("hosts", "parts"))
    cores = sorted(os.sched_getaffinity(0))
    print(f"batches of {settings.batch_size:,} x {settings.max_seq_length}, a core a host, {len(cores)} cores, median "
          f"of {settings.rounds}; times as many or as long as with the first number of hosts")
    with tempfile.TemporaryDirectory() as folder, Hosts(max(hosts), cores, processes) as team:
        for draws_masks, title in ((False, "records with masks"), (True, "masks drawn in training")):
            files = write_records(folder, settings, draws_masks)

            def turn(count, index, way, files=files, draws_masks=draws_masks):
                return Turn(files, draws_masks, HostShare(index, count), WAYS[way], settings)

            turns = {(f"{count} hosts, {way}", way): [turn(count, index, way) for index in range(count)]
                     for way in WAYS for count in hosts}
            turns |= {(f"only one of {count}, {ROWS}", ROWS): [turn(count, count // 2, ROWS)] for count in parts}
            print(f"\n{title:<{WIDTH}}{'examples/s':>15}{'relative':>9}{'CPU us/example':>16}", flush=True)
            print_rates(team.medians(turns, settings), settings)


def print_rates(found, settings):
    """Prints a line per item of dict (name, way) -> (seconds, CPU seconds), with ratios to the first of each way."""
    examples, first = settings.batches * settings.batch_size, {}
    for (name, way), (seconds, cpu) in found.items():
        of_first = first.setdefault(way, (seconds, cpu))
        print(f"{name:<{WIDTH}}{examples / seconds:15,.0f}{of_first[0] / seconds:7.2f} x{cpu / examples * 1e6:16.2f}"
              f"{cpu / of_first[1]:7.2f} x")


class Hosts:
    """Processes that take turns together; a context manager.

    Args:
      count: int. Number of processes.
      cores: Numbers of the cores to distribute.
      processes: See `measure`.
    """

    def __init__(self, count, cores, processes):
        self._pipes, self._processes = [], []
        for index in range(count):
            ours, theirs = processes.Pipe()
            self._pipes.append(ours)
            self._processes.append(processes.Process(target=serve, args=(theirs, cores[index % len(cores)])))

    def __enter__(self):
        for process in self._processes:
            process.start()
        return self

    def __exit__(self, *error):
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join()

    def medians(self, turns, settings):
        """Returns medians for a dict of lists of Turns, one per host: the slowest host's seconds; mean CPU seconds."""
        rounds = [{name: self._round(each) for name, each in turns.items()} for _ in range(settings.rounds)]
        return {name: [statistics.median(values) for values in zip(*(each[name] for each in rounds), strict=True)]
                for name in turns}

    def _round(self, turns):
        """Returns the seconds of the slowest host, and the mean CPU seconds of all."""
        pipes = self._pipes[: len(turns)]
        for pipe, turn in zip(pipes, turns, strict=True):
            pipe.send(turn)
        for pipe in pipes:
            pipe.recv()  # Wait for "ready".
        for pipe in pipes:
            pipe.send("go")
        seconds, cpu = zip(*(pipe.recv() for pipe in pipes), strict=True)
        return max(seconds), statistics.mean(cpu)


def serve(pipe, core):
    """Runs a host: takes the batches of each Turn it receives, and sends (seconds, CPU seconds). None ends it."""
    os.sched_setaffinity(0, {core})  # Before TensorFlow starts its threads.
    while (turn := pipe.recv()) is not None:
        batches, count = turn.batches(), turn.settings.batches
        masking_benchmark.take(batches, max(1, count // 10))
        pipe.send("ready")
        pipe.recv()
        seconds, cpu = time.perf_counter(), time.process_time()
        masking_benchmark.take(batches, count)
        pipe.send((time.perf_counter() - seconds, time.process_time() - cpu))


def instances(settings, draws_masks):
    """Creates the InstanceSettings of the records."""
    return InstanceSettings(settings.max_seq_length, settings.max_predictions_per_seq,
                            masking="dynamic" if draws_masks else "static")


def vocabulary():
    """Creates a masking.Vocabulary with the size and shape of BERT-Base's."""
    of_base = masking_benchmark
    continues = np.random.default_rng(SEED).random(of_base.VOCAB_SIZE) < of_base.CONTINUATIONS
    return masking.Vocabulary(np.arange(of_base.VOCAB_SIZE), of_base.CLS_ID, of_base.SEP_ID, of_base.MASK_ID, continues)


def write_records(folder, settings, draws_masks):
    """Writes files of random records, without masks if masks are sampled in training; returns their paths."""
    generator = np.random.default_rng(SEED)
    features, files = instances(settings, draws_masks).features, []
    mask = dynamic_masking.make_masker(instances(settings, True), vocabulary(), SEED)
    for number in range(settings.files):
        files.append(os.path.join(folder, f"{'unmasked' if draws_masks else 'masked'}_{number}.tfrecord"))
        count = max(1, settings.records // settings.files)
        columns = masking_benchmark.draw_pairs(generator, count, settings.max_seq_length)
        if not draws_masks:
            columns = mask(columns, np.zeros(count, np.int64), np.arange(count))
        with records.RecordWriter(files[-1], features) as writer:
            writer.write(columns)
    return tuple(files)


if __name__ == "__main__":
    script.run(main, define_flags)
