"""The create_pretraining_data job: divides the text, and creates the missing shards.

Each process imports TensorFlow, which takes seconds, with its first shard: invalid input is
reported immediately, and all processes import it at the same time.
"""

import contextlib
import functools
import glob
import hashlib
import importlib.util
import json
import os
import sys
import time

import tqdm

from bert_tf import files, processor
from bert_tf.cli import paths
from bert_tf.cli.paths import FINISHED_SUFFIX, RUN_SUFFIX
from bert_tf.cli.run_state import CHANGEABLE, RunState, fingerprint, snapshot
from bert_tf.cli.script import announce, warn
from bert_tf.errors import InputError
from bert_tf.files import lock_output
from data_prep.pretraining import parts
from data_prep.pretraining import shards as shards_lib
from data_prep.pretraining.parts import shard_file
from data_prep.processes import map_in_processes
from data_prep.reading import compute_digest

# In a shorter run, the start of the processes takes most of the time, so its rate says nothing.
MIN_SECONDS_OF_RATE = 30
# Bytes of text, times passes, for each process, which takes seconds to import its code.
BYTES_PER_WORKER = 1 << 27


def run(settings):
    """Creates records from text files, without the shards that an identical earlier run finished.

    With one shard, the records equal those of the original BERT with the same settings and seed. A
    larger text is divided between documents into parts. Each part becomes a shard like a complete
    text, with its own seed.

    Args:
      settings: JobSettings.

    Returns:
      Tuple `(counts, missing)`: shards.Counts of the complete output, including the results of
      earlier runs; list of the shards.Shards that this run created.

    Raises:
      InputError: If files or settings are incompatible, if the text is empty, if a shard has too
        few documents, or if an existing output was created from other inputs or with other
        settings.
      OSError: If a file cannot be read or written.
    """
    input_files = paths.expand_globs("input_file", settings.input_file)
    check_outputs(input_files, settings.output_files, settings.input_file)
    for path in settings.output_files:
        paths.check_not_overwritten("output_file", path, {"vocab_file": settings.vocab_file})
    create_shards = choose_runner(
        settings, [settings.vocab_file, *input_files, *settings.output_files]
    )
    start = time.perf_counter()
    max_bytes = max(1, round(settings.max_shard_mb * 1e6)) if settings.max_shard_mb else 0
    divided = parts.plan_parts(input_files, settings.num_output_shards, max_bytes)
    state, digest = open_state(settings, input_files, len(divided))
    shards = _list_shards(divided, settings.output_files, digest)
    missing = [shard for shard in shards if not shards_lib.read_finished(shard, settings.verify)]
    _announce_plan(settings, shards, missing)
    if missing or not state.is_resumed:
        with _lock_shards(settings, missing, state):
            state.begin()
            create_shards(missing, settings)
    counts = _sum_counts(shards, settings.output_files[0])
    lines = counts.to_lines(settings.instances)
    if missing:
        lines.insert(2, _describe_speed(shards, missing, time.perf_counter() - start))
    announce("\n".join(lines))
    for note in counts.find_notes(settings.instances):
        warn(note)
    return counts, missing


def check_outputs(input_files, output_files, patterns):
    """Raises InputError if an output is an input, another output, or a directory.

    Args:
      input_files, output_files: Lists of paths.
      patterns: str. Value of `input_file`. No output may have a path that the next run would match.
    """
    taken = {
        files.at(path).absolute(): "would overwrite an input file; choose another path"
        for path in input_files
    }
    for path in output_files:
        if not path:
            raise InputError("contains an empty path", "output_file", ",".join(output_files))
        if files.at(path).is_dir():
            raise InputError("must be a file, but is a directory", "output_file", path)
        paths.check_replaceable("output_file", path)
        real_path = files.at(path).absolute()
        if real_path in taken:
            raise InputError(taken[real_path], "output_file", path)
        paths.check_not_read("output_file", path, {"input_file": patterns})
        taken[real_path] = "occurs twice"


def choose_runner(settings, paths_to_open):
    """Chooses the function that creates shards: `create_here`, or the one of beam_runner.

    Args:
      settings: JobSettings.
      paths_to_open: Paths of all files to read and write.

    Returns:
      Callable of the list of Shards to create and the settings.

    Raises:
      InputError: If options are incompatible with the runner, or if Apache Beam is not installed.
    """
    if settings.runner == "local":
        if settings.beam_options:
            raise InputError(
                "cannot be combined with `runner`=local", "beam_options", settings.beam_options
            )
        return create_here
    if not importlib.util.find_spec("apache_beam"):
        raise InputError(
            "requires Apache Beam; run pip install -e '.[beam]'", "runner", settings.runner
        )
    if settings.runner == "dask" and not importlib.util.find_spec("distributed"):
        raise InputError("requires Dask; run pip install -e '.[dask]'", "runner", "dask")
    from data_prep.pretraining import beam_runner

    beam_runner.check_paths(settings.runner, paths_to_open)
    options = beam_runner.create_options(
        settings.runner, settings.beam_options, settings.num_workers
    )
    return functools.partial(beam_runner.create_shards, options=options)


