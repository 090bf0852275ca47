"""Text files -> shards of pre-training records, in processes of this machine; goes on where it was stopped."""

import contextlib
import dataclasses
import functools
import itertools
import os
import sys
import time

import tensorflow as tf
import tqdm

from bert_tf.errors import InputError
from bert_tf.files import discard
from data_prep.parallel import process_pool
from data_prep.pretraining import corpus as corpus_lib
from data_prep.pretraining import manifest as manifest_lib
from data_prep.pretraining import masking, shard_plan, shards
from data_prep.pretraining.sentence_pairs import InstanceSettings


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a run made; `str()` gives it as lines for people.

    Attributes:
      counts: shards.Counts of the whole output, what earlier runs made included.
      num_shards: of the whole output.
      num_made: shards that this run made.
      num_bytes_made: bytes of text that this run read for them.
      seconds: this run took, from the first byte read to the last file named.
    """

    counts: shards.Counts
    num_shards: int
    num_made: int
    num_bytes_made: int
    seconds: float

    def __str__(self):
        lines = str(self.counts).splitlines()
        if self.num_made:
            made = f" for {self.num_made} of {self.num_shards} shards" if self.num_made < self.num_shards else ""
            lines.insert(2, f"took     {self.seconds:.1f} s{made}, "
                            f"{self.num_bytes_made / 1e6 / self.seconds:.2f} MB of text a second")
        return "\n".join(lines)


def create_pretraining_data(input_files, output_files, tokenizer, settings, seed, *, num_output_shards=1,
                            max_shard_bytes=0, num_workers=None, announce=lambda line: None):
    """Makes the records of text files; of what an earlier run of the same made, only the shards that are missing.

    A text of one shard gives the records that the original makes with the same settings and seed. A larger one
    is cut, between documents, into parts that are each made into a shard as if they were all, with a seed
    of its own. Records depend on all arguments but `num_workers`. Beside the first output file, a manifest is kept.

    Args:
      input_files: paths of text files, one sentence a line, a blank line after each document; .gz too.
      output_files: paths of the TFRecord files; records go to them in turn. Where there are several shards, each
        path stands for one file a shard (`shard_file`). Missing folders are made; each file appears
        when it is whole.
      tokenizer: BertTokenizer.
      settings: InstanceSettings.
      seed: an integer.
      num_output_shards: shards wanted.
      max_shard_bytes: most text of a shard, and with it the memory taken: there are more shards than
        wanted where needed. 0 for no limit.
      num_workers: processes; None for one a core.
      announce: called with each line for people, before and between the work.

    Returns:
      Summary.

    Raises:
      InputError: text that is not UTF-8, is empty, has a shard of one document only; an output that was made from
        other inputs or with other settings.
      OSError: a file that cannot be read or written.
    """
    start = time.perf_counter()
    plan, manifest = begin(
        input_files, output_files, tokenizer, settings, seed, num_output_shards, max_shard_bytes, announce)
    missing, num_bytes_made = manifest.missing, 0
    with no_partial_files_left(plan, missing), contextlib.closing(_made(plan, missing, num_workers)) as made:
        for shard in made:
            manifest.add(shard)
            num_bytes_made += shard.counts.num_bytes
    return Summary(manifest.counts, len(plan.units), len(missing), num_bytes_made, time.perf_counter() - start)


def begin(input_files, output_files, tokenizer, settings, seed, num_output_shards, max_shard_bytes, announce):
    """Decides what is to be made of what, and finds out what is made already; makes the outputs' folders.

    Arguments and errors are those of `create_pretraining_data`.

    Returns:
      Plan and Manifest.
    """
    units = shard_plan.plan_units(input_files, num_output_shards, max_shard_bytes)
    plan = Plan(input_files, output_files, units, tokenizer, settings, seed)
    manifest = manifest_lib.Manifest(output_files[0] + manifest_lib.SUFFIX, plan.describe(), plan.shard_files)
    _announce(plan, manifest, num_output_shards, announce)
    for path in output_files:
        try:
            tf.io.gfile.makedirs(os.path.dirname(path) or ".")
        except tf.errors.OpError as error:
            raise OSError(f"`output_file`={path}: its folder cannot be made: {error.message}") from error
    return plan, manifest


@contextlib.contextmanager
def no_partial_files_left(plan, missing):
    """Removes what is half-written of the shards `missing` of a Plan when an error or Ctrl-C ends the work within."""
    try:
        yield
    except BaseException:
        for path in itertools.chain.from_iterable(plan.shard_files[i] for i in missing):
            with contextlib.suppress(OSError):  # what went wrong first is what is told
                discard(path)
        raise


def shard_file(path, index, num_shards):
    """The name of one of several shards: out.tfrecord -> out-00000-of-00012.tfrecord; of the only one, `path`."""
    if num_shards == 1:
        return path
    stem, extension = os.path.splitext(path)
    return f"{stem}-{index:05}-of-{num_shards:05}{extension}"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is made of what: the arguments of `create_pretraining_data`, with the text cut into units."""

    input_files: list
    output_files: list
    units: list
    tokenizer: tf.Module
    settings: InstanceSettings
    seed: int

    @property
    def num_bytes(self):
        return sum(unit.num_bytes for unit in self.units)

    @functools.cached_property
    def shard_files(self):
        """A tuple of paths for each shard."""
        return [tuple(shard_file(path, i, len(self.units)) for path in self.output_files)
                for i in range(len(self.units))]

    @functools.cached_property
    def vocabulary(self):
        return masking.Vocabulary.of_tokenizer(self.tokenizer)

    def describe(self):
        """Everything that the records depend on, for the manifest."""
        return manifest_lib.describe(self.input_files, self.tokenizer.vocab_file, {
            **dataclasses.asdict(self.settings),
            "do_lower_case": self.tokenizer.lower_case,
            "random_seed": self.seed,
            "output_file": ",".join(map(os.path.basename, self.output_files)),
            "num_output_shards": len(self.units)})

    def task(self, index, reader, on_progress=None):
        """Reads and tokenizes a unit: its ShardTask. ValueError where it has fewer than two documents."""
        corpus = corpus_lib.tokenize(reader.read(self.units[index], on_progress), self.tokenizer)
        self._check_documents(corpus, index)
        seed = self.seed if len(self.units) == 1 else f"{self.seed}, shard {index}"
        return shards.ShardTask(index, corpus, self.shard_files[index], self.settings, self.vocabulary,
                                self.tokenizer.unk_id, seed)

    def _check_documents(self, corpus, index):
        if corpus.num_documents >= 2:
            return
        needed = "at least two documents, each ended by a blank line, are needed for random next sentences"
        if len(self.units) > 1:
            piece = self.units[index].pieces[0]
            documents = ("no document", "one document")[corpus.num_documents]
            raise InputError(f"shard {index + 1} of {len(self.units)}, from byte {piece.start:,} of {piece.path}, "
                             f"would be of {documents}: {needed}; {shard_plan.FEWER_SHARDS}")
        where = self.input_files[0]
        if len(self.input_files) > 1:
            where = f"any of {len(self.input_files)} files, {where} the first"
        if corpus.num_documents:
            raise InputError(f"the text is one document, in {where}: {needed}")
        raise InputError(f"no sentence in {where}: an input file holds one sentence a line")


