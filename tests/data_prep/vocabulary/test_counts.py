"""Counting words and characters as the tokenizer cuts them."""

import gzip
import random
import unicodedata

import pytest

from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.words import words_of_text
from data_prep.vocabulary import counts as word_counts

SPECIALS = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

WORD_CASES = [  # text, words lower-cased, words as they are
    ("Hello, World!", ["hello", ",", "world", "!"], ["Hello", ",", "World", "!"]),
    ("Café cafe\u0301", ["cafe", "cafe"], ["Café", "cafe\u0301"]),
    ("ab中文c", ["ab", "中", "文", "c"], ["ab", "中", "文", "c"]),
    ("a$b^c d_e", ["a", "$", "b", "^", "c", "d", "_", "e"], ["a", "$", "b", "^", "c", "d", "_", "e"]),
    ("x\x0by\x0cz\x1cw\x85v\x00u\ufffdt", ["xyzwvut"], ["xyzwvut"]),
    ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"], ["softhyphen", "zerowidth"]),
    ("a\u00a0b\u2003c\u2028d\u3000e\tf\rg", list("abcdefg"), list("abcdefg")),
    ("ΟΔΟΣ ΣΟΦΟΣ.", ["οδος", "σοφος", "."], ["ΟΔΟΣ", "ΣΟΦΟΣ", "."]),
    ("İstanbul", ["istanbul"], ["İstanbul"]),
    ("½ … ﬁ x²", ["½", "…", "ﬁ", "x²"], ["½", "…", "ﬁ", "x²"]),
    ("a\u037eb \u1fef", ["a", ";", "b", "`"], ["a", "\u037e", "b", "\u1fef"]),
    ("[MASK]", ["[", "mask", "]"], ["[", "MASK", "]"]),
    ("한국어 ガス", [unicodedata.normalize("NFD", "한국어"), "カス"], ["한국어", "ガス"]),
    (" \n\u200b ", [], []),
]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def count(path, **settings):
    return word_counts.count_words([str(path)], lower_case=True, num_workers=1, **settings)


@pytest.mark.parametrize(("text", "lower_cased", "as_it_is"), WORD_CASES)
def test_words_follow_the_rules_of_the_original(text, lower_cased, as_it_is):
    assert words_of_text(text, lower_case=True) == lower_cased
    assert words_of_text(text, lower_case=False) == as_it_is


@pytest.mark.parametrize(("lower_case", "strip_accents"), [(True, None), (False, None), (True, False), (False, True)])
def test_words_are_those_of_the_tokenizer(tmp_path, lower_case, strip_accents):
    """With every word of the text as an entry, the tokenizer must give exactly the counted words."""
    draw = random.Random(20181011)
    alphabet = [chr(code) for code in [*range(0x20, 0x250), *range(0x300, 0x340), *range(0x370, 0x600),
                                       *range(0x1E00, 0x2060), *range(0x3000, 0x3100), *range(0x4E00, 0x4E20),
                                       *range(0xAC00, 0xAC40), *range(0xF900, 0xF940), 0xFFFD, 0x1F600, 0x20001]]
    lines = ["".join(draw.choice([*draw.sample(alphabet, 5), " "]) for _ in range(draw.randint(1, 30)))
             for _ in range(701)]
    expected = [words_of_text(line, lower_case, strip_accents) for line in lines]
    entries = dict.fromkeys(word for words in expected for word in words)
    vocab_file = write(tmp_path / "vocab.txt", "\n".join([*SPECIALS, *entries]) + "\n")
    tokenizer = BertTokenizer(vocab_file, lower_case=lower_case, strip_accents=strip_accents)
    pieces = tokenizer.convert_ids_to_tokens(tokenizer.tokenize(lines)).to_list()
    differing = [(line, words) for line, words, found in zip(lines, expected, pieces, strict=True)
                 if words != [piece.decode() for piece in found]]
    assert differing == []


def test_counts_words_and_characters_but_not_words_that_are_always_unknown(tmp_path):
    longest, too_long = "y" * 200, "z" * 201
    path = write(tmp_path / "text.txt", f"The cat, the CAT!\nthe end {longest} {too_long}\n")
    counts = count(path)
    assert counts.words == {"the": 3, "cat": 2, ",": 1, "!": 1, "end": 1, longest: 1}
    assert counts.characters == {"t": 5, "h": 3, "e": 4, "c": 2, "a": 2, ",": 1, "!": 1, "n": 1, "d": 1, "y": 200}
    assert counts.dropped == 0


def test_the_count_depends_on_neither_blocks_nor_workers_nor_compression(tmp_path, monkeypatch):
    draw = random.Random(7)
    text = "\n".join(" ".join(draw.choices(["alpha", "Beta,", "中文", "ğ", "(x)"], k=9)) for _ in range(211))
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    whole = count(write(plain, text))
    packed.write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 101)
    assert count(plain) == whole
    assert count(packed) == whole
    in_two = word_counts.count_words([str(plain)], lower_case=True, num_workers=2)
    assert in_two == whole
    assert list(in_two.words) == list(whole.words)


def test_a_word_is_not_cut_where_a_block_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(word_counts, "BLOCK_BYTES", 7)
    text = "supercalifragilistic short 中国語 " + "w" * 40
    assert count(write(tmp_path / "t", text)).words == dict.fromkeys(words_of_text(text, True), 1)


def test_the_rarest_words_are_dropped_beyond_the_limit(tmp_path):
    path = write(tmp_path / "t", "common common common twice twice a1 b1 c1\n")
    counts = count(path, max_distinct_words=3)
    assert counts.words == {"common": 3}
    assert counts.dropped == 5
    assert counts.characters["1"] == 3


def test_of_words_that_are_equally_rare_the_first_are_kept(tmp_path):
    once = count(write(tmp_path / "once", " ".join(f"w{number}" for number in range(11))), max_distinct_words=10)
    assert once.words == dict.fromkeys(["w0", "w1", "w2", "w3", "w4"], 1)
    assert once.dropped == 6
    mixed = count(write(tmp_path / "mixed", "b a a c d d d e f g h"), max_distinct_words=7)
    assert mixed.words == {"d": 3, "a": 2, "b": 1}
    assert mixed.dropped == 5


def test_bytes_that_are_not_utf8_are_dropped_and_their_lines_counted(tmp_path):
    path = tmp_path / "latin1.txt"
    path.write_bytes("fine\nalso fine\ncafé\n".encode("latin-1"))
    found = count(path)
    assert (found.words, found.num_garbled) == ({"fine": 2, "also": 1, "caf": 1}, 1)


@pytest.mark.parametrize("damage", ["truncated", "not gzip"])
def test_a_damaged_gz_is_named(tmp_path, damage):
    path = tmp_path / "x.txt.gz"
    packed = gzip.compress(b"some words " * 50)
    path.write_bytes(packed[:-12] if damage == "truncated" else b"plain text")
    with pytest.raises(ValueError, match=r"x\.txt\.gz: .*damaged"):
        count(path)
