"""Measurement for benchmarks: functions take turns, and their comparisons are printed and stored.

The comparisons are written to NAME.json in --results_dir. benchmarks.page creates the benchmark
page from these files.
"""

import contextlib
import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import sys
import time
import typing

from benchmarks.peer_process import ROOT, PeerError, PeerProcess, Seconds
from bert_tf import processor
from bert_tf.cli import roles
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.files import new_file

RESULTS_DIR = os.path.join("build", "bench_results")
PEERS_ADVICE = "run pip install -e '.[peers]'"
# Default of --vocab_file.
VOCAB_FILE = os.path.join(ROOT, "tests", "reference", "text", "vocab.txt")
# Seconds before each turn. For 50 ms after a call, ONNX Runtime's threads look for work and each
# occupy a core, which slows down the next turn.
PAUSE = 0.1
MIN_SECONDS = 10  # Minimum time for the turns of a measurement.
# Packages whose versions are stored with results, if they are installed.
PACKAGES = (
    "tensorflow",
    "tensorflow-text",
    "tf-models-official",
    "torch",
    "transformers",
    "onnxruntime",
    "openvino",
    "sentence-transformers",
    "keras-hub",
)
LOWER_IS_BETTER = ("s", "ms", "min", "GB")  # Units.
# Instruction sets to name in results, as in Linux.
INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")


@dataclasses.dataclass(frozen=True)
class BenchmarkSettings(Settings):
    """Settings for all benchmarks."""

    results_dir: str = setting(
        RESULTS_DIR,
        "Directory for the comparisons, NAME.json, from which benchmarks.page writes a page.",
        role=roles.OUTPUT_FOLDER,
    )
    rounds: int = setting(
        5,
        f"Minimum number of turns. Fast ones are repeated for {MIN_SECONDS} seconds.",
        min_value=1,
    )


@dataclasses.dataclass(frozen=True)
class ShapeSettings(BenchmarkSettings):
    """Settings for a model and the shapes of its inputs."""

    bert_config_file: str = setting(
        "base", "bert_config.json of the model, or the name of a published size."
    )
    batch_sizes: tuple[int, ...] = setting(
        (1, 8), "Batch sizes, one for each of `lengths`.", min_value=1
    )
    lengths: tuple[int, ...] = setting((32, 128), "Sequence lengths in tokens.", min_value=1)

    def check(self):
        if len(self.batch_sizes) != len(self.lengths):
            raise InputError(
                f"has {len(self.batch_sizes)} numbers, but `lengths` has {len(self.lengths)}",
                "batch_sizes",
                self.batch_sizes,
            )

    @property
    def shapes(self):
        """List of pairs of a batch size and a length."""
        return list(zip(self.batch_sizes, self.lengths, strict=True))


@dataclasses.dataclass(frozen=True)
class StepSettings(BenchmarkSettings):
    """Settings for a model and the batches of its training steps."""

    bert_config_file: str = setting(
        "base", "bert_config.json of the model, or the name of a published size."
    )
    train_batch_size: int = setting(8, "Batch size.", min_value=1)
    max_seq_length: int = setting(128, "Sequence length in tokens, including padding.", min_value=8)
    max_predictions_per_seq: int = setting(
        20, "Maximum number of masked tokens per pre-training example.", min_value=1
    )