def open_state(settings, input_files, num_shards):
    """Compares the run with an earlier one that wrote the same output; writes nothing.

    Returns:
      Tuple `(state, digest)`: RunState; str that identifies the settings and the inputs.
    """
    casing = settings.casing
    strips_accents = None if casing.strip_accents == casing.do_lower_case else casing.strip_accents
    values = {
        **snapshot(settings),
        "dupe_factor": settings.instances.num_passes,
        "strip_accents": strips_accents,
        "num_output_shards": num_shards,
        "output_file": ",".join(map(os.path.basename, settings.output_files)),
    }
    inputs = {
        "input_file": fingerprint(input_files),
        "vocab_file": {
            "files": 1,
            "bytes": files.at(settings.vocab_file).size(),
            "contents": compute_digest(settings.vocab_file),
        },
    }
    digest = hashlib.sha256(json.dumps([values, inputs], sort_keys=True).encode()).hexdigest()
    path = settings.output_files[0]
    stem, extension = map(glob.escape, os.path.splitext(path))
    finished = [f"{stem}{number}{extension}{FINISHED_SUFFIX}" for number in ("", "-*-of-*")]
    values[CHANGEABLE] = {"vocab_file": files.at(settings.vocab_file).absolute()}
    state = RunState(
        os.path.dirname(path),
        values,
        inputs,
        name=os.path.basename(path) + RUN_SUFFIX,
        output=("output_file", path),
        has_results=lambda: any(files.at(pattern).matching() for pattern in finished),
    )
    return state, digest


def create_here(shards, settings):
    """Creates shards on this machine: in this process, or in several if there is enough text.

    With several, this process only distributes the shards: when it also created some, it delayed
    the last ones. On two cores, two workers were 1.3, 1.7, and 1.9 times as fast as one with 28 MB,
    301 MB, and 1.12 GB of text.
    """
    num_bytes = sum(shard.num_bytes for shard in shards)
    num_workers = settings.num_workers or max(
        1,
        min(processor.count_cores(), num_bytes * settings.instances.num_passes // BYTES_PER_WORKER),
    )
    num_workers = min(num_workers, len(shards))
    if num_workers > 1:
        created = map_in_processes(shards_lib.create_shard, shards, num_workers, settings)
    else:
        created = (shards_lib.create_shard(shard, settings) for shard in shards)
    with (
        contextlib.closing(created),
        tqdm.tqdm(
            desc="creating shards",
            total=num_bytes,
            unit="B",
            unit_scale=True,
            file=sys.stderr,
            mininterval=0.2 if sys.stderr.isatty() else 10,
        ) as bar,
    ):
        for counts in created:
            bar.update(counts.num_bytes)


def _list_shards(divided, output_files, digest):
    """Returns the Shards of a text, a list.

    Args:
      divided: List of tuples of FileRange, the part of each shard. From `parts.plan_parts`.
      output_files: List of paths.
      digest: str. Identifies the run.
    """
    return [
        shards_lib.Shard(
            number,
            len(divided),
            text,
            tuple(shard_file(path, number, len(divided)) for path in output_files),
            digest,
        )
        for number, text in enumerate(divided)
    ]


def _sum_counts(shards, output_file):
    """Returns the Counts of all shards of an output.

    Raises OSError, with `output_file`, unless all are finished.
    """
    finished = [shards_lib.read_finished(shard) for shard in shards]
    if None in finished:
        raise OSError(
            f"{output_file}: {finished.count(None)} of {len(shards)} shards do not "
            "exist after the run; workers must write to a file system that this machine can read"
        )
    return sum(finished, shards_lib.Counts())


def _describe_speed(shards, created, seconds):
    """Returns a line with the time of a run that created some of the shards."""
    line = f"took     {seconds:.1f} s"
    if len(created) < len(shards):
        line += f" for {len(created)} of {len(shards)} shards"
    megabytes = sum(shard.num_bytes for shard in created) / 1e6
    if seconds >= MIN_SECONDS_OF_RATE:
        line += f", {megabytes / seconds:.2f} MB of text per second"
    return line


@contextlib.contextmanager
def _lock_shards(settings, missing, state):
    """A context in which no other process of this machine writes the output.

    It creates the output directories. After an error or Ctrl-C, it removes the unfinished files,
    and the settings of the run if no shard is finished.
    """
    for path in settings.output_files:
        try:
            files.at(os.path.dirname(path) or ".").make_dirs()
        except OSError as error:
            raise OSError(
                f"`output_file`={path}: cannot create its directory: {error.strerror or error}"
            ) from error
    with lock_output("output_file", settings.output_files[0]):
        try:
            yield
        except BaseException:
            for path in (path for shard in missing for path in shard.files):
                files.at(path).discard()
            if not state.is_resumed:
                with contextlib.suppress(OSError):
                    files.at(settings.output_files[0] + RUN_SUFFIX).remove()
            raise


def _announce_plan(settings, shards, missing):
    """Reports, before any work, the differences from a plain run."""
    if len(shards) > settings.num_output_shards:
        announce(
            f"`max_shard_mb`: splitting {sum(shard.num_bytes for shard in shards) / 1e6:,.1f} MB "
            f"of text into {len(shards)} shards, beginning with {shards[0].files[0]}"
        )
    if not missing:
        announce(f"{settings.output_files[0]}: is complete; to create it again, delete its files")
    elif len(missing) < len(shards):
        announce(
            f"{settings.output_files[0]}: resuming; {len(shards) - len(missing)} of {len(shards)} "
            f"shards are finished, {len(missing)} are missing"
        )
