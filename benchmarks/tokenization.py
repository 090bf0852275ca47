"""Text to ids on one core: this tokenizer beside TensorFlow Text's two and the rules in plain Python.

    python -m benchmarks.tokenization --vocab_file=vocab.txt

All take turns in one process. The share of lines whose ids are not those of the plain rules is printed beside the
speed, since a fast tokenizer that gives a checkpoint other ids is of no use to it.
"""

import os
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # when run as a file

from absl import flags

from bert_tf.cli import paths, script

ROOT = pathlib.Path(__file__).resolve().parent.parent

FLAGS = flags.FLAGS

LEAST_BYTES = 2_000_000  # text is repeated up to this, so that a turn takes longer than the clock's jitter
PLAIN_PYTHON_BYTES = 200_000  # the plain rules have their turn on that much of it


def define_flags():
    """Defines the benchmark's flags."""
    flags.DEFINE_string("vocab_file", str(ROOT / "tests" / "reference" / "text" / "vocab.txt"),
                        "Vocabulary, one piece a line. The default is the tests' own, of 21,558 pieces.")
    flags.DEFINE_string("english_file", None, "English text, UTF-8; by default Python's documentation topics.")
    flags.DEFINE_string("korean_file", None, "Korean text, UTF-8; by default random Hangul words, which have "
                                             "more unknown ones than real text.")
    flags.DEFINE_bool("do_lower_case", True, "Whether to lower-case and strip accents.")
    flags.DEFINE_integer("rounds", 7, "How often each tokenizer has its turn.", lower_bound=1)
    flags.DEFINE_integer("batch_size", 1000, "Lines given to a tokenizer at once.", lower_bound=1)


def english_lines(path):
    """The lines of a text, of Python's documentation topics unless `path` is given."""
    if path:
        return read_lines("english_file", path)
    from pydoc_data import topics

    return [line for topic in topics.topics.values() for line in topic.split("\n") if line.strip()]


def korean_lines(path):
    """The lines of a text, of random Hangul words unless `path` is given."""
    if path:
        return read_lines("korean_file", path)
    rng = random.Random(1)
    words = ["".join(chr(rng.randrange(0xAC00, 0xD7A4)) for _ in range(rng.randrange(1, 6))) for _ in range(5000)]
    return [" ".join(rng.choices(words, k=20)) + "." for _ in range(4000)]


def sigma_lines(lines):
    """The lines with a word after each fifth that the normaliser alone cannot lower-case."""
    return [line + " ΣΑΣ" if index % 5 == 0 else line for index, line in enumerate(lines)]


def long_word_lines(lines):
    """The lines with a word over 200 characters after each fiftieth."""
    return [line + " " + "long" * 51 if index % 50 == 0 else line for index, line in enumerate(lines)]


def read_lines(flag, path):
    """The lines of the file that a flag names."""
    paths.check_file(flag, path)
    return pathlib.Path(path).read_text(encoding="utf-8").split("\n")


def measure(lines, tokenizers, plain, batch_size, rounds):
    """Prints speed, ratio and wrong lines of each tokenizer.

    Args:
      lines: list of str.
      tokenizers: dict from name to a function of a string tensor [B] to a RaggedTensor of ids, or to a tuple that
        begins with it.
      plain: the ReferenceTokenizer.
      batch_size: lines given to a tokenizer at once.
      rounds: how often each has its turn.
    """
    import tensorflow as tf

    size = sum(len(line.encode()) for line in lines)
    expected = [plain.tokenize(line) for line in lines]
    batches = [tf.constant(lines[start:start + batch_size]) for start in range(0, len(lines), batch_size)]
    wrong = {name: count_different(tokenize, batches, expected) for name, tokenize in tokenizers.items()}
    repeats = -(-LEAST_BYTES // size)
    few = lines[:-(-len(lines) * PLAIN_PYTHON_BYTES // size)]
    few_bytes = sum(len(line.encode()) for line in few)
    times, plain_times = {name: [] for name in tokenizers}, []
    for _ in range(rounds):
        for name, tokenize in tokenizers.items():
            start = time.perf_counter()
            for _ in range(repeats):
                for batch in batches:
                    tokenize(batch)
            times[name].append((time.perf_counter() - start) / repeats)
        start = time.perf_counter()
        for line in few:
            plain.tokenize(line)
        plain_times.append(time.perf_counter() - start)
    plain_rate = few_bytes / statistics.median(plain_times) / 1e6
    for name, seconds in times.items():
        rate = size / statistics.median(seconds) / 1e6
        print(f"  {name:34} {rate:8.2f} MB/s {rate / plain_rate:8.1f} x plain Python   "
              f"{wrong[name]:6,} of {len(lines):,} lines differ")
    print(f"  {'the rules in plain Python':34} {plain_rate:8.2f} MB/s {1:8.1f} x", flush=True)


def count_different(tokenize, batches, expected):
    results = [tokenize(batch) for batch in batches]
    rows = [row for result in results for row in (result[0] if isinstance(result, tuple) else result).to_list()]
    return sum(row != wanted for row, wanted in zip(rows, expected, strict=True))


def main(_):
    """Prints a table for each kind of text."""
    paths.check_file("vocab_file", FLAGS.vocab_file)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    import tensorflow_text as tf_text

    from bert_tf.tokenization.tokenizer import UNICODE_VERSION, BertTokenizer
    from tests.reference_tokenizer import ReferenceTokenizer

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.constant(0)  # the first op starts TensorFlow up

    start = time.perf_counter()
    ours = BertTokenizer(FLAGS.vocab_file, FLAGS.do_lower_case)
    first = time.perf_counter() - start
    start = time.perf_counter()
    BertTokenizer(FLAGS.vocab_file, FLAGS.do_lower_case)
    print(f"creating a tokenizer of {ours.vocab_size:,} pieces: {first:.2f} s, then "
          f"{time.perf_counter() - start:.2f} s; Unicode {UNICODE_VERSION}")

    peer = tf_text.BertTokenizer(FLAGS.vocab_file, lower_case=FLAGS.do_lower_case)
    fast_peer = tf_text.FastBertTokenizer(ours.vocabulary, lower_case_nfd_strip_accents=FLAGS.do_lower_case)
    tokenizers = {
        "ours": ours.tokenize,
        "ours, with offsets": ours.tokenize_with_offsets,
        "tf-text FastBertTokenizer": fast_peer.tokenize,
        "tf-text BertTokenizer": lambda texts: peer.tokenize(texts).merge_dims(1, 2),
    }
    tokenizers = {name: tf.function(tokenize, input_signature=[tf.TensorSpec([None], tf.string)])
                  for name, tokenize in tokenizers.items()}
    plain = ReferenceTokenizer(ours.vocabulary, FLAGS.do_lower_case)
    english = english_lines(FLAGS.english_file)
    for name, lines in {"English": english, "Korean": korean_lines(FLAGS.korean_file),
                        "English, Σ in each 5th line": sigma_lines(english),
                        "English, a word over 200 characters in each 50th line": long_word_lines(english)}.items():
        print(f"{name}, {sum(len(line.encode()) for line in lines) / 1e6:.2f} MB, one core, median of "
              f"{FLAGS.rounds} rounds")
        measure(lines, tokenizers, plain, FLAGS.batch_size, FLAGS.rounds)


if __name__ == "__main__":
    script.run(main, define_flags)
