"""The original's tokenization rules in plain Python, to hold the graph version against.

Written from the rules, not from the tables that the graph version is built of: each text goes through the steps of
the original in its order.
"""

import unicodedata

CJK_BLOCKS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


class ReferenceTokenizer:
    """Text -> ids, one text at a time.

    Args:
      vocabulary: list of str, the piece of each id.
      lower_case: the original's do_lower_case.
      strip_accents: whether accents go, which the original knows only together with `lower_case`. Lower-casing that
        keeps them is of each character by itself, as Hugging Face does it.
    """

    def __init__(self, vocabulary, lower_case, strip_accents=None):
        self._ids = {piece: id_ for id_, piece in enumerate(vocabulary)}
        self._lower_case = lower_case
        self._strip_accents = lower_case if strip_accents is None else strip_accents

    def tokenize(self, text):
        """text: str or bytes -> list of int."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "ignore")
        return [id_ for word in self.words(text) for id_ in self.word_ids(word)]

    def words(self, text):
        """text: str -> list of str, normalised words."""
        for token in "".join(map(spaced_and_cleaned, text)).split():
            if self._lower_case:
                token = token.lower() if self._strip_accents else "".join(c.lower() for c in token)
            if self._strip_accents:
                token = "".join(c for c in unicodedata.normalize("NFD", token) if unicodedata.category(c) != "Mn")
            yield from "".join(f" {c} " if is_punctuation(c) else c for c in token).split()

    def word_ids(self, word):
        """Longest match first; one piece missing makes the whole word unknown."""
        if len(word) > 200:
            return [self._ids["[UNK]"]]
        ids, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                id_ = self._ids.get(prefix + word[start:end])
                if id_ is not None:
                    break
            else:
                return [self._ids["[UNK]"]]
            ids.append(id_)
            start = end
        return ids


def spaced_and_cleaned(c):
    """What a character becomes before a text is split by white space."""
    category = unicodedata.category(c)
    if c in "\t\n\r" or category == "Zs":
        return " "
    if c == "\ufffd" or category in ("Cc", "Cf"):
        return ""
    return f" {c} " if any(first <= ord(c) <= last for first, last in CJK_BLOCKS) else c


def is_punctuation(c):
    """ASCII's signs count as punctuation whatever Unicode calls them."""
    if 33 <= ord(c) <= 47 or 58 <= ord(c) <= 64 or 91 <= ord(c) <= 96 or 123 <= ord(c) <= 126:
        return True
    return unicodedata.category(c).startswith("P")
