"""Measurement for benchmarks: functions take turns, and the results are stored for the benchmark page.

A benchmark with a peer writes its comparisons to NAME.json in --results_dir; benchmarks.page creates a page from them.
"""

import concurrent.futures
import contextlib
import dataclasses
import glob
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import platform
import statistics
import time

from bert_tf import processor
from bert_tf.cli.paths import check_output_dir
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_json_object

RESULTS_DIR = os.path.join("build", "bench_results")
VOCAB_FILE = str(pathlib.Path(__file__).parent.parent / "tests" / "reference" / "text" / "vocab.txt")  # Fallback.
# Seconds before each turn. For 50 ms after a call, ONNX Runtime's threads look for work and each occupy a core.
PAUSE = 0.1
PACKAGES = ("tensorflow", "tensorflow-text", "tf-models-official", "torch", "transformers", "onnxruntime",
            "keras-hub")  # Packages whose versions are stored with results, if they are installed.
INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")  # Names in Linux.


class Seconds(float):
    """A duration that a function in `time_turns` measured itself."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A figure of this project and the same figure of a peer.

    Attributes:
      name: str. Measured quantity and size.
      peer: str. Project and component of the peer.
      ours, theirs: float. The figures, positive.
      unit: str. Unit of both, such as "s" or "MB/s".
      higher_is_better: bool. True for rates, False for times.
      scores: Tuple of str, or empty. For training runs, the scores of this project and of the peer.
    """

    name: str
    peer: str
    ours: float
    theirs: float
    unit: str
    higher_is_better: bool
    scores: tuple = ()

    @property
    def ratio(self):
        """Speed relative to the peer."""
        return self.ours / self.theirs if self.higher_is_better else self.theirs / self.ours


@dataclasses.dataclass(frozen=True)
class KeptResults(Settings):
    """Settings for a benchmark with a peer: the directory for its comparisons."""

    results_dir: str = setting(
        RESULTS_DIR, "Directory for the comparisons with peers, NAME.json, from which benchmarks.page writes a page.")


def keep(name, settings, comparisons, left_out=()):
    """Writes comparisons, their settings, the machine, and the package versions to the results directory.

    Args:
      name: str. Name of the benchmark, and of the file, which is overwritten.
      settings: KeptResults.
      comparisons: List of Comparison.
      left_out: Names of peers that were not measured, for example because they are not installed.
    """
    check_output_dir("results_dir", settings.results_dir)
    os.makedirs(settings.results_dir, exist_ok=True)
    rows = [{**dataclasses.asdict(each), "ratio": each.ratio} for each in comparisons]
    result = {"benchmark": name, "settings": dataclasses.asdict(settings), "machine": describe_machine(),
              "versions": get_versions(), "comparisons": rows, "left_out": list(left_out)}
    with new_file(os.path.join(settings.results_dir, f"{name}.json")) as file:
        json.dump(result, file, indent=2)
        file.write("\n")


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
    cores = len(os.sched_getaffinity(0))
    return (f"{model or platform.machine()}{f' ({sets})' if sets else ''}, {cores} core{'s'[:cores - 1]}, "
            f"{memory:.0f} GiB")


def read_results(results_dir):
    """Reads the dicts that `keep` wrote to a directory, in order of file name; raises InputError if there are none."""
    results = [read_json_object(path) for path in sorted(glob.glob(os.path.join(results_dir, "*.json")))]
    if not any(result["comparisons"] for result in results):
        raise InputError(f"`results_dir`={results_dir}: contains no measurements; run the benchmarks first")
    return results


def time_turns(turns, rounds, warm_up=1, calls_before=0):
    """Lets functions take turns, so that a slowdown of the machine affects all of them.

    Pauses before each turn, so that the threads of the previous turn go to sleep.

    Args:
      turns: Dict of name to function without arguments. The function returns when its work is done. If it returns
        `Seconds`, these count.
      rounds: int. Number of turns per function.
      warm_up: int. Number of additional rounds at the start, not included in the results.
      calls_before: int. Calls at the start of each turn, not included in the results. They load the weights into the
        caches, as in a server that handles request after request.

    Returns:
      Dict of name to list of seconds, one per round.
    """
    times = {name: [] for name in turns}
    for number in range(-warm_up, rounds):
        for name, function in turns.items():
            time.sleep(PAUSE)
            for _ in range(calls_before):
                function()
            start = time.perf_counter()
            result = function()
            seconds = time.perf_counter() - start
            if number >= 0:
                times[name].append(float(result) if isinstance(result, Seconds) else seconds)
    return times


def medians(times):
    """Returns the median of each list in a dict."""
    return {name: statistics.median(each) for name, each in times.items()}


def in_own_process(function, *arguments):
    """Returns a function's result from a new process, which frees its memory; raises BrokenProcessPool if killed."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@contextlib.contextmanager
def on_cores(count):
    """Limits this thread, and the threads and processes that it starts, to `count` cores; a context manager."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def shapes(batch_sizes, lengths):
    """Parses the settings of these names, tuples of str, to pairs of int; raises InputError if the lengths differ."""
    if len(batch_sizes) != len(lengths):
        raise InputError(f"`batch_sizes` has {len(batch_sizes)} numbers, `lengths` {len(lengths)}: they go together")
    return list(zip(whole_numbers("batch_sizes", batch_sizes), whole_numbers("lengths", lengths), strict=True))


def whole_numbers(name, values):
    """Parses the strings of the setting `name` to ints of at least 1; raises InputError for an invalid one."""
    for value in values:
        if not (value.isdecimal() and int(value)):
            raise InputError(f"`{name}`={value}: must be integers of at least 1, separated by commas")
    return [int(value) for value in values]
