"""Counts of words and characters.

Tests of PlainTokenizer compare the words with the original BERT.
"""

import gzip
import random

import pytest

from data_prep.vocabulary import VocabularySettings
from data_prep.vocabulary import counts as word_counts


def count(path, num_workers=1, **settings):
    return word_counts.count_words([path], VocabularySettings(num_workers=num_workers, **settings))


def test_counts(write):
    """Words that are too long for the tokenizer, and so always [UNK], do not count."""
    longest = "y" * 200
    too_long = "z" * 201
    counts = count(write("text.txt", f"\ufeffThe cat, the CAT!\nthe end {longest} {too_long}\n"))
    assert counts.words == {"the": 3, "cat": 2, ",": 1, "!": 1, "end": 1, longest: 1}
    assert counts.characters == {
        "t": 5,
        "h": 3,
        "e": 4,
        "c": 2,
        "a": 2,
        ",": 1,
        "!": 1,
        "n": 1,
        "d": 1,
        "y": 200,
    }
    assert (counts.num_dropped, counts.num_garbled) == (0, 0)
    counts = count(write("latin1.txt", "fine\nalso fine\ncafé\n".encode("latin-1")))
    assert (counts.words, counts.num_garbled) == ({"fine": 2, "also": 1, "caf": 1}, 1)


def test_counts_do_not_depend_on_blocks_or_compression(write, monkeypatch):
    random_state = random.Random(7)
    text = "\n".join(
        " ".join(random_state.choices(["alpha", "Beta,", "中文", "ğ", "(x)", "w" * 110], k=9))
        for _ in range(211)
    )
    expected = count(write("a.txt", text))
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 101)  # a word is longer
    assert count(write("a.txt", text)) == expected
    assert count(write("b.txt.gz", gzip.compress(text.encode()))) == expected


@pytest.mark.large
def test_counts_do_not_depend_on_workers(write, monkeypatch):
    path = write("a.txt", " ".join(f"w{number % 97}" for number in range(1000)))
    expected = count(path)
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 101)
    counts = count(path, num_workers=2)
    assert counts == expected
    assert list(counts.words) == list(expected.words)


def test_the_rarest_words_are_dropped_beyond_the_limit(write, monkeypatch):
    """Half of the limit remains, and of equally rare words the first ones."""
    path = write(
        "text.txt", " ".join(["c c c", *(f"w{number}" for number in range(1000)), "t t\n"])
    )
    with monkeypatch.context() as patch:
        patch.setattr(word_counts, "MAX_DISTINCT_WORDS", 1000)
        counts = count(path)
    assert counts.words == {"c": 3, "t": 2, **{f"w{number}": 1 for number in range(498)}}
    assert counts.num_dropped == 502
    assert counts.characters == count(path).characters
