"""Learning a vocabulary: Hugging Face tokenizers, as we use it, beside TensorFlow Text's wordpiece learner.

    python -m benchmarks.vocabulary --input_file=text.txt --vocab_sizes=4000,8000

Both learn from the same counted words, the first nine tenths of the lines; pieces a word are those of the words
of the last tenth. --other_vocab is measured on these too.
"""

import os
import random
import sys
import time

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from absl import flags

from bert_tf.cli import paths, script

FLAGS = flags.FLAGS

COLUMNS = "{:<26} {:>8} {:>8} {:>9} {:>15} {:>8} {:>7}"


def define_flags():
    """Defines the benchmark's flags."""
    flags.DEFINE_string("input_file", None, "Text file, UTF-8; CPython's documentation topics unless given.")
    flags.DEFINE_list("vocab_sizes", ["4000"], "Sizes to learn, number of entries.")
    flags.DEFINE_string("other_vocab", None, "An existing vocabulary to measure beside the learned ones.")
    flags.DEFINE_bool("do_lower_case", True, "Whether to lower-case and strip accents.")
    flags.DEFINE_bool("peer", True, "Whether to run TensorFlow Text's learner, which takes the longest.")


def main(_):
    """Prints a line for each learner and size."""
    import collections

    from bert_tf.tokenization.vocabulary import read_vocabulary
    from data_prep.vocabulary import counts

    lines = _read_lines(FLAGS.input_file)
    cut = len(lines) * 9 // 10
    started = time.perf_counter()
    training, held_out = (collections.Counter(counts.words_of_text("\n".join(part), FLAGS.do_lower_case))
                          for part in (lines[:cut], lines[cut:]))
    size = sum(len(line.encode()) + 1 for line in lines)
    seconds = time.perf_counter() - started
    print(f"counted {size / 1e6:.2f} MB on one core in {seconds:.2f} s, {size / 1e6 / seconds:.1f} MB/s")
    print(COLUMNS.format("learner", "asked", "entries", "seconds", "pieces a word", "[UNK]", "same"))
    if FLAGS.other_vocab:
        _report(os.path.basename(FLAGS.other_vocab), "", read_vocabulary(FLAGS.other_vocab), None,
                held_out, "")
    learners = {"tokenizers (ours)": _learn}
    if FLAGS.peer:
        learners["tensorflow_text"] = _learn_with_tensorflow_text
    for vocab_size in map(int, FLAGS.vocab_sizes):
        for name, learn in learners.items():
            started = time.perf_counter()
            entries = learn(training, vocab_size)
            seconds = time.perf_counter() - started
            shuffled = list(training.items())
            random.Random(1).shuffle(shuffled)
            again = learn(dict(shuffled), vocab_size)
            _report(name, vocab_size, entries, seconds, held_out, "yes" if again == entries else "no")


def _read_lines(path):
    if path is None:
        from pydoc_data import topics

        return "\n".join(text for _, text in sorted(topics.topics.items())).split("\n")
    paths.check_file("input_file", path)
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def _learn(words, vocab_size):
    import collections

    from data_prep.vocabulary import counts, learner

    characters = collections.Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    return learner.learn_vocabulary(counts.WordCounts(words, characters, 0), vocab_size, num_unused=0)


def _learn_with_tensorflow_text(words, vocab_size):
    from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib as learner

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return learner.learn(dict(words), vocab_size, specials, lower_thresh=2, slack_ratio=0)


def _report(name, asked, entries, seconds, words, same):
    from data_prep.vocabulary import learner

    known = set(entries)
    pieces = {word: learner.count_pieces(word, known) for word in words}
    total = sum(words.values())
    mean = sum(count * max(pieces[word], 1) for word, count in words.items()) / total
    unknown = sum(count for word, count in words.items() if not pieces[word]) / total
    print(COLUMNS.format(name, asked, len(entries), "" if seconds is None else f"{seconds:.2f}", f"{mean:.4f}",
                         f"{unknown:.2%}", same), flush=True)


if __name__ == "__main__":
    script.run(main, define_flags)
