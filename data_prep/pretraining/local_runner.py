"""Text files -> shards of pre-training records, in processes of this machine; resumes where it was stopped."""

import contextlib
import os
import sys
import time

import tqdm

from data_prep.machine import processes
from data_prep.pretraining import shard_plan, shards
from data_prep.pretraining.run_plan import Summary, begin, only_writer_of

MOST_THREADS = 8  # that tokenize, for workers; with more, the interpreter's lock would be what they wait for
BYTES_PER_WORKER = 1 << 26  # Text, counted in each pass, for which starting a process (1.5 s) is worthwhile.


def create_pretraining_data(input_files, output_files, tokenizer, settings, seed, *, num_output_shards=1,
                            max_shard_bytes=0, num_workers=None, verify=False, announce=lambda line: None):
    """Makes the records of text files; of what an earlier run of the same made, only the shards that are missing.

    A text of one shard gives the records that the original makes with the same settings and seed. A larger one
    is cut, between documents, into parts that are each made into a shard as if they were all, with a seed
    of its own. Records depend on all arguments but `num_workers`. Beside the first output file, a manifest is kept.

    Args:
      input_files: paths of text files, one sentence a line, a blank line after each document; .gz too.
      output_files: paths of the TFRecord files; records go to them in turn. Where there are several shards, each
        path stands for one file a shard (plan.shard_file). Missing folders are made; each file appears
        when it is whole.
      tokenizer: BertTokenizer.
      settings: InstanceSettings.
      seed: any integer.
      num_output_shards: shards wanted.
      max_shard_bytes: most text of a shard, and with it the memory needed: there are more shards than
        wanted where needed. 0 for no limit.
      num_workers: processes; None for one a core, fewer for a small text.
      verify: whether all bytes of what is finished are compared with the manifest, not sizes and a sample alone.
      announce: called with each line for people, before and between the work.

    Returns:
      plan.Summary.

    Raises:
      InputError: text that is empty, has a shard of one document only; an output that was made from
        other inputs or with other settings.
      OSError: a file that cannot be read or written.
    """
    start = time.perf_counter()
    plan, manifest = begin(
        input_files, output_files, tokenizer, settings, seed, num_output_shards=num_output_shards,
        max_shard_bytes=max_shard_bytes, verify=verify, announce=announce)
    missing, num_bytes_made = manifest.missing, 0
    with (only_writer_of(plan, manifest), contextlib.closing(_made(plan, missing, num_workers)) as made):
        for shard in made:
            manifest.add(shard)
            num_bytes_made += shard.counts.num_bytes
    return Summary(
        settings, manifest.counts, len(plan.units), len(missing), num_bytes_made, time.perf_counter() - start)


def _made(plan, missing, num_workers):
    """Yields the Shard of each number in `missing`, as they are finished; a generator, to be closed."""
    num_cores = len(os.sched_getaffinity(0))
    if len(plan.units) == 1:
        return _made_alone(plan, missing, min(num_workers or num_cores, MOST_THREADS))
    num_bytes = sum(plan.units[i].num_bytes for i in missing) * plan.settings.num_passes
    num_workers = num_workers or max(1, min(num_cores, num_bytes // BYTES_PER_WORKER))
    return _made_in_turn(plan, missing, min(num_workers, len(missing)))


def _made_alone(plan, missing, num_threads):
    """The only shard, in this process, with a progress bar for each step."""
    for index in missing:
        with shard_plan.TextReader() as reader, _progress_bar("tokenizing", plan.num_bytes, "B") as advance:
            task = plan.task(index, reader, advance, num_threads)
        yield shards.make_shard(task, _progress_bar)


def _made_in_turn(plan, missing, num_workers):
    """Shards of several, in worker processes if there is more than one."""
    with contextlib.ExitStack() as stack:
        advance = stack.enter_context(_progress_bar("making shards", plan.num_bytes, "B"))
        advance(sum(unit.num_bytes for i, unit in enumerate(plan.units) if i not in missing))
        reader = stack.enter_context(shard_plan.TextReader())
        tasks = (plan.task(index, reader, num_threads=min(num_workers, MOST_THREADS)) for index in missing)
        if num_workers > 1:
            made = stack.enter_context(contextlib.closing(processes.map_in_processes(
                shards.make_shard, _compiled_ahead(tasks), num_workers, in_order=False)))
        else:
            made = map(shards.make_shard, tasks)
        for shard in made:
            advance(shard.counts.num_bytes)
            yield shard


def _compiled_ahead(tasks):
    """Tasks, the first of them when what it takes is compiled: workers are not to compile each for themselves."""
    for number, task in enumerate(tasks):
        if not number:
            shards.compile_ahead(task)
        yield task


@contextlib.contextmanager
def _progress_bar(description, total, unit):
    # Into a log file a line now and then is enough.
    with tqdm.tqdm(desc=f"{description:>16}", total=total, unit=unit, unit_scale=True, file=sys.stderr,
                   mininterval=0.2 if sys.stderr.isatty() else 10) as bar:
        yield bar.update
