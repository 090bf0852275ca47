"""Counts of words and characters. Tests of PlainTokenizer compare the words with the original BERT."""

import gzip
import random

import pytest

from bert_tf.errors import InputError
from data_prep.vocabulary import counts as word_counts


def count(path, **settings):
    return word_counts.count_words([path], lower_case=True, num_workers=1, **settings)


def test_counts(write):
    """Words that are too long for the tokenizer, and so always [UNK], do not count."""
    longest, too_long = "y" * 200, "z" * 201
    counts = count(write("text.txt", f"The cat, the CAT!\nthe end {longest} {too_long}\n"))
    assert counts.words == {"the": 3, "cat": 2, ",": 1, "!": 1, "end": 1, longest: 1}
    assert counts.characters == {"t": 5, "h": 3, "e": 4, "c": 2, "a": 2, ",": 1, "!": 1, "n": 1, "d": 1, "y": 200}
    assert (counts.num_dropped, counts.num_garbled) == (0, 0)
    counts = count(write("latin1.txt", "fine\nalso fine\ncafé\n".encode("latin-1")))
    assert (counts.words, counts.num_garbled) == ({"fine": 2, "also": 1, "caf": 1}, 1)


def test_a_byte_order_mark_is_not_text(write):
    assert count(write("a.txt", "\ufeffthe cat\n")).words == {"the": 1, "cat": 1}
    with pytest.raises(InputError, match=r"a\.txt: is UTF-16; save the file as UTF-8$"):
        count(write("a.txt", "the cat\n".encode("utf-16")))


def test_counts_do_not_depend_on_blocks_or_compression(write, monkeypatch):
    random_state = random.Random(7)
    text = "\n".join(" ".join(random_state.choices(["alpha", "Beta,", "中文", "ğ", "(x)", "w" * 110], k=9))
                     for _ in range(211))
    expected = count(write("a.txt", text))
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 101)  # a word is longer
    assert count(write("a.txt", text)) == expected
    assert count(write("b.txt.gz", gzip.compress(text.encode()))) == expected


@pytest.mark.large
def test_counts_do_not_depend_on_workers(write, monkeypatch):
    path = write("a.txt", " ".join(f"w{number % 97}" for number in range(1000)))
    expected = count(path)
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 101)
    counts = word_counts.count_words([path], lower_case=True, num_workers=2)
    assert counts == expected
    assert list(counts.words) == list(expected.words)


@pytest.mark.parametrize(("text", "limit", "words", "num_dropped"), [
    ("common common common twice twice a1 b1 c1\n", 3, {"common": 3}, 5),
    ("w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10", 10, dict.fromkeys(["w0", "w1", "w2", "w3", "w4"], 1), 6),  # the first
    ("b a a c d d d e f g h", 7, {"d": 3, "a": 2, "b": 1}, 5),
])
def test_the_rarest_words_are_dropped_beyond_the_limit(write, text, limit, words, num_dropped):
    counts = count(write("text.txt", text), max_distinct_words=limit)
    assert (counts.words, counts.num_dropped) == (words, num_dropped)
    assert counts.characters == count(write("text.txt", text)).characters


@pytest.mark.parametrize("content", [gzip.compress(b"some words " * 50)[:-12], b"plain text"],
                         ids=["truncated", "plain text"])
def test_damaged_gzip_files(write, content):
    with pytest.raises(InputError, match=r"x\.txt\.gz: .*corrupted"):
        count(write("x.txt.gz", content))
