"""The demo's text: CPython's documentation topics, as a corpus and a classification task.

The topics are part of every Python.

Many topics repeat parts of others, so only the first occurrence of a sentence is kept. No held-out
sentence is in the training text.
"""

import itertools
import os
import pydoc_data.topics
import re

MIN_WORDS = 5  # Shorter paragraphs are headings and fragments of code.
SECTION_SENTENCES = 30  # Sections are held out or kept completely.
HELD_OUT_EVERY = 9  # One section per this number is held out.

# Topics of the classification task: each class is one chapter of Python's reference.
CHAPTERS = {
    "data_model": ("specialnames", "types", "objects"),
    "compound_statements": ("compound",),
    "simple_statements": ("assignment", "import", "raise", "global", "del", "return", "assert"),
    "expressions": (
        "calls",
        "comparisons",
        "binary",
        "subscriptions",
        "slicings",
        "atom-identifiers",
    ),
    "lexical_analysis": ("identifiers", "strings", "execmodel", "integers", "floating"),
    "built_in_types": (
        "typesseq",
        "typesmapping",
        "string-methods",
        "bltin-code-objects",
        "typesmodules",
    ),
    "string_formatting": ("formatstrings",),
    "debugger": ("debugger",),
}


def read_sections():
    """Splits the topics' prose into training and held-out sections.

    Returns:
      Tuple of two lists, the training and the held-out sections. A section is a tuple of its
      topic's name and a list of consecutive sentences.
    """
    seen = set()
    sections = []
    topics = pydoc_data.topics.topics
    for topic in sorted(topics, key=lambda name: (-len(topics[name]), name)):
        fresh = [
            sentence
            for sentence in split_sentences(topics[topic])
            if not (sentence in seen or seen.add(sentence))
        ]
        sections += [
            (topic, fresh[start : start + SECTION_SENTENCES])
            for start in range(0, len(fresh), SECTION_SENTENCES)
        ]
    held_out = sections[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY]
    return [
        section for number, section in enumerate(sections, 1) if number % HELD_OUT_EVERY
    ], held_out


def split_sentences(text):
    """Splits a documentation topic's paragraphs into sentences.

    Omits code, tables, and headings.
    """
    sentences = []
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = " ".join(paragraph.split())
        if len(paragraph.split()) >= MIN_WORDS and re.search(r"[.:!?]['\")]*$", paragraph):
            sentences += re.split(r"(?<=[.!?])\s+(?=[A-Z\"*])", paragraph)
    return sentences


def write_corpus(sections, path):
    """Writes sections for create_pretraining_data.

    There is one sentence per line, and a blank line between topics.
    """
    with open(path, "w", encoding="utf-8") as file:
        for _, group in itertools.groupby(sections, key=lambda section: section[0]):
            file.writelines(f"{sentence}\n" for _, sentences in group for sentence in sentences)
            file.write("\n")


def write_task(sections, path):
    """Writes sentences of CHAPTERS with their chapter to a TSV file.

    Its columns are sentence and label.
    """
    chapter_of = {topic: chapter for chapter, topics in CHAPTERS.items() for topic in topics}
    with open(path, "w", encoding="utf-8") as file:
        file.write("sentence\tlabel\n")
        for topic, sentences in sections:
            if topic in chapter_of:
                file.writelines(f"{sentence}\t{chapter_of[topic]}\n" for sentence in sentences)


def write_all(folder):
    """Writes train.txt, held_out.txt, task/train.tsv, and task/dev.tsv to `folder`."""
    training, held_out = read_sections()
    os.makedirs(os.path.join(folder, "task"), exist_ok=True)
    write_corpus(training, os.path.join(folder, "train.txt"))
    write_corpus(held_out, os.path.join(folder, "held_out.txt"))
    write_task(training, os.path.join(folder, "task", "train.tsv"))
    write_task(held_out, os.path.join(folder, "task", "dev.tsv"))
