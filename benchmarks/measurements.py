"""How benchmarks measure: functions take turns, and what ours and a peer's took is kept for the page of benchmarks.

A benchmark that has a peer writes its comparisons into NAME.json of --results_dir, of which benchmarks.page makes a
page.
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
import statistics
import time

from bert_tf.cli.paths import check_output_dir
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_json_object

RESULTS_DIR = os.path.join("build", "bench_results")
VOCAB_FILE = str(pathlib.Path(__file__).parent.parent / "tests" / "reference" / "text" / "vocab.txt")  # for want of one
# Seconds before each turn. ONNX Runtime's threads look for more work for 50 ms after an answer, and hold a core for it.
PAUSE = 0.1
PACKAGES = ("tensorflow", "tensorflow-text", "tf-models-official")  # whose versions are kept with a measurement


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A figure of this project and that of a peer.

    Attributes:
      name: what was measured, and at which size.
      peer: which part of which project is the peer.
      ours, theirs: the figures, above 0.
      unit: of both, such as "s" or "MB/s".
      higher_is_better: whether the higher figure is the better one: True of a rate, False of a time.
    """

    name: str
    peer: str
    ours: float
    theirs: float
    unit: str
    higher_is_better: bool

    @property
    def ratio(self):
        """How many times as fast as the peer ours is."""
        return self.ours / self.theirs if self.higher_is_better else self.theirs / self.ours


@dataclasses.dataclass(frozen=True)
class KeptResults(Settings):
    """Of a benchmark with a peer: where its comparisons go."""

    results_dir: str = setting(RESULTS_DIR, "Folder for the comparisons with peers, NAME.json, of which "
                                            "benchmarks.page makes a page.")


def keep(name, settings, comparisons, left_out=()):
    """Writes comparisons, the settings they were made with and the versions of packages into the folder for them.

    Args:
      name: of the benchmark, and of the file, which is replaced.
      settings: KeptResults.
      comparisons: list of Comparison.
      left_out: names of peers that are not installed.
    """
    check_output_dir("results_dir", settings.results_dir)
    os.makedirs(settings.results_dir, exist_ok=True)
    rows = [{**dataclasses.asdict(each), "ratio": each.ratio} for each in comparisons]
    result = {"benchmark": name, "settings": dataclasses.asdict(settings), "cores": len(os.sched_getaffinity(0)),
              "versions": {package: importlib.metadata.version(package) for package in PACKAGES}, "comparisons": rows,
              "left_out": list(left_out)}
    with new_file(os.path.join(settings.results_dir, f"{name}.json")) as file:
        json.dump(result, file, indent=2)
        file.write("\n")


def read_results(results_dir):
    """The dicts that `keep` wrote into a folder, by name of the file; InputError if there are none."""
    results = [read_json_object(path) for path in sorted(glob.glob(os.path.join(results_dir, "*.json")))]
    if not any(result["comparisons"] for result in results):
        raise InputError(f"`results_dir`={results_dir}: there are no measurements: run the benchmarks first")
    return results


def time_turns(turns, rounds, warm_up=1, calls_before=0):
    """Lets functions take turns, so that a machine that slows down slows all of them.

    Before each turn is a pause, in which the threads of the turn before go to sleep.

    Args:
      turns: dict of name -> function without arguments, which returns when its work is done.
      rounds: how often each has its turn.
      warm_up: rounds before these, which are not counted.
      calls_before: calls at the beginning of each turn that are not counted: what is called again and again, as by a
        server, finds its weights in the caches.

    Returns:
      dict of name -> list of seconds, one a round.
    """
    times = {name: [] for name in turns}
    for number in range(-warm_up, rounds):
        for name, function in turns.items():
            time.sleep(PAUSE)
            for _ in range(calls_before):
                function()
            start = time.perf_counter()
            function()
            if number >= 0:
                times[name].append(time.perf_counter() - start)
    return times


def medians(times):
    """The median of each list in a dict."""
    return {name: statistics.median(each) for name, each in times.items()}


def in_own_process(function, *arguments):
    """What a function returns in a new process, whose memory goes with it; BrokenProcessPool if it is killed."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@contextlib.contextmanager
def on_cores(count):
    """A context in which this thread, and threads and processes that it starts, use so many cores, or all if fewer."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def shapes(batch_sizes, lengths):
    """Pairs of int that the settings of these names, tuples of str, stand for; InputError if they are not as many."""
    if len(batch_sizes) != len(lengths):
        raise InputError(f"`batch_sizes` has {len(batch_sizes)} numbers, `lengths` {len(lengths)}: they go together")
    return list(zip(whole_numbers("batch_sizes", batch_sizes), whole_numbers("lengths", lengths), strict=True))


def whole_numbers(name, values):
    """The ints, at least 1, that the strings of the setting `name` stand for; InputError names another."""
    for value in values:
        if not (value.isdecimal() and int(value)):
            raise InputError(f"`{name}`={value}: it must be whole numbers of at least 1, separated by commas")
    return [int(value) for value in values]
