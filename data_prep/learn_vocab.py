"""Learns a WordPiece vocabulary from text, or adds a domain's words to one that a checkpoint already uses.

    python -m data_prep.learn_vocab --input_file='corpus/*.txt.gz' --vocab_file=vocab.txt --vocab_size=30522

Words are counted as the tokenizer cuts them, on all cores, and pieces are merged from characters by falling
frequency. The same text and flags give the same vocabulary, whatever the number of processes.
"""

import os
import sys
import time

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from absl import flags

from bert_tf.cli import paths, script
from bert_tf.errors import InputError

FLAGS = flags.FLAGS

DEFAULT_VOCAB_SIZE = 30522  # the original's BERT-Base, Uncased
DEFAULT_NUM_UNUSED = 99  # as before [UNK] in the original's vocabularies, so [UNK] has id 100


def define_flags():
    """Defines this script's flags."""
    flags.DEFINE_string(
        "input_file", None, "Text files, UTF-8: comma-separated names or globs; .gz is decompressed.")
    flags.DEFINE_string("vocab_file", None, "The vocabulary to write, one entry a line.")
    flags.DEFINE_integer(
        "vocab_size", None, "Number of entries; the model's vocab_size must be the same. "
        f"{DEFAULT_VOCAB_SIZE} unless given; with --initial_vocab, the size of that one.", lower_bound=1)
    flags.DEFINE_bool(
        "do_lower_case", True, "Whether to lower-case and strip accents; all later steps must do the same.")
    flags.DEFINE_integer(
        "min_count", 2, "Words and pieces that occur less often are not learned.", lower_bound=1)
    flags.DEFINE_integer(
        "min_character_count", None, "Characters that occur less often get no entry, and words with them are "
        "[UNK]; --min_count unless given.", lower_bound=1)
    flags.DEFINE_integer(
        "num_unused", None, f"Number of [unusedN] entries, room for later words; {DEFAULT_NUM_UNUSED} unless "
        "given. With --initial_vocab, how many of its own to leave free; 0 unless given.", lower_bound=0)
    flags.DEFINE_string(
        "initial_vocab", None, "An existing vocabulary: words of the text replace its [unusedN] entries, all "
        "others keep their ids, so its checkpoint still fits.")
    flags.DEFINE_integer(
        "num_workers", None, "Processes that count words; one a core unless given.", lower_bound=1)
    flags.DEFINE_integer(
        "max_distinct_words", 5_000_000, "Distinct words held in memory, some 150 bytes each; beyond it the "
        "rarest are forgotten.", lower_bound=1000)


def main(argv):
    """Checks the flags, then counts words, learns entries and writes them."""
    del argv
    started = time.monotonic()
    from data_prep.vocabulary import learner
    from data_prep.vocabulary.counts import count_words

    files = paths.expand_globs("input_file", FLAGS.input_file)
    check_output(FLAGS.vocab_file, files)
    initial = None
    if FLAGS.initial_vocab is not None:
        initial = read_initial_vocabulary(FLAGS.initial_vocab, FLAGS.vocab_size)
    counts = count_words(files, FLAGS.do_lower_case, FLAGS.num_workers, FLAGS.max_distinct_words,
                                     show_progress=True)
    if not counts.words:
        raise InputError(f"--input_file={FLAGS.input_file}: there are no words in it")
    if counts.forgotten:
        print(f"{counts.forgotten:,} occurrences of rare words were forgotten (--max_distinct_words)")
    if initial:
        print(f"{FLAGS.initial_vocab}: {learner.describe(initial, counts.words)}")
        entries = learner.fill_unused(initial, counts.words, FLAGS.min_count, FLAGS.num_unused or 0)
    else:
        entries = learner.learn_vocabulary(
            counts, FLAGS.vocab_size or DEFAULT_VOCAB_SIZE, FLAGS.min_count, FLAGS.min_character_count,
            DEFAULT_NUM_UNUSED if FLAGS.num_unused is None else FLAGS.num_unused,
            show_progress=sys.stderr.isatty())
    learner.write_vocabulary(FLAGS.vocab_file, entries)
    print(f"{FLAGS.vocab_file}: {learner.describe(entries, counts.words)}; "
          f"{time.monotonic() - started:.1f} s")


def check_output(vocab_file, input_files):
    """Raises InputError naming the flag unless `--vocab_file` can be written and is none of the inputs."""
    if not vocab_file:
        raise InputError("--vocab_file is needed")
    if os.path.isdir(vocab_file) or not os.path.isdir(os.path.dirname(vocab_file) or "."):
        raise InputError(f"--vocab_file={vocab_file}: a file in a folder that exists is needed")
    if os.path.exists(vocab_file) and any(os.path.samefile(vocab_file, path) for path in input_files):
        raise InputError(f"--vocab_file={vocab_file}: is one of the files of --input_file")


def read_initial_vocabulary(path, vocab_size):
    """The entries of `--initial_vocab`; InputError if `--vocab_size` is given and another number."""
    from bert_tf.tokenization.vocabulary import read_vocabulary

    paths.check_file("initial_vocab", path)
    entries = read_vocabulary(path)
    if vocab_size not in (None, len(entries)):
        raise InputError(f"--vocab_size={vocab_size}: --initial_vocab has {len(entries)} entries and keeps that "
                         "number; leave --vocab_size out")
    return entries


if __name__ == "__main__":
    script.run(main, define_flags)
