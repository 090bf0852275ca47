"""Random Unicode: the graph tokenizer gives what a plain-Python statement of the original's rules gives."""

import random
import sys
import unicodedata

import pytest

from bert_tf.tokenization import BertTokenizer
from tests.reference_tokenizer import ReferenceTokenizer

LINES = 4000

ASSIGNED = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
BY_CATEGORY = {}
for _character in ASSIGNED:
    BY_CATEGORY.setdefault(unicodedata.category(_character), []).append(_character)
SORTED_MARKS = [c for c in ASSIGNED if unicodedata.combining(c) and unicodedata.category(c) != "Mn"]
UNSORTED_MARKS = [c for c in BY_CATEGORY["Mn"] if not unicodedata.combining(c)]
MUSIC = [chr(c) for c in (*range(0x1D15E, 0x1D165), *range(0x1D1BB, 0x1D1C1))]  # these decompose into sorted marks
ADDED_PUNCTUATION = [chr(c) for c in (0x1B4E, 0x1B7F, 0x10D6E, 0x113D4, 0x11B00, 0x11B09, 0x11F45, 0x1E5FF)]


def any_character(rng):
    while True:
        code_point = rng.randrange(sys.maxunicode + 1)
        if not 0xD800 <= code_point < 0xE000:
            return chr(code_point)


def several(rng, choose, most=9):
    return "".join(choose() for _ in range(rng.randrange(1, most)))


def sigma_word(rng):
    """Σ among letters, and among what str.lower looks past: marks, format characters, some punctuation."""
    return several(rng, lambda: rng.choice("ΣΣΣσςaÀʰ.:'’\u00ad\u0301\u200b\u0345\0\ufffd\x85中1-_ΑᾼǅΩ\u302e"))


def marked_word(rng):
    """A letter with marks that NFD may have to sort, with others between them that it sorts or that stop it."""
    kinds = [SORTED_MARKS, SORTED_MARKS, BY_CATEGORY["Mn"], UNSORTED_MARKS, MUSIC, ["a", "\0", "\u200d", "é"]]
    return several(rng, lambda: rng.choice(rng.choice(kinds)))


def long_word(rng):
    """A word of 198 to 202 characters, of any number of bytes, perhaps between others."""
    letters = rng.choice(["a", "ab", "é", "ญ", "ß", "한", "𝒳", "々", "ͅa", "Σ", "ʰ", "\U0001D15E", "👍a", "İ"])
    word = "".join(rng.choice(letters) for _ in range(rng.randrange(198, 203)))
    if len(letters) > 1 and rng.random() < 0.3:
        word = word + rng.choice([".", "中", "\u0301", "\ufffd", "x"]) + word
    return rng.choice(["", "a", "a ", "中", "."]) + word + rng.choice(["", " b", ".", "b", "\u0301", "中b"])


def random_part(rng):
    kind = rng.randrange(12)
    if kind == 0:
        return several(rng, lambda: any_character(rng))
    if kind == 1:
        return several(rng, lambda: rng.choice(ASSIGNED))
    if kind == 2:
        return several(rng, lambda: rng.choice(rng.choice(list(BY_CATEGORY.values()))))
    if kind == 3:
        return several(rng, lambda: rng.choice("aAzZ09éÀçñüβλİIıßſẞǅﬁ½²…№™ΩÅK"))
    if kind == 4:
        return sigma_word(rng)
    if kind == 5:
        return marked_word(rng)
    if kind == 6:
        return long_word(rng) if rng.random() < 0.25 else ""
    if kind == 7:
        return several(rng, lambda: chr(rng.randrange(0xAC00, 0xD7A4)) if rng.random() < 0.7
                       else chr(rng.randrange(0x1100, 0x1200)))
    if kind == 8:
        return several(rng, lambda: chr(rng.choice([rng.randrange(0x3400, 0xA000), rng.randrange(0xF900, 0xFB00),
                                                    rng.randrange(0x20000, 0x30000), 0x3007, 0x3005])))
    if kind == 9:
        return rng.choice(["[MASK]", "[CLS]", "[UNK]", "[unused1]", "##a", "##", "#", "don't", "U.S.A.", "e\u0301"])
    if kind == 10:
        return rng.choice(ADDED_PUNCTUATION) + rng.choice(["", "a", "."])
    return rng.choice(BY_CATEGORY["Zs"] + BY_CATEGORY["Cc"] + BY_CATEGORY["Cf"] + ["\u2028", "\u2029", "\ufffd"])