def _announce(plan, manifest, num_output_shards, announce):
    """Says, before any work, what differs from a plain run."""
    num_shards, num_missing = len(plan.units), len(manifest.missing)
    if num_shards > num_output_shards:
        announce(f"`max_shard_mb`: the {plan.num_bytes / 1e6:,.1f} MB of text are made into {num_shards} shards, from "
                 f"{plan.shard_files[0][0]} on")
    if manifest.num_damaged:
        announce(f"{manifest.num_damaged} of {num_shards} shards were finished, but their files are gone or have "
                 f"another size: they are made again")
    if not num_missing:
        announce(f"{plan.output_files[0]}: is finished already; to make it again, remove {manifest.path}")
    elif num_missing < num_shards:
        announce(f"{num_shards - num_missing} of {num_shards} shards are finished already, {num_missing} are missing")


def _made(plan, missing, num_workers):
    """Yields the Shard of each number in `missing`, as they are finished; a generator, to be closed."""
    if len(plan.units) == 1:
        return _made_alone(plan, missing)
    num_workers = min(num_workers or len(os.sched_getaffinity(0)), len(missing))
    return _made_in_turn(plan, missing, num_workers)


def _made_alone(plan, missing):
    """The only shard, in this process, with a progress bar for each step."""
    for index in missing:
        with shard_plan.TextReader() as reader, _progress_bar("tokenizing", plan.num_bytes, "B") as advance:
            task = plan.task(index, reader, advance)
        yield shards.make_shard(task, _progress_bar)


def _made_in_turn(plan, missing, num_workers):
    """Shards of several, in worker processes if there is more than one."""
    with contextlib.ExitStack() as stack:
        advance = stack.enter_context(_progress_bar("making shards", plan.num_bytes, "B"))
        advance(sum(unit.num_bytes for i, unit in enumerate(plan.units) if i not in missing))
        reader = stack.enter_context(shard_plan.TextReader())
        tasks = (plan.task(index, reader) for index in missing)
        if num_workers > 1:
            made = stack.enter_context(contextlib.closing(
                process_pool.map_in_processes(shards.make_shard, tasks, num_workers, in_order=False)))
        else:
            made = map(shards.make_shard, tasks)
        for shard in made:
            advance(shard.counts.num_bytes)
            yield shard


@contextlib.contextmanager
def _progress_bar(description, total, unit):
    # Into a log file a line now and then is enough.
    with tqdm.tqdm(desc=f"{description:>16}", total=total, unit=unit, unit_scale=True, file=sys.stderr,
                   mininterval=0.2 if sys.stderr.isatty() else 10) as bar:
        yield bar.update
