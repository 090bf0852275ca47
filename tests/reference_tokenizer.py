"""The tokenization rules of the original BERT in plain Python.

They are a reference for the graph version. The code follows the steps of the original in their
order, and uses none of the tables of the graph version, except `LATER_CHARACTERS`: Unicode 14.0
does not assign them, but a newer Python does.
"""

import unicodedata

from bert_tf.tokenization.unicode_rules import LATER_CHARACTERS

CJK_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class ReferenceTokenizer:
    """Converts a text to IDs.

    Args:
      vocabulary: List of str. The token of each ID.
      lower_case: bool. The original's do_lower_case.
      strip_accents: bool. Whether to remove accents. Defaults to `lower_case`, as in the original.
        Otherwise each character is lowercased separately, as in Hugging Face's tokenizer.
    """

    def __init__(self, vocabulary, lower_case, strip_accents=None):
        self._ids = {piece: id_ for id_, piece in enumerate(vocabulary)}
        self._lower_case = lower_case
        self._strip_accents = lower_case if strip_accents is None else strip_accents

    def tokenize(self, text):
        """Returns the IDs of a text, str or bytes."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "ignore")
        return [id_ for word in self.words(text) for id_ in self.word_ids(word)]

    def words(self, text):
        """Yields the normalized words of a text."""
        # While the rules are applied, surrogates replace later characters. No text contains
        # surrogates, and no rule applies to them.
        surrogates = {
            c: chr(0xD800 + index)
            for index, c in enumerate(sorted(LATER_CHARACTERS.intersection(text)))
        }
        text = text.translate(str.maketrans(surrogates))
        back = str.maketrans({surrogate: c for c, surrogate in surrogates.items()})
        for token in "".join(map(spaced_and_cleaned, text)).split():
            if self._lower_case:
                token = token.lower() if self._strip_accents else "".join(c.lower() for c in token)
            if self._strip_accents:
                token = "".join(
                    c
                    for c in unicodedata.normalize("NFD", token)
                    if unicodedata.category(c) != "Mn"
                )
            words = "".join(f" {c} " if is_punctuation(c) else c for c in token).split()
            yield from (word.translate(back) for word in words)

    def word_ids(self, word):
        """Returns the IDs of a word, longest match first; a word with an unknown part is [UNK]."""
        if len(word) > 200:
            return [self._ids["[UNK]"]]
        ids = []
        start = 0
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
    """Returns the replacement of a character before the text is split at white space."""
    category = unicodedata.category(c)
    if c in "\t\n\r" or category == "Zs":
        return " "
    if c == "\ufffd" or category in ("Cc", "Cf"):
        return ""
    return f" {c} " if any(first <= ord(c) <= last for first, last in CJK_BLOCKS) else c


def is_punctuation(c):
    """Returns whether a character is punctuation; all ASCII symbols are."""
    if 33 <= ord(c) <= 47 or 58 <= ord(c) <= 64 or 91 <= ord(c) <= 96 or 123 <= ord(c) <= 126:
        return True
    return unicodedata.category(c).startswith("P")
