"""Local runner: creates shards in processes of this machine."""

import contextlib
import sys

import tqdm

from bert_tf import processor
from data_prep.machine import processes
from data_prep.sharding import text_units

MAX_THREADS = 8  # Maximum number of reading threads. With more, the interpreter's lock is the bottleneck.
BYTES_PER_WORKER = 1 << 26  # Bytes of text, counted in each pass, that justify starting a process (1.5 s).


def create_shards(plan, manifest, num_workers=None):
    """Creates the missing shards of an output, and adds each to the manifest as it finishes.

    Args:
      plan: shard_plan.ShardPlan.
      manifest: Its Manifest.
      num_workers: int. Number of processes. Defaults to one per core, fewer for a small text.

    Returns:
      The Manifest.

    Raises:
      InputError: If the text of a shard is not suitable.
      OSError: If a file cannot be read or written.
    """
    with contextlib.closing(_create_shards(plan, manifest.missing, num_workers)) as created:
        for shard in created:
            manifest.add(shard)
    return manifest


def _create_shards(plan, missing, num_workers):
    """Yields the Shard of each number in `missing` as it finishes; a generator, to be closed."""
    num_cores = processor.count_cores()
    if len(plan.units) == 1:
        return _create_only_shard(plan, missing, min(num_workers or num_cores, MAX_THREADS))
    num_bytes = sum(plan.units[i].num_bytes for i in missing) * plan.num_passes
    num_workers = num_workers or max(1, min(num_cores, num_bytes // BYTES_PER_WORKER))
    return _create_several_shards(plan, missing, min(num_workers, len(missing)))


def _create_only_shard(plan, missing, num_threads):
    """Yields the only shard, created in this process, with a progress bar for each step."""
    for index in missing:
        with text_units.TextReader() as reader, _progress_bar(plan.reading, plan.num_bytes, "B") as advance:
            task = plan.create_task(index, reader, advance, num_threads)
        yield plan.create_shard(task, _progress_bar)


def _create_several_shards(plan, missing, num_workers):
    """Yields the shards of several, created in worker processes if there is more than one worker."""
    with contextlib.ExitStack() as stack:
        advance = stack.enter_context(_progress_bar("creating shards", plan.num_bytes, "B"))
        advance(sum(unit.num_bytes for i, unit in enumerate(plan.units) if i not in missing))
        reader = stack.enter_context(text_units.TextReader())
        tasks = (plan.create_task(index, reader, num_threads=min(num_workers, MAX_THREADS)) for index in missing)
        if num_workers > 1:
            created = stack.enter_context(contextlib.closing(processes.map_in_processes(
                plan.create_shard, _compile_first(plan, tasks), num_workers, in_order=False)))
        else:
            created = map(plan.create_shard, tasks)
        for shard in created:
            advance(shard.counts.num_bytes)
            yield shard


def _compile_first(plan, tasks):
    """Yields tasks; compiles before the first, so that workers do not each compile the same functions."""
    for number, task in enumerate(tasks):
        if not number:
            plan.compile_ahead(task)
        yield task


@contextlib.contextmanager
def _progress_bar(description, total, unit):
    # An occasional line is enough for a log file.
    with tqdm.tqdm(desc=f"{description:>18}", total=total, unit=unit, unit_scale=True, file=sys.stderr,
                   mininterval=0.2 if sys.stderr.isatty() else 10) as bar:
        yield bar.update
