"""The rules of the original's `BasicTokenizer` for characters, with Unicode 14.0 on every Python.

Newer tables only assign more characters: assigned characters keep their classes, case, and
decomposition. Therefore, the rules use Python's `unicodedata`, except that `LATER_CHARACTERS` count
as unassigned.

The few rules that depend on neighbors (final sigma, canonical order of marks, words over 200
characters) are in `wordpiece.py` for graphs, which takes its character classes from here.
"""

import functools
import re
import unicodedata

# Code points that Unicode 15.0 and 15.1 assign, the versions of Python 3.12 and 3.13.
_LATER_RANGES = (
    (0xCF3, 0xCF3),
    (0xECE, 0xECE),
    (0x2FFC, 0x2FFF),
    (0x31EF, 0x31EF),
    (0x10EFD, 0x10EFF),
    (0x1123F, 0x11241),
    (0x11B00, 0x11B09),
    (0x11F00, 0x11F10),
    (0x11F12, 0x11F3A),
    (0x11F3E, 0x11F59),
    (0x1342F, 0x1342F),
    (0x13439, 0x13455),
    (0x1B132, 0x1B132),
    (0x1B155, 0x1B155),
    (0x1D2C0, 0x1D2D3),
    (0x1DF25, 0x1DF2A),
    (0x1E030, 0x1E06D),
    (0x1E08F, 0x1E08F),
    (0x1E4D0, 0x1E4F9),
    (0x1F6DC, 0x1F6DC),
    (0x1F774, 0x1F776),
    (0x1F77B, 0x1F77F),
    (0x1F7D9, 0x1F7D9),
    (0x1FA75, 0x1FA77),
    (0x1FA87, 0x1FA88),
    (0x1FAAD, 0x1FAAF),
    (0x1FABB, 0x1FABD),
    (0x1FABF, 0x1FABF),
    (0x1FACE, 0x1FACF),
    (0x1FADA, 0x1FADB),
    (0x1FAE8, 0x1FAE8),
    (0x1FAF7, 0x1FAF8),
    (0x2B739, 0x2B739),
    (0x2EBF0, 0x2EE5D),
    (0x31350, 0x323AF),
)
LATER_CHARACTERS = frozenset(
    chr(code) for first, last in _LATER_RANGES for code in range(first, last + 1)
)
_LATER = re.compile(
    "([" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _LATER_RANGES) + "])"
)

# The original's `_is_chinese_char`, bounds included.
CJK_RANGES = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)

# Planes 3 to 13, 15, and 16 contain letters without case or decomposition, private use, or nothing:
# apart from CJK spacing, which does not use these bounds, no rule changes a character outside of
# them.
_CHANGEABLE = ((0x0, 0xD7FF), (0xE000, 0x1FFFF), (0x2F800, 0x2FA1F), (0xE0000, 0xE0FFF))

# Punctuation by which TensorFlow Text, with Unicode 16, splits words, and which Unicode 14.0 does
# not assign.
_PUNCTUATION_ADDED_BY_UNICODE_16 = (
    (0x1B4E, 0x1B4F),
    (0x1B7F, 0x1B7F),
    (0x10D6E, 0x10D6E),
    (0x113D4, 0x113D5),
    (0x113D7, 0x113D8),
    (0x11B00, 0x11B09),
    (0x11BE1, 0x11BE1),
    (0x11F43, 0x11F4F),
    (0x16D6D, 0x16D6F),
    (0x1E5FF, 0x1E5FF),
)

# Letters in circles and squares, which are alphabetic symbols.
_ALPHABETIC_SYMBOLS = (
    (0x24B6, 0x24E9),
    (0x1F130, 0x1F149),
    (0x1F150, 0x1F169),
    (0x1F170, 0x1F189),
)
_JOINERS = "\u200c\u200d"

# Language tags are format characters, which cleaning removes, so they can be used as substitutes.
_FIRST_STAND_IN = 0xE0020


def category(character):
    """Returns the general category of a character, such as "Mn"."""
    return "Cn" if character in LATER_CHARACTERS else unicodedata.category(character)


def lower(text):
    """Returns the lowercase of a text, with final sigmas, as `str.lower`."""
    return _apply_between_later_characters(str.lower, text)


def decompose(text):
    """Returns the canonical decomposition (NFD) of a text."""
    return _apply_between_later_characters(lambda part: unicodedata.normalize("NFD", part), text)


def remove_accents(text):
    """Decomposes (NFD) a text and drops its Mn marks, as the original's `_run_strip_accents`."""
    return "".join(character for character in decompose(text) if category(character) != "Mn")


def normalize_character(character, lower_case, strip_accents):
    """Returns the text that a character contributes to words.

    Final sigma and the order of marks also depend on other characters.
    """
    if is_dropped(character) or is_whitespace(character):
        return ""
    character = lower(character) if lower_case else character
    return remove_accents(character) if strip_accents else character


def _apply_between_later_characters(function, text):
    """Applies a function to the parts of a text between LATER_CHARACTERS.

    An unassigned character is a boundary.
    """
    if not _LATER.search(text):
        return function(text)
    parts = _LATER.split(text)
    parts[::2] = map(function, parts[::2])
    return "".join(parts)


def changeable_characters():
    """Yields every character that a rule could drop, replace, or split, by code point."""
    for first, last in _CHANGEABLE:
        yield from (
            character
            for character in map(chr, range(first, last + 1))
            if character not in LATER_CHARACTERS
        )


def is_whitespace(character):
    """Returns whether the original treats a character as white space.

    It does so in `_is_whitespace`, then in `str.split`.
    """
    return character in " \t\n\r" or category(character) in ("Zs", "Zl", "Zp")


