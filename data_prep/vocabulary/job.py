"""The learn_vocab job: checks its settings, counts words, and learns and writes the entries."""

import sys
import time

from bert_tf import files
from bert_tf.cli import paths
from bert_tf.cli.script import announce
from bert_tf.errors import InputError
from bert_tf.tokenization import read_vocabulary
from data_prep.vocabulary import learner
from data_prep.vocabulary.counts import MAX_DISTINCT_WORDS, count_words
from data_prep.vocabulary.settings import DEFAULT_NUM_UNUSED, DEFAULT_VOCAB_SIZE


def run(settings):
    """Learns a vocabulary from text, or adds the text's words to an existing one, and writes it.

    Args:
      settings: VocabularySettings.

    Raises:
      InputError: If files or settings are incompatible, if the text has no words or is too small
        for the requested vocabulary size, or if `vocab_file` already is another vocabulary.
      OSError: If a file cannot be read or written.
    """
    started = time.monotonic()
    input_files = paths.expand_globs("input_file", settings.input_file)
    inputs = [files.at(path).absolute() for path in input_files]
    if files.at(settings.vocab_file).absolute() in inputs:
        raise InputError(
            "would overwrite a file of `input_file`; choose another path",
            "vocab_file",
            settings.vocab_file,
        )
    initial = _read_initial(settings) if settings.initial_vocab is not None else None
    counts = count_words(input_files, settings)
    if not counts.words:
        raise InputError("contains no words", "input_file", settings.input_file)
    if counts.num_garbled:
        announce(f"`input_file`: {files.describe_dropped_bytes(counts.num_garbled)}")
    if counts.num_dropped:
        announce(
            f"dropped {counts.num_dropped:,} occurrences of rare words, since the text has over "
            f"{MAX_DISTINCT_WORDS:,} distinct words"
        )
    if initial:
        announce(f"{settings.initial_vocab}: {learner.describe_vocabulary(initial, counts.words)}")
        entries = learner.fill_unused(
            initial, counts.words, settings.min_count, settings.num_unused or 0
        )
    else:
        entries = learner.learn_vocabulary(
            counts,
            settings.vocab_size or DEFAULT_VOCAB_SIZE,
            settings.min_count,
            DEFAULT_NUM_UNUSED if settings.num_unused is None else settings.num_unused,
            show_progress=sys.stderr.isatty(),
        )
    _write_vocabulary(settings.vocab_file, entries)
    announce(
        f"{settings.vocab_file}: {learner.describe_vocabulary(entries, counts.words)}; "
        f"{time.monotonic() - started:.1f} s"
    )


def _read_initial(settings):
    """Reads `initial_vocab`, a list of str. Raises InputError if `vocab_size` is not its size."""
    initial = read_vocabulary(settings.initial_vocab)
    if settings.vocab_size not in (None, len(initial)):
        raise InputError(
            f"must be {len(initial)}, the size of `initial_vocab`; unset `vocab_size`",
            "vocab_size",
            settings.vocab_size,
        )
    return initial


def _write_vocabulary(path, entries):
    """Writes a vocabulary. Raises InputError if the file already is another one."""
    content = "".join(f"{entry}\n" for entry in entries).encode()
    if files.at(path).exists() and files.read_bytes(path) != content:
        raise InputError(
            "is another vocabulary, which records and models may use; delete it, or choose "
            "another path",
            "vocab_file",
            path,
        )
    with files.new_file(path, "wb") as file:
        file.write(content)