class Results:
    """The comparisons of a benchmark.

    As a context manager, writes them at the end, unless an exception was raised.

    Args:
      name: str. Name of the benchmark, and of the file, which is overwritten.
      settings: BenchmarkSettings.
    """

    def __init__(self, name, settings):
        self._name = name
        self._settings = settings
        self._rows = []
        self._left_out = []
        self._peers = contextlib.ExitStack()

    def add(self, name, ours, peers, unit, scores=()):
        """Adds a figure of this project, `ours`, and prints a line for each comparison with a peer.

        Args:
          name: str. Measured quantity and size.
          peers: Dict of peer -> figure.
          unit: str. Unit of all figures, such as "s" or "MB/s". Except in LOWER_IS_BETTER, high
            figures are good.
          scores: Sequence of str, or empty. For training runs, the scores of this project and of
            the peer.
        """
        for peer, theirs in peers.items():
            ratio = theirs / ours if unit in LOWER_IS_BETTER else ours / theirs
            row = {
                "name": name,
                "peer": peer,
                "ours": ours,
                "theirs": theirs,
                "unit": unit,
                "ratio": ratio,
                "scores": list(scores),
            }
            self._rows.append(row)
            texts = format_row(row)
            print(f"{texts.name}: {texts.ours}; {texts.peer}; ratio {texts.ratio}", flush=True)

    def start_peer(
        self,
        name,
        packages,
        module,
        *arguments,
        python=None,
        environment=None,
        advice=PEERS_ADVICE,
    ):
        """Starts a peer, which the end of the context ends; see `PeerProcess`.

        Args:
          name: str. Name of the peer.
          packages: Tuple of str. Packages that it imports.
          module, *arguments: See `PeerProcess`.
          python: str or None. Path of another Python, whose packages are not checked.
          environment: See `PeerProcess`.
          advice: str. Remedy for a missing package.

        Returns:
          PeerProcess; or None, after a note, if one of the packages is missing or the peer cannot
          be created.
        """
        missing = [package for package in packages if importlib.util.find_spec(package) is None]
        if missing and python is None:
            self.leave_out(name, f"{', '.join(missing)} cannot be imported; {advice}")
            return None
        try:
            process = PeerProcess(
                module, *arguments, python=python or sys.executable, environment=environment
            )
        except PeerError as error:
            self.leave_out(name, error)
            return None
        return self._peers.enter_context(contextlib.closing(process))

    def leave_out(self, name, reason):
        """Prints a note about a peer that is not measured."""
        self._left_out.append(name)
        print(f"note: {name} is not measured: {reason}", flush=True)

    def __enter__(self):
        return self

    def __exit__(self, error_class, *_):
        self._peers.close()
        if error_class is not None:
            return
        os.makedirs(self._settings.results_dir, exist_ok=True)
        result = {
            "benchmark": self._name,
            "settings": self._settings.values(),
            "machine": describe_machine(),
            "versions": get_versions(),
            "comparisons": self._rows,
            "left_out": sorted(set(self._left_out)),
        }
        with new_file(os.path.join(self._settings.results_dir, f"{self._name}.json")) as file:
            json.dump(result, file, indent=2)
            file.write("\n")


class RowTexts(typing.NamedTuple):
    """The texts of a comparison in the table, one per column."""

    name: str
    ours: str  # Figure of this project, with its unit.
    peer: str  # Name of the peer and its figure.
    ratio: str


def format_row(row):
    """Returns the RowTexts of a comparison."""
    ours, theirs = (f"{format_number(row[side])} {row['unit']}" for side in ("ours", "theirs"))
    if row["scores"]:
        ours, theirs = (
            f"{text}, {score}" for text, score in zip((ours, theirs), row["scores"], strict=True)
        )
    return RowTexts(row["name"], ours, f"{row['peer']}: {theirs}", format_number(row["ratio"]))


def format_number(value):
    """Formats a number with three significant digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def get_versions():
    """Returns a dict of the versions of the installed packages in PACKAGES."""
    versions = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def describe_machine():
    """Describes the machine: processor, instruction sets, number of cores, and memory."""
    model, has = processor.read()
    sets = ", ".join(name for name in INSTRUCTION_SETS if name in has)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    # All cores of the machine count: some benchmarks limit the process to one.
    num_cores = os.cpu_count()
    name = model or platform.machine()
    if sets:
        name += f" ({sets})"
    cores = "1 core" if num_cores == 1 else f"{num_cores} cores"
    return f"{name}, {cores}, {memory:.0f} GiB"


def time_turns(turns, rounds, calls_before=0):
    """Lets functions take turns, so that a slowdown of the machine affects all of them.

    Each function is called once before. Pauses before each turn, so that the threads of the
    previous turn go to sleep.

    Args:
      turns: Dict of name to function without arguments. The results are awaited. If a function
        returns `Seconds`, these count.
      rounds: int. Minimum number of turns per function. Fast functions take more, for MIN_SECONDS.
      calls_before: int. Calls at the start of each turn, not included in the results. They load the
        weights into the caches, as in a server that handles request after request.

    Returns:
      Dict of name to the median in seconds.
    """
    times = {name: [] for name in turns}
    for function in turns.values():
        _wait(function())  # Traces and compiles.
    finished = 0
    end = time.monotonic() + MIN_SECONDS
    while finished < rounds or time.monotonic() < end:
        for name, function in turns.items():
            time.sleep(PAUSE)
            for _ in range(calls_before):
                _wait(function())
            start = time.perf_counter()
            result = function()
            _wait(result)
            seconds = time.perf_counter() - start
            times[name].append(float(result) if isinstance(result, Seconds) else seconds)
        finished += 1
    return {name: statistics.median(each) for name, each in times.items()}


def _wait(result):
    """Waits until a result, or each value of a dict, is computed if it is a tensor."""
    for value in result.values() if isinstance(result, dict) else [result]:
        if hasattr(value, "numpy"):
            value.numpy()


@contextlib.contextmanager
def on_cores(count):
    """Limits the threads of this process to `count` cores within a context.

    This includes the threads and processes that they start.
    """
    allowed = os.sched_getaffinity(0)
    _set_cores(sorted(allowed)[:count])
    try:
        yield
    finally:
        _set_cores(allowed)


def _set_cores(cores):
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # The thread has ended.
            os.sched_setaffinity(int(thread), cores)
