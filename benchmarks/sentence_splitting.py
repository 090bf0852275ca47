"""Sentence splitting on one core: sentencex, as used here, compared with TensorFlow Text's StateBasedSentenceBreaker.

    python -m benchmarks.sentence_splitting [--treebank=en_ewt-ud-dev.conllu --input_file=text.txt]

Both take turns in one process on the same paragraphs. With a treebank of Universal Dependencies, also prints the
agreement with its sentences: precision, recall, and F1 of the boundaries within paragraphs. The end of a paragraph does
not count, because every splitter finds it.
"""

import dataclasses
import pydoc_data.topics
import re

import tensorflow as tf
import tensorflow_text as tf_text

from benchmarks import measurements, tokenization
from bert_tf.cli import flags, paths, script
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.files import read_text
from data_prep.sentences import splitting

OURS, PEER = "sentencex (ours)", "tf-text StateBasedSentenceBreaker"
BATCH_SIZE = 1000  # Paragraphs per call of TensorFlow Text.


@dataclasses.dataclass(frozen=True)
class SplittingSettings(measurements.KeptResults):
    """Settings for the measurement."""

    input_file: str | None = setting(
        None, "Text in UTF-8 for the speed, one paragraph per line. Defaults to CPython's documentation topics.")
    treebank: str | None = setting(
        None, "Treebank in CoNLL-U format with the comments `# text` and `# newpar`, for the agreement.")
    language: str = setting("en", "Language of the text and the treebank.")
    turn_bytes: int = setting(
        4_000_000, "Minimum number of bytes per turn: the text is repeated, so that a turn takes longer than the "
                   "clock's jitter.", lower=1)
    rounds: int = setting(5, "Number of turns.", lower=1)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(SplittingSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags, on one core."""
    del argv
    tokenization.use_one_thread()
    measure(flags.read(SplittingSettings()))


def measure(settings):
    """Prints a line for each splitter, and stores the comparisons; settings: SplittingSettings."""
    splitters = {OURS: create_splitter(settings.language), PEER: split_with_tensorflow_text}
    lines = (tokenization.read_lines("input_file", settings.input_file) if settings.input_file
             else topic_paragraphs())
    paragraphs = [" ".join(line.split()) for line in lines if line.strip()]
    if not paragraphs:
        raise InputError("contains no text", "input_file", settings.input_file)
    paragraphs *= -(-settings.turn_bytes // tokenization.bytes_of(paragraphs))
    megabytes = tokenization.bytes_of(paragraphs) / 1e6
    with measurements.on_cores(1):
        times = measurements.medians(measurements.time_turns(
            {name: lambda split=split: split(paragraphs) for name, split in splitters.items()}, settings.rounds))
    rates = {name: megabytes / seconds for name, seconds in times.items()}
    for name, rate in rates.items():
        print(f"{name:<34} {rate:8.2f} MB/s")
    comparisons = [measurements.Comparison(
        "Splitting text into sentences, one core", PEER, rates[OURS], rates[PEER], "MB/s", True)]
    if settings.treebank:
        scores = {name: compare(split, settings.treebank) for name, split in splitters.items()}
        for name, (precision, recall, f1) in scores.items():
            print(f"{name:<34} precision {precision:.1%}, recall {recall:.1%}, F1 {f1:.1%}")
        comparisons.append(measurements.Comparison(
            "Sentence boundaries of a treebank, F1", PEER, 100 * scores[OURS][2], 100 * scores[PEER][2], "%", True))
    measurements.keep("sentence_splitting", settings, comparisons)


def topic_paragraphs():
    """Returns the paragraphs of CPython's documentation topics."""
    return [paragraph for topic in pydoc_data.topics.topics.values() for paragraph in re.split(r"\n\s*\n", topic)]


def create_splitter(language):
    """Returns a function that splits a list of paragraphs with sentencex: list of the sentences of each."""
    return lambda paragraphs: [splitting.split_paragraph(each, language) for each in paragraphs]


def split_with_tensorflow_text(paragraphs):
    """Splits a list of paragraphs with TensorFlow Text; returns a list of the sentences of each."""
    breaker = tf_text.StateBasedSentenceBreaker()
    return [[sentence.decode() for sentence in sentences] for start in range(0, len(paragraphs), BATCH_SIZE)
            for sentences in breaker.break_sentences(tf.constant(paragraphs[start:start + BATCH_SIZE])).to_list()]


def compare(split, treebank):
    """Returns precision, recall, and F1 of the boundaries that `split` finds in the paragraphs of a treebank."""
    expected = read_treebank(treebank)
    found = split(["".join(sentences).strip() for sentences in expected])
    num_both = num_found = num_expected = 0
    for boundaries, reference in zip(map(find_boundaries, found), map(find_boundaries, expected), strict=True):
        num_both += len(boundaries & reference)
        num_found += len(boundaries)
        num_expected += len(reference)
    return (num_both / max(num_found, 1), num_both / max(num_expected, 1),
            2 * num_both / max(num_found + num_expected, 1))


def find_boundaries(sentences):
    """Returns the set of boundaries between sentences, each as the number of characters before it without spaces."""
    boundaries, position = set(), 0
    for sentence in sentences:
        position += len("".join(sentence.split()))
        boundaries.add(position)
    return boundaries - {position}


def read_treebank(path):
    """Reads the paragraphs of a treebank: list of lists of sentences, each with the space that follows it.

    Raises:
      InputError: If the file contains no text.
    """
    paths.check_file("treebank", path)
    paragraphs = []
    for block in read_text(path).split("\n\n"):
        text = re.search(r"^# text = (.*)$", block, re.MULTILINE)
        if not text:
            continue
        if not paragraphs or re.search(r"^# new(par|doc)", block, re.MULTILINE):
            paragraphs.append([])
        paragraphs[-1].append(text[1] if block.rstrip().endswith("SpaceAfter=No") else f"{text[1]} ")
    if not paragraphs:
        raise InputError("contains no sentence with a comment # text", "treebank", path)
    return paragraphs


if __name__ == "__main__":
    script.run(main, define_flags)
