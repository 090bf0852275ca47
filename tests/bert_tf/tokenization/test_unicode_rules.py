"""The Unicode rules, and the models for TensorFlow Text's normalization kernel that apply them."""

import hashlib
import random
import sys
import unicodedata

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from bert_tf.tokenization import normalizer_model, unicode_rules
from tests.reference_tokenizer import is_punctuation, spaced_and_cleaned

CHARACTERS = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]


def test_the_trie_has_complete_blocks():
    """The kernel checks no bounds."""
    characters = random.Random(3).sample(CHARACTERS[1:], 3001)
    assert (
        len(normalizer_model.build_trie({character.encode(): 7 for character in characters})) % 256
        == 0
    )


def normalize(character, lower_case, strip_accents):
    """Applies the rules to one character.

    The rules for Σ and for spaces around Chinese characters and punctuation are not applied.
    """
    if character in unicode_rules.LATER_CHARACTERS:
        return character
    result = spaced_and_cleaned(character).strip(" ") if character not in "\t\n\r" else " "
    if unicodedata.category(character) in ("Zs", "Zl", "Zp"):
        return " "
    if lower_case and not (strip_accents and result == "Σ"):
        result = result.lower()
    if strip_accents:
        result = "".join(
            c for c in unicodedata.normalize("NFD", result) if unicodedata.category(c) != "Mn"
        )
    return result


@pytest.mark.extra_large
@pytest.mark.parametrize("strip_accents", [True, False])
@pytest.mark.parametrize("lower_case", [True, False])
def test_every_character(lower_case, strip_accents):
    model = normalizer_model.build(unicode_rules.normalization(lower_case, strip_accents))
    kernel = tf_text.FastBertNormalizer(model_buffer=model)
    results = kernel.normalize(tf.constant([f"a{character}b" for character in CHARACTERS])).numpy()
    stand_ins = unicode_rules.stand_ins()
    wanted = [
        stand_ins.get(character) or normalize(character, lower_case, strip_accents)
        for character in CHARACTERS
    ]
    different = [
        hex(ord(character))
        for character, result, want in zip(CHARACTERS, results, wanted, strict=True)
        if result.decode() != f"a{want}b"
    ]
    assert not different


@pytest.mark.large
def test_words_are_split_only_at_punctuation_and_chinese():
    stand_ins = unicode_rules.stand_ins()
    words = tf_text.FastWordpieceTokenizer(["[UNK]", "\x01"], token_out_type=tf.int32)
    normalized = [f"a{stand_ins.get(character, character)}b" for character in CHARACTERS]
    counts = words.tokenize(tf.constant(normalized)).row_lengths().numpy()
    for character, count in zip(CHARACTERS, counts, strict=True):
        is_later = character in unicode_rules.LATER_CHARACTERS
        alone = (is_punctuation(character) and not is_later) or unicode_rules.is_cjk(character)
        if not unicode_rules.is_dropped(character) and not unicode_rules.is_whitespace(character):
            assert count == (3 if alone else 1), hex(ord(character))


CLASSES = "f300f87a857d708021ed81b7792643318350a8b7fad9210f03ce43da842c3605"


def test_classes_of_all_characters_are_the_same_on_every_python():
    """A digest of the rules of Unicode 14.0, and of the methods of str that tokenizers call.

    Python 3.11 computed it.
    """
    lines = (
        f"{unicode_rules.category(c)} {unicode_rules.lower(c)!a} {unicode_rules.decompose(c)!a} "
        f"{c.isspace():d} {len(f'a{c}b'.split())} "
        f"{unicode_rules.is_dropped(c):d}{unicode_rules.is_whitespace(c):d}"
        f"{unicode_rules.is_punctuation(c):d}{unicode_rules.is_cjk(c):d}"
        for c in CHARACTERS
    )
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == CLASSES


def test_later_characters_are_those_that_a_newer_python_assigns():
    """Python 3.14 assigns more: add them, and decide about characters whose class changes."""
    assert {
        c
        for c in CHARACTERS
        if (unicode_rules.category(c) == "Cn") != (unicodedata.category(c) == "Cn")
    } <= (unicode_rules.LATER_CHARACTERS)
