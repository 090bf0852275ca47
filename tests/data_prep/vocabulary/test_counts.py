"""Counts of words and characters, which are split like in the tokenizer."""

import gzip
import random

import pytest

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.words import words_of_text
from data_prep.vocabulary import counts as word_counts
from tests.data_prep.conftest import SPECIAL_TOKENS


def count(path, **settings):
    return word_counts.count_words([path], lower_case=True, num_workers=1, **settings)


@pytest.mark.parametrize(("text", "lowercase", "with_case"), [
    ("Hello, World!", ["hello", ",", "world", "!"], ["Hello", ",", "World", "!"]),
    ("Café cafe\u0301", ["cafe", "cafe"], ["Café", "cafe\u0301"]),
    ("a$b 中文c [MASK]", [*"a$b中文c[", "mask", "]"], [*"a$b中文c[", "MASK", "]"]),
    ("x\x0by\x85v\x00u\u00ad\u200bt \ufffd", ["xyvut"], ["xyvut"]),
    ("a\u00a0b\u2003c\u2028d\u3000e\tf\rg", list("abcdefg"), list("abcdefg")),
    ("ΟΔΟΣ İ", ["οδος", "i"], ["ΟΔΟΣ", "İ"]),
])
def test_words_follow_the_rules_of_the_original_bert(text, lowercase, with_case):
    assert words_of_text(text, lower_case=True) == lowercase
    assert words_of_text(text, lower_case=False) == with_case


@pytest.mark.parametrize(("lower_case", "strip_accents"), [(True, None), (False, None), (True, False), (False, True)])
def test_words_match_the_tokenizer(write, lower_case, strip_accents):
    """If every word of the text is in the vocabulary, the tokens are the counted words."""
    random_state = random.Random(20181011)
    alphabet = [chr(code) for code in [*range(0x20, 0x250), *range(0x300, 0x340), *range(0x370, 0x600),
                                       *range(0x1E00, 0x2060), *range(0x3000, 0x3100), *range(0x4E00, 0x4E20),
                                       *range(0xAC00, 0xAC40), *range(0xF900, 0xF940), 0xFFFD, 0x1F600, 0x20001]]
    lines = ["".join(random_state.choice([*random_state.sample(alphabet, 5), " "])
                     for _ in range(random_state.randint(1, 30))) for _ in range(701)]
    expected = [words_of_text(line, lower_case, strip_accents) for line in lines]
    entries = dict.fromkeys(word for words in expected for word in words)
    vocab_file = write("vocab.txt", "\n".join([*SPECIAL_TOKENS, *entries]) + "\n")
    tokenizer = BertTokenizer(vocab_file, lower_case=lower_case, strip_accents=strip_accents)
    tokens = tokenizer.convert_ids_to_tokens(tokenizer.tokenize(lines)).to_list()
    assert [[token.decode() for token in line] for line in tokens] == expected


def test_counts(write):
    """Words that are too long for the tokenizer, and so always [UNK], do not count."""
    longest, too_long = "y" * 200, "z" * 201
    counts = count(write("text.txt", f"The cat, the CAT!\nthe end {longest} {too_long}\n"))
    assert counts.words == {"the": 3, "cat": 2, ",": 1, "!": 1, "end": 1, longest: 1}
    assert counts.characters == {"t": 5, "h": 3, "e": 4, "c": 2, "a": 2, ",": 1, "!": 1, "n": 1, "d": 1, "y": 200}
    assert (counts.dropped, counts.num_garbled) == (0, 0)
    counts = count(write("latin1.txt", "fine\nalso fine\ncafé\n".encode("latin-1")))
    assert (counts.words, counts.num_garbled) == ({"fine": 2, "also": 1, "caf": 1}, 1)


def test_counts_do_not_depend_on_blocks_or_compression(write, monkeypatch):
    random_state = random.Random(7)
    text = "\n".join(" ".join(random_state.choices(["alpha", "Beta,", "中文", "ğ", "(x)", "w" * 110], k=9))
                     for _ in range(211))
    expected = count(write("a.txt", text))
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 101)  # a word is longer
    assert count(write("a.txt", text)) == expected
    assert count(write("b.txt.gz", gzip.compress(text.encode()))) == expected


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
    assert (counts.words, counts.dropped) == (words, num_dropped)
    assert counts.characters == count(write("text.txt", text)).characters


@pytest.mark.parametrize("content", [gzip.compress(b"some words " * 50)[:-12], b"plain text"])
def test_damaged_gzip_files(write, content):
    with pytest.raises(InputError, match=r"x\.txt\.gz: .*damaged"):
        count(write("x.txt.gz", content))
