"""Apache Beam pipeline that creates shards from text files on many machines.

The text is divided into units, one per shard, as in local_runner. The files are byte-identical to its files for any
runner and number of workers. One worker reads a unit and writes its shard, so no text is sent between workers, and a
worker needs the memory of one shard.

This module requires apache-beam. Workers require this project, and every worker must be able to open all paths.
"""

import contextlib
import dataclasses
import io
import logging
import os
import re
import shlex
import traceback

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.runner import create_runner
from apache_beam.utils.shared import Shared

from bert_tf.errors import InputError
from bert_tf.files import is_remote
from data_prep.sharding import text_units
from data_prep.sharding.manifest import Manifest

RUNNERS = {
    "direct": "DirectRunner",
    "dataflow": "DataflowRunner",
    "flink": "FlinkRunner",
    "spark": "SparkRunner",
}
DIRECT_OPTIONS = (
    "--direct_running_mode=multi_processing",
    "--default_sdk_harness_log_level=CRITICAL",  # This process reports errors.
    # There are no triggers, but with this flag Beam does not search the internet for a server to run the pipeline.
    "--allow_unsafe_triggers",
)
RUNNERS_WITH_UNKNOWN_OPTIONS = ("flink", "spark")  # Beam's Python package does not know all of their options.


def create_options(runner, beam_options="", num_workers=None):
    """Creates the PipelineOptions of a runner.

    Args:
      runner: str. Key of RUNNERS.
      beam_options: str. Additional options for Beam, as on a command line.
      num_workers: int. Worker processes of the direct runner, by default one per core. None for other runners.

    Raises:
      InputError: If the runner is not installed, if Beam does not know or cannot parse an option, if the runner
        rejects an option, or if `num_workers` is set for a runner other than direct.
    """
    try:
        arguments = shlex.split(beam_options)
    except ValueError as error:  # An unclosed quote.
        raise InputError(f"`beam_options`={beam_options}: {error}") from error
    if runner == "direct":
        num_workers = num_workers or len(os.sched_getaffinity(0))
        arguments = [f"--direct_num_workers={num_workers}", *DIRECT_OPTIONS, *arguments]
        logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    elif num_workers:
        raise InputError(f"`num_workers`={num_workers}: only works with `runner`=local or `runner`=direct; for "
                         f"{runner}, set the workers in `beam_options`")
    options = PipelineOptions(arguments, runner=RUNNERS[runner])
    try:
        pipeline_runner = create_runner(RUNNERS[runner])
    except ImportError as error:
        raise InputError(f"`runner`={runner}: {error}") from error
    known, explicit = _parse_options(options, beam_options)
    unknown = explicit - known
    if unknown and runner not in RUNNERS_WITH_UNKNOWN_OPTIONS:
        raise InputError(f"`beam_options`={beam_options}: Apache Beam has no option --{min(unknown)}")
    errors = PipelineOptionsValidator(options, pipeline_runner).validate()
    if errors:
        raise InputError(f"`beam_options`={beam_options}: {' '.join(errors)}")
    return options


def _parse_options(options, beam_options):
    """Returns two sets: the names of the options that Beam knows, and these plus all other options that were set."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            return (set(options.get_all_options()), set(options.get_all_options(retain_unknown_options=True)))
    except SystemExit as error:  # Beam uses argparse, which prints its usage and the error, and exits.
        message = output.getvalue().strip().rpartition("error: ")[2]
        raise InputError(f"`beam_options`={beam_options}: {message}") from error


def check_paths(runner, paths):
    """Raises InputError for a path that workers on other machines cannot open."""
    for path in paths:
        if runner == "direct" or is_remote(path):
            continue
        if runner == "dataflow":
            raise InputError(f"`runner`=dataflow: {path}: must be a path that begins with gs://, because Dataflow "
                             "workers cannot open files of this machine")
        if not os.path.isabs(path):
            raise InputError(f"`runner`={runner}: {path}: must be an absolute path, because workers run in another "
                             "directory")


def create_shards(plan, manifest, options):
    """Creates the missing shards of an output. The manifest records them when all of them are finished.

    Args:
      plan: shard_plan.ShardPlan. Workers must be able to open its files.
      manifest: Its Manifest.
      options: PipelineOptions from `create_options`.

    Returns:
      The Manifest with the new shards.

    Raises:
      InputError: If the text of a shard is not suitable, or if the runner rejects an option.
      OSError: If a file cannot be read or written.
    """
    made_from = plan.describe()
    pipeline = beam.Pipeline(options=options)
    _ = (pipeline
         | "MissingShards" >> beam.Create(manifest.missing)
         | "SpreadOverWorkers" >> beam.Reshuffle()
         | "CreateShards" >> beam.ParDo(CreateShard(plan))
         | "Gather" >> beam.combiners.ToList()
         | "AddToManifest" >> beam.Map(add_to_manifest, manifest.path, plan.kind, made_from, plan.shard_files))
    with _reraise_worker_errors():
        pipeline.run().wait_until_finish()
    manifest = Manifest(manifest.path, plan.kind, made_from, plan.shard_files)
    if manifest.missing:
        raise OSError(f"{manifest.path}: {len(manifest.missing)} of {len(plan.units)} shards do not exist after the "
                      "run; workers must write to a file system that this machine can read")
    return manifest


class CreateShard(beam.DoFn):
    """Creates and writes the Shard with a given number. Adds its counts to Beam counters of the same names."""

    def __init__(self, plan):
        """Stores the plan. `plan`: shard_plan.ShardPlan."""
        self._plan = plan.to_portable()
        self._shared = Shared()

    def setup(self):
        """Loads the plan once per worker process, for any number of threads."""
        self._loaded = self._shared.acquire(self._plan.load)

    def process(self, index):
        """Yields the Shard."""
        with text_units.TextReader() as reader:
            shard = self._loaded.create_shard(self._loaded.create_task(index, reader))
        for name, number in dataclasses.asdict(shard.counts).items():
            beam.metrics.Metrics.counter("shards", name).inc(number)
        yield shard


def add_to_manifest(created, path, *arguments):
    """Adds `created`, a list of Shard, to the manifest at `path`. For the other arguments, see Manifest."""
    Manifest(path, *arguments).add(*created)


@contextlib.contextmanager
def _reraise_worker_errors():
    """Raises a worker's InputError or OSError, which is text within a Beam error, as that exception."""
    try:
        yield
    except Exception as error:
        message = "".join(traceback.format_exception_only(error))
        for kind in (InputError, OSError):
            match = re.search(rf"^([\w.]+\.)?{kind.__name__}: (?P<message>.*?)(?: \[while running .*)?$", message,
                              re.MULTILINE)
            if match:
                raise kind(match["message"]) from error
        raise