def random_text(rng):
    return "".join(random_part(rng) + rng.choice(["", "", " "]) for _ in range(rng.randrange(6)))


def broken(rng, text):
    """The text as bytes, cut and garbled so that some are not UTF-8."""
    content = bytearray(text.encode())
    for _ in range(rng.randrange(1, 5)):
        place = rng.randrange(len(content) + 1)
        content[place:place + rng.randrange(3)] = rng.choice(
            [b"", b"\x80", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xc0\x80",
             b"\xff", b"\xf1", b"\xe0\x80"])
    return bytes(content)


def texts(seed):
    rng = random.Random(seed)
    drawn = [random_text(rng) for _ in range(LINES)]
    return ["", " ", "\0", "\ufffd", *drawn], [broken(rng, text) for text in drawn[:LINES // 3]]


def vocabulary():
    """Specials, every character of the basic plane alone and as a suffix, and some beyond; a few longer pieces.

    With nearly every character known, a wrong normalisation gives a wrong id and not one more [UNK].
    """
    characters = [c for c in ASSIGNED if ord(c) < 0x3000 or 0xA000 <= ord(c) < 0xAC00]
    characters += [chr(c) for c in range(0x4E00, 0x4F00)] + [*map(chr, range(0x1D000, 0x1D800)), "🙂", "𐐨", "々"]
    characters += SORTED_MARKS + ADDED_PUNCTUATION + MUSIC
    characters = [c for c in dict.fromkeys(characters) if c.strip()]
    longer = ["ab", "##ab", "##aa", "aaa", "##σς", "don", "mask", "MASK", "##é", "е́", "ᄒ" + "ᅡ", "##ᅡᆫ", "e\u0301"]
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(
        characters + ["##" + c for c in characters if c != "\ufffd"] + longer)]


@pytest.fixture(scope="module")
def vocab_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(vocabulary()) + "\n", encoding="utf-8", newline="\n")
    return str(path)


@pytest.fixture(scope="module", params=[(True, None), (False, None), (True, False), (False, True)],
                ids=["uncased", "cased", "uncased_with_accents", "cased_without_accents"])
def tokenizer(request, vocab_file):
    return BertTokenizer(vocab_file, *request.param)


def test_equals_the_plain_rules_on_random_text(tokenizer):
    reference = ReferenceTokenizer(tokenizer.vocabulary, tokenizer.lower_case, tokenizer.strip_accents)
    valid, invalid = texts(seed=20)
    drawn = [*valid, *invalid]
    expected = [reference.tokenize(text) for text in drawn]
    for ids in (tokenizer.tokenize(drawn), tokenizer.tokenize_with_offsets(drawn).ids):
        different = [(text, got, want) for text, got, want in zip(drawn, ids.to_list(), expected, strict=True)
                     if got != want]
        assert not different, f"{len(different)} texts, the first: {different[0]!a}"


def test_spans_are_whole_characters_in_order(tokenizer):
    valid, invalid = texts(seed=31)
    drawn = [*(text.encode() for text in valid), *invalid]
    spans = [rows.to_list() for rows in tokenizer.tokenize_with_offsets(drawn)[1:]]
    for content, *rows in zip(drawn, *spans, strict=True):
        text = content.decode("utf-8", "ignore")
        previous = 0
        for byte_start, byte_end, char_start, char_end in zip(*rows, strict=True):
            assert previous <= char_start < char_end <= len(text), ascii(text)
            assert len(content[:byte_start].decode("utf-8", "ignore")) == char_start, content
            assert content[byte_start:byte_end].decode("utf-8", "ignore") == text[char_start:char_end], content
            previous = char_start
