"""Text to IDs on one core: this tokenizer compared with TensorFlow Text's two and plain Python.

    python -m benchmarks.tokenization [--vocab_file=vocab.txt --english_file=text.txt
        --korean_file=text.txt]

In addition to the speed, prints the number of lines whose IDs differ from those of the plain rules,
because a fast tokenizer that gives a checkpoint wrong IDs is useless.
"""

import dataclasses
import functools
import random

import tensorflow as tf
import tensorflow_text as tf_text

from benchmarks import measurements, texts
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import roles, script
from bert_tf.cli.settings import setting
from bert_tf.tokenization import BertTokenizer
from tests.reference_tokenizer import ReferenceTokenizer

PLAIN = "the rules in plain Python"
OURS = "this project"
BATCH_SIZE = 1000  # Lines per call of a tokenizer.
PLAIN_PYTHON_BYTES = 200_000  # Approximate size of the text for the plain rules.


@dataclasses.dataclass(frozen=True)
class TokenizationSettings(measurements.BenchmarkSettings):
    """Settings for the vocabulary and the texts."""

    vocab_file: str = setting(
        measurements.VOCAB_FILE,
        "Vocabulary, one token per line. Defaults to the vocabulary of the tests.",
        role=roles.INPUT_FILE,
    )
    english_file: str | None = setting(
        None,
        "English text in UTF-8. Defaults to CPython's documentation topics.",
        role=roles.INPUT_FILE,
    )
    korean_file: str | None = setting(
        None,
        "Korean text in UTF-8. Defaults to random Hangul words, which have more unknown words "
        "than real text.",
        role=roles.INPUT_FILE,
    )
    do_lower_case: bool = setting(True, "Lowercase the text and strip accents.")


COMMAND = script.Command(TokenizationSettings(), __name__)


def run(settings):
    """Measures each text; settings: TokenizationSettings."""
    languages = {"English": texts.read_lines(settings.english_file)}
    if settings.korean_file:
        languages["Korean"] = texts.read_lines(settings.korean_file)
    else:
        languages["Random Korean"] = create_korean_lines()
    with measurements.on_cores(1), Results("tokenization", settings) as results:
        ours = BertTokenizer(settings.vocab_file, settings.do_lower_case)
        plain = ReferenceTokenizer(ours.vocabulary, settings.do_lower_case)
        tokenizers = create_tokenizers(ours, settings)
        for language, lines in languages.items():
            measure_text(language, lines, tokenizers, plain, settings, results)


def create_tokenizers(ours, settings):
    """Returns a dict of name -> traced function of string [N] that returns the IDs of each line."""
    peer = tf_text.BertTokenizer(settings.vocab_file, lower_case=settings.do_lower_case)
    fast_peer = tf_text.FastBertTokenizer(
        ours.vocabulary, lower_case_nfd_strip_accents=settings.do_lower_case
    )
    tokenizers = {
        OURS: ours.tokenize,
        "tf-text FastBertTokenizer": fast_peer.tokenize,
        "tf-text BertTokenizer": lambda lines: peer.tokenize(lines).merge_dims(1, 2),
    }
    return {
        name: tf.function(
            tokenize, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
        )
        for name, tokenize in tokenizers.items()
    }


def measure_text(language, lines, tokenizers, plain, settings, results):
    """Prints the number of lines of a text that each tokenizer gets wrong, and adds its speed.

    Args:
      language: str. Name of the text.
      lines: List of str.
      tokenizers: Dict of name -> function; see `create_tokenizers`.
      plain: ReferenceTokenizer, the rules in plain Python.
      settings: TokenizationSettings.
      results: Results to add the comparison to.
    """
    size = texts.count_bytes(lines)
    first_lines = lines[: -(-len(lines) * PLAIN_PYTHON_BYTES // size)]
    expected = [plain.tokenize(line) for line in lines]
    batches = [
        tf.constant(lines[start : start + BATCH_SIZE]) for start in range(0, len(lines), BATCH_SIZE)
    ]
    wrong = {
        name: count_different(tokenize, batches, expected) for name, tokenize in tokenizers.items()
    }
    for name, count in wrong.items():
        print(
            f"{language}, {name}: the IDs of {count:,} of {len(lines):,} lines differ from those "
            "of the rules"
        )
    turns = {
        name: functools.partial(call_each, tokenize, batches)
        for name, tokenize in tokenizers.items()
    }
    times = time_turns(
        {**turns, PLAIN: functools.partial(call_each, plain.tokenize, first_lines)}, settings.rounds
    )
    rates = {}
    for name in tokenizers:
        title = f"{name} (other IDs)" if wrong[name] else name
        rates[title] = size / times[name] / 1e6
    rates[PLAIN] = texts.count_bytes(first_lines) / times[PLAIN] / 1e6
    results.add(f"{language} text to IDs, one core", rates.pop(OURS), rates, "MB/s")


def call_each(function, values):
    """Calls a function with each value."""
    for value in values:
        function(value)


def count_different(tokenize, batches, expected):
    """Returns the number of lines whose IDs differ from the expected ones."""
    rows = [row for batch in batches for row in tokenize(batch).to_list()]
    return sum(row != expected_row for row, expected_row in zip(rows, expected, strict=True))


def create_korean_lines():
    """Creates 4,000 lines of 20 words, sampled from 5,000 words of random Hangul."""
    generator = random.Random(1)
    words = [
        "".join(chr(generator.randrange(0xAC00, 0xD7A4)) for _ in range(generator.randrange(1, 6)))
        for _ in range(5000)
    ]
    return [" ".join(generator.choices(words, k=20)) + "." for _ in range(4000)]


if __name__ == "__main__":
    COMMAND.run()
