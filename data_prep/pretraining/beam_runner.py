"""Text files -> shards of pre-training records on many machines, as an Apache Beam pipeline.

The text is cut into units, and each made into a shard, as by local_runner: into the same files with the same bytes,
whatever the runner and however many workers there are. A unit is read, tokenized, made into instances
and written by one worker, so that no text is sent between workers, and each needs the memory of one shard.

This module needs apache-beam. Workers need this project, and all paths must be such that every worker can open them.
"""

import contextlib
import dataclasses
import io
import logging
import os
import re
import shlex
import time
import traceback

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.runner import create_runner
from apache_beam.utils.shared import Shared

from bert_tf.errors import InputError
from bert_tf.files import is_remote
from bert_tf.tokenization import BertTokenizer
from data_prep.pretraining import run_plan, shard_plan, shards
from data_prep.pretraining.manifest import Manifest

RUNNERS = {
    "direct": "DirectRunner",
    "dataflow": "DataflowRunner",
    "flink": "FlinkRunner",
    "spark": "SparkRunner",
}
DIRECT_OPTIONS = (
    "--direct_running_mode=multi_processing",
    "--default_sdk_harness_log_level=CRITICAL",  # errors come back here
    # There are no triggers; but with it Beam does not look on the internet for a server to run the pipeline.
    "--allow_unsafe_triggers",
)
RUNNERS_WITH_OWN_OPTIONS = ("flink", "spark")  # which Beam's Python does not know all of


def make_options(runner, beam_options="", num_workers=None):
    """The PipelineOptions of a runner.

    Args:
      runner: a key of RUNNERS.
      beam_options: more options of Beam, as on a command line.
      num_workers: worker processes of the direct runner; None for one a core, and with every other runner.

    Raises:
      InputError: a runner that is not installed; options that Beam does not know or cannot parse, or that the runner
        refuses; `num_workers` with another runner.
    """
    try:
        arguments = shlex.split(beam_options)
    except ValueError as error:  # a quote that does not close
        raise InputError(f"`beam_options`={beam_options}: {error}") from error
    if runner == "direct":
        num_workers = num_workers or len(os.sched_getaffinity(0))
        arguments = [f"--direct_num_workers={num_workers}", *DIRECT_OPTIONS, *arguments]
        logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    elif num_workers:
        raise InputError(f"`num_workers`={num_workers}: is for `runner`=local and `runner`=direct; give `beam_options` "
                         f"what {runner} is to be told of its workers")
    options = PipelineOptions(arguments, runner=RUNNERS[runner])
    try:
        beams_runner = create_runner(RUNNERS[runner])
    except ImportError as error:
        raise InputError(f"`runner`={runner}: {error}") from error
    known, given = _parsed(options, beam_options)
    unknown = given - known
    if unknown and runner not in RUNNERS_WITH_OWN_OPTIONS:
        raise InputError(f"`beam_options`={beam_options}: Apache Beam has no option --{min(unknown)}")
    mistakes = PipelineOptionsValidator(options, beams_runner).validate()
    if mistakes:
        raise InputError(f"`beam_options`={beam_options}: {' '.join(mistakes)}")
    return options


