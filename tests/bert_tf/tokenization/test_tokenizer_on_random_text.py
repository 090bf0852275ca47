"""BertTokenizer and a plain implementation of the original BERT agree on random Unicode."""

import random
import sys
import unicodedata

import pytest

from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.plain import PlainTokenizer
from bert_tf.tokenization.unicode_rules import LATER_CHARACTERS, category
from tests.reference_tokenizer import ReferenceTokenizer

pytestmark = pytest.mark.large

LINES = 1000

LATER = sorted(LATER_CHARACTERS)
ASSIGNED = [chr(c) for c in range(sys.maxunicode + 1) if category(chr(c)) not in ("Cn", "Cs", "Co")]
BY_CATEGORY = {}
for _character in ASSIGNED:
    BY_CATEGORY.setdefault(category(_character), []).append(_character)
SORTED_MARKS = [c for c in ASSIGNED if unicodedata.combining(c) and category(c) != "Mn"]
UNSORTED_MARKS = [c for c in BY_CATEGORY["Mn"] if not unicodedata.combining(c)]
# These decompose into sorted marks.
MUSIC = [chr(c) for c in (*range(0x1D15E, 0x1D165), *range(0x1D1BB, 0x1D1C1))]
ADDED_PUNCTUATION = [
    chr(c) for c in (0x1B4E, 0x1B7F, 0x10D6E, 0x113D4, 0x11B00, 0x11B09, 0x11F45, 0x1E5FF)
]
HAN = (*range(0x3400, 0xA000), *range(0xF900, 0xFB00), *range(0x20000, 0x30000), 0x3007, 0x3005)

# Each word consists of characters of one line, from any of its lists.
ALPHABETS = [
    [[chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]],
    [ASSIGNED],
    list(BY_CATEGORY.values()),
    ["aAzZ09éÀçñüβλİIıßſẞǅﬁ½²…№™ΩÅK"],
    # Σ among letters, and among characters that str.lower ignores: marks, format characters, some
    # punctuation.
    ["ΣΑς", "σΣa", "ΣςaÀʰ.:'’\u00ad\u0301\u200b\u0345\0\ufffd\x85中1-_ΑᾼǅΩ\u302e"],
    # Marks that NFD may have to sort, among characters that it sorts too or that end a sequence.
    [
        SORTED_MARKS,
        SORTED_MARKS,
        BY_CATEGORY["Mn"],
        UNSORTED_MARKS,
        MUSIC,
        ["a", "\0", "\u200d", "é"],
    ],
    [[chr(c) for c in range(0xAC00, 0xD7A4)], [chr(c) for c in range(0x1100, 0x1200)]],  # Hangul
    [[chr(c) for c in HAN]],
    [["[MASK]", "[CLS]", "[UNK]", "[unused1]", "##a", "##", "#", "don't", "U.S.A.", "e\u0301"]],
    [ADDED_PUNCTUATION, "a."],
    # Characters that Python 3.12 or 3.13 assigns, such as marks, next to those whose rules look at
    # their neighbors.
    [
        LATER,
        ["\U00010efd", "\u0ece", "\U0001e4ec", "\U00011f41"],
        "ΣΑa",
        ["\u0301", "\u0345", *SORTED_MARKS[:3]],
    ],
    [BY_CATEGORY["Zs"], BY_CATEGORY["Cc"], BY_CATEGORY["Cf"], "\u2028\u2029\ufffd"],
]


def make_long_word(rng):
    """Returns a word of 198 to 202 characters, of 1 to 4 bytes each, perhaps next to others."""
    letters = rng.choice(
        ["a", "ab", "é", "ญ", "ß", "한", "𝒳", "々", "ͅa", "Σ", "ʰ", "\U0001d15e", "👍a", "İ"]
    )
    word = "".join(rng.choice(letters) for _ in range(rng.randrange(198, 203)))
    if len(letters) > 1 and rng.random() < 0.3:
        word = word + rng.choice([".", "中", "\u0301", "\ufffd", "x"]) + word
    return (
        rng.choice(["", "a", "a ", "中", "."])
        + word
        + rng.choice(["", " b", ".", "b", "\u0301", "中b"])
    )


