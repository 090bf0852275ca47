"""Sentence splitting on one core with sentencex, as used here, compared with TensorFlow Text.

    python -m benchmarks.sentence_splitting [--treebank=en_ewt-ud-dev.conllu --input_file=text.txt]

The peer is TensorFlow Text's StateBasedSentenceBreaker. With a treebank of Universal Dependencies,
also prints the agreement with its sentences: precision, recall, and F1 of the boundaries within
paragraphs. The end of a paragraph does not count, because every splitter finds it.
"""

import dataclasses
import functools
import re
import typing

import tensorflow as tf
import tensorflow_text as tf_text

from benchmarks import measurements, texts
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import roles, script
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.files import read_text
from data_prep.sentences import splitting

OURS = "sentencex, as used here"
PEER = "tf-text StateBasedSentenceBreaker"
BATCH_SIZE = 1000  # Paragraphs per call of TensorFlow Text.


@dataclasses.dataclass(frozen=True)
class SplittingSettings(measurements.BenchmarkSettings):
    """Settings for the text and the treebank."""

    input_file: str | None = setting(
        None,
        "Text in UTF-8 for the speed, one paragraph per line. Defaults to CPython's documentation "
        "topics.",
        role=roles.INPUT_FILE,
    )
    treebank: str | None = setting(
        None,
        "Treebank in CoNLL-U format with the comments `# text` and `# newpar`, for the agreement.",
        role=roles.INPUT_FILE,
    )
    language: str = setting("en", "Language of the text and the treebank.")


COMMAND = script.Command(SplittingSettings(), __name__)


def run(settings):
    """Measures the speed, and with a treebank the agreement; settings: SplittingSettings."""
    splitters = {
        OURS: lambda paragraphs: [
            splitting.split_paragraph(each, settings.language) for each in paragraphs
        ],
        PEER: split_with_tensorflow_text,
    }
    paragraphs = texts.read_paragraphs(settings.input_file)
    with measurements.on_cores(1), Results("sentence_splitting", settings) as results:
        times = time_turns(
            {name: functools.partial(split, paragraphs) for name, split in splitters.items()},
            settings.rounds,
        )
        rates = {
            name: texts.count_bytes(paragraphs) / 1e6 / seconds for name, seconds in times.items()
        }
        results.add(
            "Splitting text into sentences, one core", rates[OURS], {PEER: rates[PEER]}, "MB/s"
        )
        if settings.treebank:
            scores = {}
            for name, split in splitters.items():
                agreement = compare_with_treebank(split, settings.treebank)
                print(
                    f"{name}: precision {agreement.precision:.1%}, "
                    f"recall {agreement.recall:.1%}, F1 {agreement.f1:.1%}"
                )
                scores[name] = 100 * agreement.f1
            results.add(
                "Sentence boundaries of a treebank, F1", scores[OURS], {PEER: scores[PEER]}, "%"
            )


def split_with_tensorflow_text(paragraphs):
    """Splits a list of paragraphs with TensorFlow Text; returns a list of the sentences of each."""
    breaker = tf_text.StateBasedSentenceBreaker()
    return [
        [sentence.decode() for sentence in sentences]
        for start in range(0, len(paragraphs), BATCH_SIZE)
        for sentences in breaker.break_sentences(
            tf.constant(paragraphs[start : start + BATCH_SIZE])
        ).to_list()
    ]


class Agreement(typing.NamedTuple):
    """Agreement of sentence boundaries with those of a treebank, as fractions."""

    precision: float
    recall: float
    f1: float


def compare_with_treebank(split, treebank):
    """Returns the Agreement of the boundaries that `split` finds in a treebank's paragraphs."""
    paragraphs = read_treebank(treebank)
    expected = find_boundaries(paragraphs)
    found = find_boundaries(split(["".join(sentences).strip() for sentences in paragraphs]))
    num_both = len(found & expected)
    return Agreement(
        precision=num_both / max(len(found), 1),
        recall=num_both / max(len(expected), 1),
        f1=2 * num_both / max(len(found) + len(expected), 1),
    )


def find_boundaries(paragraphs):
    """Returns the set of sentence boundaries within paragraphs.

    A boundary is a tuple of the number of the paragraph, and the number of characters before the
    boundary, without spaces.
    """
    boundaries = set()
    for number, sentences in enumerate(paragraphs):
        position = 0
        for sentence in sentences:
            position += len("".join(sentence.split()))
            boundaries.add((number, position))
        boundaries.discard((number, position))  # The end of the paragraph.
    return boundaries


def read_treebank(path):
    """Reads the paragraphs of a treebank.

    Returns:
      List of lists of sentences, each with the space that follows it.
    """
    paragraphs = []
    for block in read_text(path).split("\n\n"):
        text = re.search(r"^# text = (.*)$", block, re.MULTILINE)
        if not text:
            continue
        if not paragraphs or re.search(r"^# new(par|doc)", block, re.MULTILINE):
            paragraphs.append([])
        space = "" if block.rstrip().endswith("SpaceAfter=No") else " "
        paragraphs[-1].append(text[1] + space)
    if not paragraphs:
        raise InputError("contains no sentence with a comment # text", "treebank", path)
    return paragraphs


if __name__ == "__main__":
    COMMAND.run()
