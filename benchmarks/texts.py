"""Texts for benchmarks: the lines of a file, or CPython's documentation topics.

Every Python contains these topics.
"""

import pydoc_data.topics
import re

from bert_tf.errors import InputError
from bert_tf.files import read_text
from run.demo import topics

WORDS = range(4, 46)  # Words per sentence in requests, as in movie reviews and news.


def read_lines(path):
    """Returns the lines of a file; if None, the non-empty lines of all topics."""
    if path:
        return read_text(path).split("\n")
    return [
        line
        for topic in pydoc_data.topics.topics.values()
        for line in topic.split("\n")
        if line.strip()
    ]


def read_paragraphs(path):
    """Returns the non-empty lines of a file; if None, the paragraphs of all topics.

    There are single spaces between words.
    """
    if path:
        paragraphs = [" ".join(line.split()) for line in read_lines(path) if line.strip()]
    else:
        paragraphs = [
            paragraph
            for topic in pydoc_data.topics.topics.values()
            for paragraph in split_topic(topic)
        ]
    if not paragraphs:
        raise InputError("contains no text", "input_file", path)
    return paragraphs


def split_topic(topic):
    """Returns the paragraphs of a documentation topic, with single spaces between words."""
    return [
        " ".join(paragraph.split())
        for paragraph in re.split(r"\n\s*\n", topic)
        if paragraph.strip()
    ]


def write_corpus(path):
    """Writes all topics as text for pre-training.

    The file has one sentence per line, and a blank line after each topic.
    """
    with open(path, "w", encoding="utf-8") as file:
        for topic in pydoc_data.topics.topics.values():
            for paragraph in split_topic(topic):
                file.writelines(
                    f"{sentence}\n" for sentence in re.split(r"(?<=[.!?:])\s+", paragraph)
                )
            file.write("\n")


def read_sentences(path, count):
    """Returns the first `count` non-empty lines of a file; if None, sentences of all topics."""
    if path:
        sentences = [line for line in read_lines(path) if line.strip()]
    else:
        _, held_out = topics.read_sections()
        sentences = [
            sentence
            for _, section in held_out
            for sentence in section
            if len(sentence.split()) in WORDS
        ]
        sentences = sentences[:: max(1, len(sentences) // count)]
    if len(sentences) < count:
        raise InputError(
            f"has {len(sentences)} sentences, but a request requires {count}", "text_file", path
        )
    return sentences[:count]


def count_bytes(lines):
    """Returns the size of lines in UTF-8 bytes."""
    return sum(len(line.encode()) for line in lines)
