"""Apache Beam pipeline that creates shards from text files on many machines.

A worker reads the text of a shard and writes its records, as on one machine, so the files are the
same for any runner and number of workers, and no text is sent between workers.

This module requires apache-beam. Workers require this project, and every worker must be able to
open all paths.
"""

import contextlib
import dataclasses
import functools
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

from bert_tf import processor
from bert_tf.cli.paths import FINISHED_SUFFIX
from bert_tf.errors import InputError
from bert_tf.files import is_remote, lock_output

RUNNERS = {
    "direct": "DirectRunner",
    "dataflow": "DataflowRunner",
    "flink": "FlinkRunner",
    "spark": "SparkRunner",
    "dask": "apache_beam.runners.dask.dask_runner.DaskRunner",  # Beam has no short name for it.
}
DIRECT_OPTIONS = (
    "--direct_running_mode=multi_processing",
    "--default_sdk_harness_log_level=CRITICAL",  # This process reports errors.
    # There are no triggers, but with this flag Beam does not search the internet for a server to
    # run the pipeline.
    "--allow_unsafe_triggers",
)
# Beam's Python package does not know all of their options.
RUNNERS_WITH_UNKNOWN_OPTIONS = ("flink", "spark")


def create_options(runner, beam_options="", num_workers=None):
    """Creates the PipelineOptions of a runner.

    Args:
      runner: str. Key of RUNNERS.
      beam_options: str. Additional options for Beam, as on a command line.
      num_workers: int. Worker processes of the direct runner, by default one per core. None for
        other runners.

    Raises:
      InputError: If the runner is not installed, if Beam does not know or cannot parse an option,
        if the runner rejects an option, or if `num_workers` is set for a runner other than direct.
    """
    try:
        arguments = shlex.split(beam_options)
    except ValueError as error:  # An unclosed quote.
        raise InputError(str(error), "beam_options", beam_options) from error
    if runner == "direct":
        num_workers = num_workers or processor.count_cores()
        arguments = [f"--direct_num_workers={num_workers}", *DIRECT_OPTIONS, *arguments]
        logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    elif runner == "dask" and "--dask_npartitions" not in beam_options:
        # The default is 128 shards, all for the same worker.
        arguments.insert(0, "--dask_partition_size=1")
    if num_workers and runner != "direct":
        raise InputError(
            f"only works with `runner`=local or `runner`=direct; for {runner}, set the workers "
            "in `beam_options`",
            "num_workers",
            num_workers,
        )
    options = PipelineOptions(arguments, runner=RUNNERS[runner])
    try:
        pipeline_runner = create_runner(RUNNERS[runner])
    except ImportError as error:
        raise InputError(str(error), "runner", runner) from error
    known, explicit = _parse_options(options, beam_options)
    unknown = explicit - known
    if unknown and runner not in RUNNERS_WITH_UNKNOWN_OPTIONS:
        raise InputError(
            f"Apache Beam has no option --{min(unknown)}", "beam_options", beam_options
        )
    errors = PipelineOptionsValidator(options, pipeline_runner).validate()
    if errors:
        raise InputError(" ".join(errors), "beam_options", beam_options)
    if runner == "dask":
        _check_dask_address(options.get_all_options(), beam_options)
    return options


def _check_dask_address(values, beam_options):
    """Raises InputError unless options name a Dask cluster, also by Dask's own configuration.

    Without a cluster, Beam would start one that outlives the run in its directory.

    Args:
      values: Dict of option -> value.
      beam_options: str. The option of the script, for messages.
    """
    import dask
    from distributed.comm import get_address_host_port

    path = values["scheduler_file"]
    address = values["address"]
    if not (path or address or dask.config.get("scheduler-address", None)):
        raise InputError(
            "requires a cluster; set `beam_options`=--dask_client_address=tcp://HOST:PORT",
            "runner",
            "dask",
        )
    if path and not os.path.exists(path):  # Dask would wait for it forever.
        raise InputError(f"{path}: does not exist", "beam_options", beam_options)
    try:
        get_address_host_port(address or "tcp://localhost:1")
    except ValueError as error:
        raise InputError(
            f"must be tcp://HOST:PORT: {error}", "beam_options", beam_options
        ) from error


def _parse_options(options, beam_options):
    """Returns the names of the options that Beam knows, and of these and all set ones, two sets."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            return (
                set(options.get_all_options()),
                set(options.get_all_options(retain_unknown_options=True)),
            )
    except SystemExit as error:
        # Beam uses argparse, which prints its usage and the error, and exits.
        message = output.getvalue().strip().rpartition("error: ")[2]
        raise InputError(message, "beam_options", beam_options) from error


def check_paths(runner, paths):
    """Raises InputError for a path that workers on other machines cannot open."""
    for path in paths:
        if runner == "direct" or is_remote(path):
            continue
        if runner == "dataflow":
            raise InputError(
                f"{path}: must be a path that begins with gs://, because Dataflow workers cannot "
                "open files of this machine",
                "runner",
                "dataflow",
            )
        if not os.path.isabs(path):
            raise InputError(
                f"{path}: must be an absolute path, because workers run in another directory",
                "runner",
                runner,
            )


def create_shards(shards, settings, options):
    """Creates shards with a runner of Apache Beam.

    Args:
      shards: List of Shard. Workers must be able to open its files.
      settings: JobSettings.
      options: PipelineOptions from `create_options`.

    Raises:
      InputError: If the text of a shard is not suitable, or if the runner rejects an option.
      OSError: If a file cannot be read or written.
    """
    with _reraise_worker_errors():
        pipeline = beam.Pipeline(options=options)
        _ = (
            pipeline
            | "MissingShards" >> beam.Create(shards)
            | "SpreadOverWorkers" >> beam.Reshuffle()
            | "CreateShards" >> beam.Map(functools.partial(create_shard, settings=settings))
        )
        pipeline.run().wait_until_finish()


def create_shard(shard, settings):
    """Creates a shard in a worker, unless another has created it.

    Adds its counts to Beam counters of the same names. The worker of a driver that was killed may
    still be writing the shard, so this one waits.
    """
    from data_prep.pretraining import shards

    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lock_output(None, shard.files[0] + FINISHED_SUFFIX))
                break
            except InputError:
                time.sleep(0.5)
        counts = shards.read_finished(shard) or shards.create_shard(shard, settings)
    for name, number in dataclasses.asdict(counts).items():
        beam.metrics.Metrics.counter("shards", name).inc(number)


@contextlib.contextmanager
def _reraise_worker_errors():
    """Raises the InputError or OSError of a worker, whose text is in a Beam error, in a context."""
    try:
        yield
    except Exception as error:
        message = "".join(traceback.format_exception_only(error))
        for error_class in (InputError, OSError):
            match = re.search(
                rf"^([\w.]+\.)?{error_class.__name__}: (?P<message>.*?)(?: \[while running .*)?$",
                message,
                re.MULTILINE,
            )
            if match:
                raise error_class(match["message"]) from error
        raise
