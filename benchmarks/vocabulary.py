"""Vocabulary learning: Hugging Face tokenizers, as used here, compared with TensorFlow Text's WordPiece learner.

    python -m benchmarks.vocabulary [--input_file=text.txt] --vocab_sizes=4000,8000

Both learn from the same word counts, of the first nine tenths of the lines, in turns and in a new order each time.
Tokens per word are measured on the last tenth, also for --other_vocab.
"""

import collections
import dataclasses
import os
import random
import time

from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib

from benchmarks import measurements, tokenization
from bert_tf.cli import flags, script
from bert_tf.cli.settings import setting
from bert_tf.tokenization import read_vocabulary
from bert_tf.tokenization.words import split_text
from data_prep.vocabulary import counts, learner

COLUMNS = "{:<26} {:>9} {:>8} {:>9} {:>15} {:>8} {:>7}"
OURS, PEER = "tokenizers (ours)", "tensorflow_text"
SPECIAL_ENTRIES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@dataclasses.dataclass(frozen=True)
class VocabularySettings(measurements.KeptResults):
    """Settings for the measurement."""

    input_file: str | None = setting(None, "Text file in UTF-8. Defaults to CPython's documentation topics.")
    vocab_sizes: tuple[str, ...] = setting(("4000",), "Vocabulary sizes to learn.")
    other_vocab: str | None = setting(None, "Existing vocabulary to compare with the learned ones.")
    do_lower_case: bool = setting(True, "Lowercase the text and strip accents.")
    peer: bool = setting(True, "Run TensorFlow Text's learner, which takes the longest.")
    rounds: int = setting(2, "Number of times to learn each vocabulary.", lower=1)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(VocabularySettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(VocabularySettings()))


def measure(settings):
    """Prints a line for each learner and size, and stores the comparisons; settings: VocabularySettings."""
    sizes = measurements.whole_numbers("vocab_sizes", settings.vocab_sizes)
    lines = (tokenization.read_lines("input_file", settings.input_file) if settings.input_file
             else tokenization.topic_lines())
    training, held_out = count_words(lines, settings.do_lower_case)
    print(COLUMNS.format("learner", "requested", "entries", "seconds", "tokens/word", "[UNK]", "same"))
    if settings.other_vocab:
        print_row(os.path.basename(settings.other_vocab), "", read_vocabulary(settings.other_vocab), "", held_out, "")
    learners = {OURS: learn, PEER: learn_with_tensorflow_text} if settings.peer else {OURS: learn}
    comparisons = []
    for size in sizes:
        learned = {name: [] for name in learners}
        turns = {name: learn_in_turn(function, training, size, learned[name]) for name, function in learners.items()}
        times = measurements.medians(measurements.time_turns(turns, settings.rounds, warm_up=0))
        for name, vocabularies in learned.items():
            same = all(each == vocabularies[0] for each in vocabularies)
            print_row(name, size, vocabularies[0], f"{times[name]:.2f}", held_out, "yes" if same else "no")
        if settings.peer:
            comparisons.append(measurements.Comparison(
                f"Learning {size:,} vocabulary entries", "tf-text's WordPiece learner", times[OURS], times[PEER], "s",
                False))
    measurements.keep("vocabulary", settings, comparisons)


def count_words(lines, lower_case):
    """Returns Counters of the words in the first nine tenths and in the last tenth of the lines; prints the rate."""
    cut = len(lines) * 9 // 10
    started = time.perf_counter()
    parts = [collections.Counter(split_text("\n".join(part), lower_case))
             for part in (lines[:cut], lines[cut:])]
    seconds = time.perf_counter() - started
    megabytes = (tokenization.bytes_of(lines) + len(lines)) / 1e6
    print(f"counted {megabytes:.2f} MB on one core in {seconds:.2f} s, {megabytes / seconds:.1f} MB/s")
    return parts


def learn_in_turn(function, words, size, learned):
    """Creates a function that learns from the words, in a new order each time, and appends to `learned`."""
    generator = random.Random(1)

    def turn():
        shuffled = list(words.items())
        generator.shuffle(shuffled)
        learned.append(function(dict(shuffled), size))
    return turn


def learn(words, vocab_size):
    """Learns a vocabulary with data_prep.learn_vocab."""
    characters = collections.Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    return learner.learn_vocabulary(counts.WordCounts(words, characters, 0), vocab_size, num_unused=0)


def learn_with_tensorflow_text(words, vocab_size):
    """Learns a vocabulary with TensorFlow Text's learner."""
    return wordpiece_tokenizer_learner_lib.learn(words, vocab_size, SPECIAL_ENTRIES, lower_thresh=2, slack_ratio=0)


def print_row(name, asked, entries, seconds, words, same):
    """Prints one line of the table: a vocabulary on held-out words, a dict of word to count."""
    known = set(entries)
    pieces = {word: learner.count_tokens(word, known) for word in words}
    total = sum(words.values())
    mean = sum(count * max(pieces[word], 1) for word, count in words.items()) / total
    unknown = sum(count for word, count in words.items() if not pieces[word]) / total
    print(COLUMNS.format(name, asked, len(entries), seconds, f"{mean:.4f}", f"{unknown:.2%}", same), flush=True)


if __name__ == "__main__":
    script.run(main, define_flags)