def make_word(rng):
    if rng.random() < 0.02:
        return make_long_word(rng)
    alphabet = rng.choice(ALPHABETS)
    return "".join(rng.choice(rng.choice(alphabet)) for _ in range(rng.randrange(1, 9)))


def garble(rng, text):
    """Returns the text as bytes, some of which are not UTF-8."""
    content = bytearray(text.encode())
    for _ in range(rng.randrange(1, 5)):
        start = rng.randrange(len(content) + 1)
        content[start : start + rng.randrange(3)] = rng.choice(
            [
                b"",
                b"\x80",
                b"\xc3",
                b"\xe2\x82",
                b"\xed\xa0\x80",
                b"\xf0\x9f\x98",
                b"\xf4\x90\x80\x80",
                b"\xc0\x80",
                b"\xff",
                b"\xf1",
                b"\xe0\x80",
            ]
        )
    return bytes(content)


def make_texts(seed):
    """Returns random texts as bytes; about a quarter of them are not UTF-8."""
    rng = random.Random(seed)
    texts = [
        "".join(make_word(rng) + rng.choice(["", "", " "]) for _ in range(rng.randrange(6)))
        for _ in range(LINES)
    ]
    return [text.encode() for text in ("", " ", "\0", "\ufffd", *texts)] + [
        garble(rng, text) for text in texts[: LINES // 3]
    ]


@pytest.fixture(scope="module")
def vocab_file(tmp_path_factory):
    """A vocabulary of all characters below U+3000, some above, and a few longer tokens.

    Since nearly every character is known, a wrong normalization gives a wrong ID instead of another
    [UNK].
    """
    characters = [c for c in ASSIGNED if ord(c) < 0x3000 or 0xA000 <= ord(c) < 0xAC00]
    characters += [chr(c) for c in range(0x4E00, 0x4F00)] + [
        *map(chr, range(0x1D000, 0x1D800)),
        "🙂",
        "𐐨",
        "々",
    ]
    characters += SORTED_MARKS + ADDED_PUNCTUATION + MUSIC + LATER
    characters = [c for c in dict.fromkeys(characters) if c.strip()]
    longer = [
        "ab",
        "##ab",
        "##aa",
        "aaa",
        "##σς",
        "don",
        "mask",
        "MASK",
        "##é",
        "е́",
        "ᄒ" + "ᅡ",
        "##ᅡᆫ",
        "e\u0301",
    ]
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *dict.fromkeys(characters + ["##" + c for c in characters if c != "\ufffd"] + longer),
    ]
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(pieces) + "\n", encoding="utf-8", newline="\n")
    return str(path)


@pytest.fixture(
    scope="module",
    params=[(True, None), (False, None), (True, False), (False, True)],
    ids=["uncased", "cased", "uncased_with_accents", "cased_without_accents"],
)
def tokenizer(request, vocab_file):
    return BertTokenizer(vocab_file, *request.param)


def test_ids_are_those_of_the_reference_and_spans_are_complete_characters(tokenizer):
    """PlainTokenizer returns the same."""
    reference = ReferenceTokenizer(
        tokenizer.vocabulary, tokenizer.lower_case, tokenizer.strip_accents
    )
    plain = PlainTokenizer(tokenizer.vocabulary, tokenizer.lower_case, tokenizer.strip_accents)
    texts = make_texts(seed=20)
    offsets = [rows.to_list() for rows in tokenizer.tokenize_with_offsets(texts)]
    assert (
        tokenizer.tokenize(texts).to_list()
        == offsets[0]
        == [reference.tokenize(text) for text in texts]
    )
    for content, ids, byte_starts, byte_ends, char_starts, char_ends in zip(
        texts, *offsets, strict=True
    ):
        text = content.decode("utf-8", "ignore")
        assert plain.ids_and_spans(text) == (ids, char_starts, char_ends), content
        previous = 0
        for byte_start, byte_end, char_start, char_end in zip(
            byte_starts, byte_ends, char_starts, char_ends, strict=True
        ):
            assert previous <= char_start < char_end <= len(text), content
            assert len(content[:byte_start].decode("utf-8", "ignore")) == char_start, content
            assert (
                content[byte_start:byte_end].decode("utf-8", "ignore") == text[char_start:char_end]
            ), content
            previous = char_start
