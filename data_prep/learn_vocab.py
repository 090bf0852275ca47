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

from data_prep import command_line

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


def main(_):
    started = time.monotonic()
    from data_prep import vocabulary, word_counts

    paths = _check_files(word_counts)
    initial = _read_initial_vocabulary(vocabulary)
    counts = word_counts.count_words(paths, FLAGS.do_lower_case, FLAGS.num_workers, FLAGS.max_distinct_words,
                                     show_progress=True)
    if not counts.words:
        raise ValueError(f"--input_file={FLAGS.input_file}: there are no words in it")
    if counts.forgotten:
        print(f"{counts.forgotten:,} occurrences of rare words were forgotten (--max_distinct_words)")
    if initial:
        print(f"{FLAGS.initial_vocab}: {vocabulary.describe(initial, counts.words)}")
        entries = vocabulary.fill_unused(initial, counts.words, FLAGS.min_count, FLAGS.num_unused or 0)
    else:
        entries = vocabulary.learn_vocabulary(
            counts, FLAGS.vocab_size or DEFAULT_VOCAB_SIZE, FLAGS.min_count, FLAGS.min_character_count,
            DEFAULT_NUM_UNUSED if FLAGS.num_unused is None else FLAGS.num_unused,
            show_progress=sys.stderr.isatty())
    vocabulary.write_vocabulary(FLAGS.vocab_file, entries)
    print(f"{FLAGS.vocab_file}: {vocabulary.describe(entries, counts.words)}; "
          f"{time.monotonic() - started:.1f} s")


def _check_files(word_counts):
    for flag in ("input_file", "vocab_file"):
        if not FLAGS[flag].value:
            raise ValueError(f"--{flag} is needed")
    folder = os.path.dirname(FLAGS.vocab_file) or "."
    if os.path.isdir(FLAGS.vocab_file) or not os.path.isdir(folder):
        raise ValueError(f"--vocab_file={FLAGS.vocab_file}: a file in a folder that exists is needed")
    try:
        paths = word_counts.expand_globs(FLAGS.input_file)
    except ValueError as error:
        raise ValueError(f"--input_file: {error}") from error
    if os.path.exists(FLAGS.vocab_file) and any(os.path.samefile(FLAGS.vocab_file, path) for path in paths):
        raise ValueError(f"--vocab_file={FLAGS.vocab_file}: is one of the files of --input_file")
    return paths


def _read_initial_vocabulary(vocabulary):
    if FLAGS.initial_vocab is None:
        return None
    command_line.check_file("initial_vocab", FLAGS.initial_vocab)
    initial = vocabulary.read_vocabulary(FLAGS.initial_vocab)
    if FLAGS.vocab_size not in (None, len(initial)):
        raise ValueError(f"--vocab_size={FLAGS.vocab_size}: --initial_vocab has {len(initial)} entries and "
                         f"keeps that number; leave --vocab_size out")
    return initial

if __name__ == "__main__":
    command_line.run(main, define_flags)
