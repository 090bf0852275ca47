"""The rules of the original's `BasicTokenizer` for single characters, from Python's own Unicode tables.

All functions here are about one code point at a time. The few rules that depend on neighbors (final sigma, canonical
order of marks, words over 200 characters) are in `wordpiece.py`, which takes its character classes from here.
"""

import unicodedata

UNICODE_VERSION = unicodedata.unidata_version

# The original's `_is_chinese_char`, bounds included.
CJK_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
              (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0x2F800, 0x2FA1F))

# Planes 3 to 13, 15, and 16 contain letters without case or decomposition, private use, or nothing: apart from CJK
# spacing, which does not use these bounds, no rule changes a character outside of them.
_CHANGEABLE = ((0x0, 0xD7FF), (0xE000, 0x1FFFF), (0x2F800, 0x2FA1F), (0xE0000, 0xE0FFF))

# Punctuation of Unicode 16, by which TensorFlow Text splits words, and which older tables do not assign.
_PUNCTUATION_ADDED_BY_UNICODE_16 = (
    (0x1B4E, 0x1B4F), (0x1B7F, 0x1B7F), (0x10D6E, 0x10D6E), (0x113D4, 0x113D5), (0x113D7, 0x113D8),
    (0x11B00, 0x11B09), (0x11BE1, 0x11BE1), (0x11F43, 0x11F4F), (0x16D6D, 0x16D6F), (0x1E5FF, 0x1E5FF))

# Language tags are format characters, which cleaning removes, so they can be used as substitutes.
_FIRST_STAND_IN = 0xE0020


def changeable_characters():
    """Yields every character that a rule could drop, replace, or split, in the order of code points."""
    for first, last in _CHANGEABLE:
        yield from map(chr, range(first, last + 1))


def is_whitespace(character):
    """Returns whether the original treats a character as white space: `_is_whitespace`, then `str.split`."""
    return character in " \t\n\r" or unicodedata.category(character) in ("Zs", "Zl", "Zp")


def is_dropped(character):
    """Returns whether `_clean_text` removes a character: U+0000, U+FFFD, control and format characters."""
    if character in "\t\n\r":
        return False
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf")


def is_punctuation(character):
    """Returns whether `_run_split_on_punc` makes a character a separate word."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")


def is_cjk(character):
    """Returns whether `_tokenize_chinese_chars` puts spaces around a character."""
    code_point = ord(character)
    return any(first <= code_point <= last for first, last in CJK_RANGES)


def stand_ins():
    """Returns substitutes for characters that are punctuation in TensorFlow Text but not by these rules.

    Both the text and the vocabulary use the substitutes, so that words are not split.

    Returns:
      Dict of character to character, for `str.translate` via `str.maketrans`.
    """
    characters = [chr(code_point) for first, last in _PUNCTUATION_ADDED_BY_UNICODE_16
                  for code_point in range(first, last + 1)]
    return {character: chr(_FIRST_STAND_IN + index) for index, character in enumerate(characters)
            if not is_punctuation(character)}


def normalization(lower_case, strip_accents):
    """Returns the replacement of each character that normalization changes.

    It does not include spaces around CJK characters and punctuation: TensorFlow Text's word splitting adds those.

    If both arguments are True, capital sigma is unchanged: its lowercase depends on its neighbors.

    Args:
      lower_case: bool. Whether to lowercase.
      strip_accents: bool. Whether to decompose (NFD) and drop the marks of category Mn.

    Returns:
      Dict of character to str; dropped characters have the empty string.
    """
    replaced = dict(stand_ins())
    category, normalize = unicodedata.category, unicodedata.normalize
    for character in changeable_characters():
        kind = category(character)
        if kind in ("Lo", "Cn", "Co", "So", "Sm", "No") and not _decomposes(character):
            continue
        if is_dropped(character):
            replaced[character] = ""
        elif is_whitespace(character):
            if character != " ":
                replaced[character] = " "
        else:
            keeps_case = not lower_case or (strip_accents and character == "Σ")
            result = character if keeps_case else character.lower()
            if strip_accents:
                result = "".join(part for part in normalize("NFD", result) if category(part) != "Mn")
            if result != character:
                replaced[character] = result
    return replaced


def _decomposes(character):
    return character == "\ufffd" or character.lower() != character or not unicodedata.is_normalized(
        "NFD", character)


def sigma_context():
    """Returns the characters that decide whether a capital sigma is final, found by trying `str.lower`.

    Python lowercases Σ to ς if the nearest character before it that is not ignored is cased and the nearest one after
    it is not.

    Returns:
      Tuple `(cased, ignored)` of lists of characters. A cased character that is also ignored is only in `ignored`;
      dropped characters are in neither.
    """
    characters = [character for character in changeable_characters()
                  if character not in "\r\n" and not is_dropped(character)]
    after_itself = _ends_in_final_sigma("{}Σ\n", characters)
    after_a_letter = _ends_in_final_sigma("A{}Σ\n", characters)
    cased = [character for character, final in zip(characters, after_itself, strict=True) if final]
    ignored = [character for character, alone, final in zip(characters, after_itself, after_a_letter, strict=True)
               if final and not alone]
    return cased, ignored


def _ends_in_final_sigma(pattern, characters):
    text = "".join([pattern.replace("{}", character) for character in characters]).lower()
    return [line.endswith("ς") for line in text.split("\n")[:-1]]


def group_sorted_marks():
    """Returns characters with a canonical combining class that remain after Mn marks are dropped, by that class.

    NFD sorts neighboring marks by class. If at most one kind remains, the order does not matter; these few can remain
    in the wrong order.

    Returns:
      Dict of combining class to list of characters, in ascending order of class.
    """
    marks = {}
    for character in changeable_characters():
        combining_class = unicodedata.combining(character)
        if combining_class and unicodedata.category(character) != "Mn":
            marks.setdefault(combining_class, []).append(character)
    return dict(sorted(marks.items()))


def mark_separation():
    """Returns replacements that make `group_sorted_marks` adjacent exactly where NFD would sort them.

    Returns:
      Dict of character to str, see `normalization`. It removes dropped characters and the Mn marks that NFD sorts, also
      from decompositions. Mn marks of class 0 remain: nothing is sorted across them.
    """
    sorted_marks = {mark for marks in group_sorted_marks().values() for mark in marks}
    replaced = {}
    for character in changeable_characters():
        if is_dropped(character):
            replaced[character] = ""
        elif unicodedata.combining(character) or unicodedata.decomposition(character):
            parts = unicodedata.normalize("NFD", character)
            result = "".join(part for part in parts if part in sorted_marks or not unicodedata.combining(part))
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
