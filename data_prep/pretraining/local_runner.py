"""Local runner: creates shards of pre-training records from text files in processes, and resumes interrupted runs."""

import contextlib
import os
import sys
import time

import tqdm

from data_prep.machine import processes
from data_prep.pretraining import shard_plan, shards
from data_prep.pretraining.run_plan import Summary, begin, lock_shards

MAX_THREADS = 8  # Maximum number of tokenizer threads. With more, the interpreter's lock is the bottleneck.
BYTES_PER_WORKER = 1 << 26  # Bytes of text, counted in each pass, that justify starting a process (1.5 s).


def create_pretraining_data(input_files, output_files, tokenizer, settings, seed, *, num_output_shards=1,
                            max_shard_bytes=0, num_workers=None, verify=False, announce=lambda line: None):
    """Creates the records of text files. Resumes an identical earlier run by creating only the missing shards.

    With one shard, the records equal those of the original BERT with the same settings and seed. A larger text is
    divided between documents into parts. Each part becomes a shard like a complete text, with its own seed. Records
    depend on all arguments except `num_workers`. A manifest is stored next to the first output file.

    Args:
      input_files: Paths of text files, one sentence per line, with a blank line after each document. May be .gz.
      output_files: Paths of the TFRecord files. Records are written to them in turn. With several shards, each path
        is a pattern for one file per shard (run_plan.shard_file). Directories are created if they do not exist. Each
        file appears when it is complete.
      tokenizer: BertTokenizer.
      settings: InstanceSettings.
      seed: int. Any integer.
      num_output_shards: int. Minimum number of shards.
      max_shard_bytes: int. Maximum bytes of text per shard, which bounds the memory; increases the number of shards if
        required. 0 for no limit.
      num_workers: int. Number of processes. Defaults to one per core, fewer for a small text.
      verify: bool. Whether to compare all bytes of finished shards with the manifest, not only sizes and a sample.
      announce: Callable of each message for the user, before and during the work.

    Returns:
      run_plan.Summary.

    Raises:
      InputError: If the text is empty, if a shard has too few documents, or if an existing output was created from
        other inputs or with other settings.
      OSError: If a file cannot be read or written.
    """
    start = time.perf_counter()
    plan, manifest = begin(
        input_files, output_files, tokenizer, settings, seed, num_output_shards=num_output_shards,
        max_shard_bytes=max_shard_bytes, verify=verify, announce=announce)
    missing, num_bytes_made = manifest.missing, 0
    with (lock_shards(plan, manifest), contextlib.closing(_create_shards(plan, missing, num_workers)) as created):
        for shard in created:
            manifest.add(shard)
            num_bytes_made += shard.counts.num_bytes
    return Summary(
        settings, manifest.counts, len(plan.units), len(missing), num_bytes_made, time.perf_counter() - start)


def _create_shards(plan, missing, num_workers):
    """Yields the Shard of each number in `missing` as it finishes; a generator, to be closed."""
    num_cores = len(os.sched_getaffinity(0))
    if len(plan.units) == 1:
        return _create_only_shard(plan, missing, min(num_workers or num_cores, MAX_THREADS))
    num_bytes = sum(plan.units[i].num_bytes for i in missing) * plan.settings.num_passes
    num_workers = num_workers or max(1, min(num_cores, num_bytes // BYTES_PER_WORKER))
    return _create_several_shards(plan, missing, min(num_workers, len(missing)))


def _create_only_shard(plan, missing, num_threads):
    """Yields the only shard, created in this process, with a progress bar for each step."""
    for index in missing:
        with shard_plan.TextReader() as reader, _progress_bar("tokenizing", plan.num_bytes, "B") as advance:
            task = plan.create_task(index, reader, advance, num_threads)
        yield shards.create_shard(task, _progress_bar)


def _create_several_shards(plan, missing, num_workers):
    """Yields the shards of several, created in worker processes if there is more than one worker."""
    with contextlib.ExitStack() as stack:
        advance = stack.enter_context(_progress_bar("creating shards", plan.num_bytes, "B"))
        advance(sum(unit.num_bytes for i, unit in enumerate(plan.units) if i not in missing))
        reader = stack.enter_context(shard_plan.TextReader())
        tasks = (plan.create_task(index, reader, num_threads=min(num_workers, MAX_THREADS)) for index in missing)
        if num_workers > 1:
            created = stack.enter_context(contextlib.closing(processes.map_in_processes(
                shards.create_shard, _compile_first(tasks), num_workers, in_order=False)))
        else:
            created = map(shards.create_shard, tasks)
        for shard in created:
            advance(shard.counts.num_bytes)
            yield shard


def _compile_first(tasks):
    """Yields tasks; compiles before the first, so that workers do not each compile the same functions."""
    for number, task in enumerate(tasks):
        if not number:
            shards.compile_ahead(task)
        yield task


@contextlib.contextmanager
def _progress_bar(description, total, unit):
    # An occasional line is enough for a log file.
    with tqdm.tqdm(desc=f"{description:>18}", total=total, unit=unit, unit_scale=True, file=sys.stderr,
                   mininterval=0.2 if sys.stderr.isatty() else 10) as bar:
        yield bar.update
