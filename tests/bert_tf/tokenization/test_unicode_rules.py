"""The Unicode rules are the same on every Python: digests of what Unicode 14.0 says, computed on Python 3.11."""

import hashlib
import random
import sys
import unicodedata

from bert_tf.tokenization import unicode_rules
from bert_tf.tokenization.words import split_text

CHARACTERS = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
CLASSES = "f300f87a857d708021ed81b7792643318350a8b7fad9210f03ce43da842c3605"
WORDS = "e9c072f6a11504348ced99170a9969051a59e424a06413c96714273fee65bf7a"


def digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def test_classes_of_all_characters():
    """Also of the methods of str that tokenizers call."""
    assert digest(
        f"{unicode_rules.category(c)} {unicode_rules.lower(c)!a} {unicode_rules.decompose(c)!a} {c.isspace():d} "
        f"{len(f'a{c}b'.split())} {unicode_rules.is_dropped(c):d}{unicode_rules.is_whitespace(c):d}"
        f"{unicode_rules.is_punctuation(c):d}{unicode_rules.is_cjk(c):d}" for c in CHARACTERS) == CLASSES


def test_later_characters_are_those_that_a_newer_python_assigns():
    """Python 3.14 assigns more: add them, and decide about characters whose class changes."""
    assert {c for c in CHARACTERS if (unicode_rules.category(c) == "Cn") != (unicodedata.category(c) == "Cn")} <= (
        unicode_rules.LATER_CHARACTERS)


def test_words_of_random_lines():
    """Half of the characters are those whose rules look at their neighbors, or that newer tables assign."""
    rng = random.Random(14)
    special = ["Σ", "Α", "a", ".", " ", "\u0301", "\u0345", "\u302e", "\U0001d15e", *unicode_rules.LATER_CHARACTERS]
    special.sort()
    lines = ["".join(rng.choice(special if rng.random() < 0.5 else CHARACTERS) for _ in range(12)) for _ in range(7919)]
    assert digest(f"{split_text(line, *options)!a}" for line in lines
                  for options in ((True, True), (True, False), (False, True), (False, False))) == WORDS
