"""Text to IDs on one core: this tokenizer compared with TensorFlow Text's two and the rules in plain Python.

    python -m benchmarks.tokenization [--vocab_file=vocab.txt --english_file=text.txt --korean_file=text.txt]

All take turns in one process. Next to the speed, prints the number of lines whose IDs differ from those of the plain
rules, because a fast tokenizer that gives a checkpoint wrong IDs is useless.
"""

import dataclasses
import functools
import pydoc_data.topics
import random
import time

import tensorflow as tf
import tensorflow_text as tf_text

from benchmarks import measurements
from bert_tf.cli import flags, paths, script
from bert_tf.cli.settings import setting
from bert_tf.files import read_text
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.unicode_rules import UNICODE_VERSION
from tests.reference_tokenizer import ReferenceTokenizer

PLAIN, OURS = "the rules in plain Python", "ours"
PLAIN_PYTHON_BYTES = 200_000  # Approximate size of the text for the plain rules.


@dataclasses.dataclass(frozen=True)
class TokenizationSettings(measurements.KeptResults):
    """Settings for the measurement."""

    vocab_file: str = setting(
        measurements.VOCAB_FILE, "Vocabulary, one token per line. Defaults to the vocabulary of the tests.")
    english_file: str | None = setting(None, "English text in UTF-8. Defaults to CPython's documentation topics.")
    korean_file: str | None = setting(
        None, "Korean text in UTF-8. Defaults to random Hangul words, which have more unknown words than real text.")
    do_lower_case: bool = setting(True, "Lowercase the text and strip accents.")
    batch_size: int = setting(1000, "Number of lines per call of a tokenizer.", lower=1)
    turn_bytes: int = setting(
        2_000_000, "Minimum number of bytes per turn: the text is repeated, so that a turn takes longer than the "
                   "clock's jitter.", lower=1)
    rounds: int = setting(7, "Number of turns.", lower=1)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(TokenizationSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags, on one core."""
    del argv
    use_one_thread()
    measure(flags.read(TokenizationSettings()))


def use_one_thread():
    """Limits TensorFlow to one thread; must be called before the first operation."""
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)


def measure(settings):
    """Prints a table for each text and stores the comparisons with the peers; settings: TokenizationSettings."""
    paths.check_file("vocab_file", settings.vocab_file)
    english = read_lines("english_file", settings.english_file) if settings.english_file else topic_lines()
    korean = read_lines("korean_file", settings.korean_file) if settings.korean_file else random_korean_lines()
    tf.constant(0)  # The first operation initializes TensorFlow.
    start = time.perf_counter()
    ours = BertTokenizer(settings.vocab_file, settings.do_lower_case)
    first = time.perf_counter() - start
    start = time.perf_counter()
    BertTokenizer(settings.vocab_file, settings.do_lower_case)
    print(f"creating a tokenizer of {ours.vocab_size:,} entries: {first:.2f} s, then "
          f"{time.perf_counter() - start:.2f} s; Unicode {UNICODE_VERSION}")
    tokenizers = make_tokenizers(ours, settings)
    plain = ReferenceTokenizer(ours.vocabulary, settings.do_lower_case)
    comparisons = []
    for title, lines in {"English": english, "Korean" if settings.korean_file else "Random Korean": korean}.items():
        rates, wrong = measure_text(title, lines, tokenizers, plain, settings)
        comparisons += [
            measurements.Comparison(f"{title} text to ids, one core", peer + " (other ids)" * bool(wrong[peer]),
                                    rates[OURS], rates[peer], "MB/s", True)
            for peer in rates if not peer.startswith(OURS)]
    measure_text("English, Σ in each 5th line", sigma_lines(english), tokenizers, plain, settings)
    measure_text("English, a word over 200 characters in each 50th line", long_word_lines(english), tokenizers, plain,
                 settings)
    measurements.keep("tokenization", settings, comparisons)


def make_tokenizers(ours, settings):
    """Returns dict of name to traced function of string [B] that returns ragged IDs, or a tuple beginning with them."""
    peer = tf_text.BertTokenizer(settings.vocab_file, lower_case=settings.do_lower_case)
    fast_peer = tf_text.FastBertTokenizer(ours.vocabulary, lower_case_nfd_strip_accents=settings.do_lower_case)
    tokenizers = {
        OURS: ours.tokenize,
        f"{OURS}, with offsets": ours.tokenize_with_offsets,
        "tf-text FastBertTokenizer": fast_peer.tokenize,
        "tf-text BertTokenizer": lambda texts: peer.tokenize(texts).merge_dims(1, 2),
    }
    return {name: tf.function(tokenize, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
            for name, tokenize in tokenizers.items()}


def measure_text(title, lines, tokenizers, plain, settings):
    """Prints the speed, the ratio, and the number of wrong lines of each tokenizer.

    Args:
      title: str. Name of the text.
      lines: List of str.
      tokenizers: Result of `make_tokenizers`.
      plain: ReferenceTokenizer.
      settings: TokenizationSettings.

    Returns:
      Tuple of two dicts, name to MB/s and name to number of wrong lines, with PLAIN for the rules in plain Python.
    """
    size = bytes_of(lines)
    print(f"{title}, {size / 1e6:.2f} MB, one core, median of {settings.rounds} rounds")
    expected = [plain.tokenize(line) for line in lines]
    batches = [tf.constant(lines[start:start + settings.batch_size])
               for start in range(0, len(lines), settings.batch_size)]
    wrong = {name: count_different(tokenize, batches, expected) for name, tokenize in tokenizers.items()}
    repeats = -(-settings.turn_bytes // size)
    few = lines[:-(-len(lines) * PLAIN_PYTHON_BYTES // size)]
    turns = {name: functools.partial(for_each, tokenize, batches * repeats) for name, tokenize in tokenizers.items()}
    times = measurements.medians(measurements.time_turns(
        {**turns, PLAIN: functools.partial(for_each, plain.tokenize, few)}, settings.rounds, warm_up=0))
    rates = {name: size * repeats / times[name] / 1e6 for name in turns}
    rates[PLAIN] = bytes_of(few) / times[PLAIN] / 1e6
    for name, count in wrong.items():
        print(f"  {name:34} {rates[name]:8.2f} MB/s {rates[name] / rates[PLAIN]:8.1f} x plain Python   "
              f"{count:6,} of {len(lines):,} lines differ")
    print(f"  {PLAIN:34} {rates[PLAIN]:8.2f} MB/s {1:8.1f} x", flush=True)
    return rates, {**wrong, PLAIN: 0}


def for_each(function, values):
    """Calls a function with each value."""
    for value in values:
        function(value)


def count_different(tokenize, batches, expected):
    """Counts the lines whose IDs differ from the expected ones."""
    results = [tokenize(batch) for batch in batches]
    rows = [row for result in results for row in (result[0] if isinstance(result, tuple) else result).to_list()]
    return sum(row != wanted for row, wanted in zip(rows, expected, strict=True))


def bytes_of(lines):
    """Returns the size of lines in UTF-8 bytes."""
    return sum(len(line.encode()) for line in lines)


def topic_lines():
    """Returns the non-empty lines of CPython's documentation topics."""
    return [line for topic in pydoc_data.topics.topics.values() for line in topic.split("\n") if line.strip()]


def random_korean_lines():
    """Creates 4,000 lines of 20 words, sampled from 5,000 words of random Hangul."""
    rng = random.Random(1)
    words = ["".join(chr(rng.randrange(0xAC00, 0xD7A4)) for _ in range(rng.randrange(1, 6))) for _ in range(5000)]
    return [" ".join(rng.choices(words, k=20)) + "." for _ in range(4000)]


def sigma_lines(lines):
    """Appends a word that the normalizer cannot lowercase to each fifth line."""
    return [line + " ΣΑΣ" if index % 5 == 0 else line for index, line in enumerate(lines)]


def long_word_lines(lines):
    """Appends a word of over 200 characters to each fiftieth line."""
    return [line + " " + "long" * 51 if index % 50 == 0 else line for index, line in enumerate(lines)]


def read_lines(argument, path):
    """Reads the lines of the file in an argument."""
    paths.check_file(argument, path)
    return read_text(path).split("\n")


if __name__ == "__main__":
    script.run(main, define_flags)