def is_dropped(character):
    """Returns whether `_clean_text` removes a character.

    It removes U+0000, U+FFFD, and control and format characters.
    """
    if character in "\t\n\r":
        return False
    return character == "\ufffd" or category(character) in ("Cc", "Cf")


def is_punctuation(character):
    """Returns whether `_run_split_on_punc` makes a character a separate word."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return category(character).startswith("P")


def is_cjk(character):
    """Returns whether `_tokenize_chinese_chars` puts spaces around a character."""
    code_point = ord(character)
    return any(first <= code_point <= last for first, last in CJK_RANGES)


def is_word_character(character):
    r"""Returns whether \w of the Unicode standard's regular expressions matches a character.

    These are letters, marks, digits, connecting punctuation such as "_", and joiners, by the tables
    of Unicode 14.0.
    """
    code_point = ord(character)
    general_category = category(character)
    return (
        general_category[0] in "LM"
        or general_category in ("Nd", "Nl", "Pc")
        or character in _JOINERS
        or any(first <= code_point <= last for first, last in _ALPHABETIC_SYMBOLS)
    )


def stand_ins():
    """Returns substitutes for characters that are punctuation only in TensorFlow Text.

    Both the text and the vocabulary use the substitutes, so that words are not split.

    Returns:
      Dict of character -> substitute.
    """
    characters = [
        chr(code_point)
        for first, last in _PUNCTUATION_ADDED_BY_UNICODE_16
        for code_point in range(first, last + 1)
    ]
    return {character: chr(_FIRST_STAND_IN + index) for index, character in enumerate(characters)}


def normalization(lower_case, strip_accents):
    """Returns the replacement of each character that normalization changes.

    It does not include spaces around CJK characters and punctuation: TensorFlow Text's word
    splitting adds those.

    Args:
      lower_case: bool. Whether to lowercase. If both are True, capital sigma is unchanged: its
        lowercase depends on its neighbors.
      strip_accents: bool. Whether to decompose (NFD) and drop the marks of category Mn.

    Returns:
      Dict of character -> str, "" to drop it.
    """
    replaced = dict(stand_ins())
    characters = [*changeable_characters()]
    normalized = _normalize_separately(characters, lower_case, strip_accents)
    for character, result in zip(characters, normalized, strict=True):
        if is_whitespace(character):
            result = " "
        elif is_dropped(character):
            result = ""
        if result != character and not (character == "Σ" and lower_case and strip_accents):
            replaced[character] = result
    return replaced


def _normalize_separately(characters, lower_case, strip_accents):
    """Applies casing and accents to each of many characters, in one call for all.

    Args:
      characters: List of str, without LATER_CHARACTERS.
      lower_case, strip_accents: bool. See `normalization`.

    Returns:
      List of str.
    """
    # A noncharacter, between which neither final sigma nor the order of marks has an effect.
    separator = "\U0010ffff"
    text = separator.join(characters)
    if lower_case:
        text = text.lower()
    if strip_accents:
        marks = "".join(character for character in characters if category(character) == "Mn")
        text = unicodedata.normalize("NFD", text).translate(str.maketrans("", "", marks))
    return text.split(separator)


def sigma_context():
    """Returns the characters that decide whether a capital sigma is final.

    Python lowercases Σ to ς if the nearest character before it that is not ignored is cased and the
    nearest one after it is not. The function finds these characters by trying `str.lower`.

    Returns:
      Tuple `(cased, ignored)` of lists of characters. A cased character that is also ignored is
      only in `ignored`; dropped characters are in neither.
    """
    cased = []
    ignored = []
    for character in changeable_characters():
        if not f"A{character}Σ".lower().endswith("ς") or is_dropped(character):
            continue
        if f"{character}Σ".lower().endswith("ς"):
            cased.append(character)
        else:
            ignored.append(character)
    return cased, ignored


@functools.cache
def group_sorted_marks():
    """Returns characters with a canonical combining class that remain after Mn marks are dropped.

    NFD sorts neighboring marks by class. If at most one class remains, the order does not matter;
    these few can remain in the wrong order.

    Returns:
      Dict of combining class to list of characters, in ascending order of class.
    """
    marks = {}
    for character in changeable_characters():
        combining_class = unicodedata.combining(character)
        if combining_class and category(character) != "Mn":
            marks.setdefault(combining_class, []).append(character)
    return dict(sorted(marks.items()))


def mark_separation():
    """Returns replacements that make marks adjacent exactly where NFD would sort them.

    The marks come from `group_sorted_marks`. The replacements remove dropped characters and the
    Mn marks that NFD sorts, also from decompositions. Mn marks of class 0 remain: nothing is sorted
    across them. The result has the form of `normalization`.
    """
    sorted_marks = {mark for marks in group_sorted_marks().values() for mark in marks}
    replaced = {}
    for character in changeable_characters():
        if is_dropped(character):
            replaced[character] = ""
        elif unicodedata.combining(character) or unicodedata.decomposition(character):
            parts = unicodedata.normalize("NFD", character)
            result = "".join(
                part for part in parts if part in sorted_marks or not unicodedata.combining(part)
            )
            if result != character:
                replaced[character] = result
    return replaced


def regex_class(characters):
    """Returns an RE2 bracket expression that matches one of `characters`."""
    code_points = sorted(map(ord, characters))
    ranges = []
    for code_point in code_points:
        if ranges and code_point == ranges[-1][1] + 1:
            ranges[-1][1] = code_point
        else:
            ranges.append([code_point, code_point])
    return "[" + "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in ranges) + "]"