def _parsed(options, beam_options):
    """The names of the options that Beam knows, and of these with all others that were given; two sets."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return (set(options.get_all_options()), set(options.get_all_options(retain_unknown_options=True)))
    except SystemExit as error:  # Beam parses with argparse, which prints its usage and what is wrong, and exits
        mistake = said.getvalue().strip().rpartition("error: ")[2]
        raise InputError(f"`beam_options`={beam_options}: {mistake}") from error


def check_paths(runner, paths):
    """Raises InputError for a path that workers on other machines cannot open."""
    for path in paths:
        if runner == "direct" or is_remote(path):
            continue
        if runner == "dataflow":
            raise InputError(f"`runner`=dataflow: {path}: is on this machine, where Dataflow's workers cannot open it: "
                             f"give a path that begins with gs://")
        if not os.path.isabs(path):
            raise InputError(f"`runner`={runner}: {path}: workers do not run in this folder: give the full path")


def create_pretraining_data(input_files, output_files, tokenizer, settings, seed, options, *, num_output_shards=1,
                            max_shard_bytes=0, verify=False, announce=lambda line: None):
    """Makes the records of text files; of what an earlier run has finished, only the shards that are missing.

    The manifest notes the shards of a run when all of them are made.

    Args:
      options: PipelineOptions of `make_options`.
      input_files, output_files, tokenizer, settings, seed, num_output_shards, max_shard_bytes, verify, announce: as
        local_runner.create_pretraining_data's; the tokenizer's vocabulary file must be one that workers can open.

    Returns:
      plan.Summary.

    Raises:
      InputError, OSError: as local_runner.create_pretraining_data's; InputError also for an option that the
        runner does not take.
    """
    start = time.perf_counter()
    plan, manifest = run_plan.begin(
        input_files, output_files, tokenizer, settings, seed, num_output_shards=num_output_shards,
        max_shard_bytes=max_shard_bytes, verify=verify, announce=announce)
    missing, made_from = manifest.missing, plan.describe()
    if missing:
        pipeline = beam.Pipeline(options=options)
        _ = (pipeline
             | "ShardsToMake" >> beam.Create(missing)
             | "SpreadOverWorkers" >> beam.Reshuffle()
             | "MakeShards" >> beam.ParDo(MakeShard(plan))
             | "Gather" >> beam.combiners.ToList()
             | "NoteInManifest" >> beam.Map(note_in_manifest, manifest.path, made_from, plan.shard_files))
        with run_plan.only_writer_of(plan, manifest), _mistakes_of_workers():
            pipeline.run().wait_until_finish()
        manifest = Manifest(manifest.path, made_from, plan.shard_files)
    if manifest.missing:
        raise OSError(f"{manifest.path}: {len(manifest.missing)} of {len(plan.units)} shards are not to be found after "
                      f"the run: workers must write to a file system that this machine can read")
    num_bytes_made = sum(plan.units[i].num_bytes for i in missing)
    return run_plan.Summary(
        settings, manifest.counts, len(plan.units), len(missing), num_bytes_made, time.perf_counter() - start)


class MakeShard(beam.DoFn):
    """Number of a shard -> shards.Shard, made and written. Beam's counters of the same names add its Counts up."""

    def __init__(self, plan):
        """`plan`: plan.Plan."""
        self._plan = dataclasses.replace(plan, tokenizer=None)
        tokenizer = plan.tokenizer
        self._tokenizer = tokenizer.vocab_file, tokenizer.lower_case, tokenizer.strip_accents
        self._shared = Shared()

    def setup(self):
        """Makes the tokenizer, once in a worker process, however many threads it has."""
        tokenizer = self._shared.acquire(lambda: BertTokenizer(*self._tokenizer))
        self._plan = dataclasses.replace(self._plan, tokenizer=tokenizer)

    def process(self, index):
        """Yields the Shard."""
        with shard_plan.TextReader() as reader:
            shard = shards.make_shard(self._plan.task(index, reader))
        for name, number in dataclasses.asdict(shard.counts).items():
            beam.metrics.Metrics.counter("pretraining_data", name).inc(number)
        yield shard


def note_in_manifest(made, path, made_from, shard_files):
    """Notes all of `made`, a list of Shard, in the manifest at `path`; the rest as Manifest's arguments."""
    Manifest(path, made_from, shard_files).add(*made)


@contextlib.contextmanager
def _mistakes_of_workers():
    """Raises an InputError or OSError of a worker, which comes as text in an error of Beam, as such."""
    try:
        yield
    except Exception as error:
        message = "".join(traceback.format_exception_only(error))
        for kind in (InputError, OSError):
            found = re.search(rf"^([\w.]+\.)?{kind.__name__}: (?P<message>.*?)(?: \[while running .*)?$", message,
                              re.MULTILINE)
            if found:
                raise kind(found["message"]) from error
        raise
