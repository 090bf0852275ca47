"""Tokens that were added to a vocabulary, and where they occur in texts.

Such a token is not split, as in Hugging Face's tokenizers: tokens that are not normalized are found
in the text itself, and then the others in the normalized text between them. This module does not
import TensorFlow; `added_token_ops.py` does the same in a graph.
"""

import dataclasses
import re
from typing import NamedTuple

from bert_tf.errors import InputError
from bert_tf.tokenization.vocabulary import count_ids, index_tokens

# White space of Rust's regular expressions, which `lstrip` and `rstrip` include in a token.
WHITESPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


@dataclasses.dataclass(frozen=True)
class AddedToken:
    """A token that is not split, with the flags of transformers' AddedToken."""

    content: str
    id: int
    normalized: bool = True  # Whether it is found in normalized text, in any case for instance.
    special: bool = False  # Takes precedence over a token with equal normalized contents.
    single_word: bool = False  # Whether it is ignored next to a letter, a digit, or "_".
    lstrip: bool = False  # Whether it includes the white space before it.
    rstrip: bool = False  # Whether it includes the white space after it.

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if type(value) is not field.type:
                raise InputError(
                    f"added token {self.content!r:.80}: {field.name} is {value!r:.80}; must be "
                    f"{field.type.__name__}"
                )
        # The graph marks tokens with these characters, which normalization drops from any text.
        if not self.content.strip() or "\0" in self.content or "\x01" in self.content:
            raise InputError(
                f"added token {self.content!r:.80}: must contain text, and no U+0000 or U+0001"
            )


def to_added_tokens(contents, vocabulary):
    """Returns the AddedTokens that `tokenizer.add_tokens` of transformers would add.

    Args:
      contents: Iterable of str, or of AddedToken, which are returned unchanged.
      vocabulary: List of str. Token of each ID.

    Returns:
      Tuple of AddedToken. Those in the vocabulary have its ID, the others the next ones after it.

    Raises:
      InputError: If a content is empty.
    """
    ids = index_tokens(vocabulary)
    size = count_ids(vocabulary)
    tokens = {}
    for content in contents:
        token = content
        if not isinstance(content, AddedToken):
            token = AddedToken(content, ids.get(content, size))
        if token.content not in tokens:
            tokens[token.content] = token
            size = max(size, token.id + 1)
    return tuple(tokens.values())


def extend_vocabulary(vocabulary, added_tokens):
    """Returns a vocabulary with AddedTokens, a list of str.

    Raises:
      InputError: If an ID is not that of the token in the vocabulary, or the next one after it.
    """
    extended = list(vocabulary)
    ids = index_tokens(vocabulary)
    for token in added_tokens:
        expected = ids.get(token.content, len(extended))
        if token.id != expected:
            raise InputError(
                f"added token {token.content!r:.80} has ID {token.id}; must be {expected}, "
                + ("its ID in the vocabulary" if token.content in ids else "the next one after it")
            )
        if token.content not in ids:
            ids[token.content] = len(extended)
            extended.append(token.content)
    return extended


class Part(NamedTuple):
    """A part of a text without added tokens, and the added token after it."""

    start: int  # First character.
    end: int  # Character after the last.
    token: AddedToken | None  # None at the end of the text.
    token_start: int
    token_end: int


class TokenFinder:
    """Finds added tokens in texts: from left to right, the longest that begins at a character."""

    def __init__(self, tokens, is_word_character):
        """Builds the search.

        Args:
          tokens: Dict of text to find -> AddedToken.
          is_word_character: Function of a character that returns whether `single_word` rejects a
            token next to it.
        """
        self._tokens = tokens
        self._is_word_character = is_word_character
        self._pattern = re.compile("|".join(map(re.escape, sort_by_length(tokens))))
        # The first words of tokens, whose controls and sigmas a chunk can have in other forms.
        self._beginnings = {_simplify(content.split()[0]) for content in tokens}
        self._lengths = sorted(set(map(len, self._beginnings)))

    def may_begin_in(self, chunk):
        """Returns whether a token may begin in a chunk of a text without white space."""
        chunk = _simplify(chunk) if self._beginnings else ""
        return any(
            chunk[start : start + length] in self._beginnings
            for length in self._lengths
            for start in range(len(chunk) - length + 1)
        )

    def split(self, text):
        """Splits a text at its added tokens into a list of `Part`."""
        parts = []
        start = 0
        for match in self._pattern.finditer(text) if self._tokens else ():
            token = self._tokens[match[0]]
            token_start, token_end = match.span()
            if token.single_word and self._is_in_word(text, token_start, token_end):
                continue
            end = max(start, token_start)
            if token.lstrip:
                end = start + len(text[start:token_start].rstrip(WHITESPACE))
                token_start = end
            while token.rstrip and token_end < len(text) and text[token_end] in WHITESPACE:
                token_end += 1
            parts.append(Part(start, end, token, token_start, token_end))
            start = token_end
        return [*parts, Part(start, len(text), None, len(text), len(text))]

    def _is_in_word(self, text, start, end):
        return (start > 0 and self._is_word_character(text[start - 1])) or (
            end < len(text) and self._is_word_character(text[end])
        )


def index_contents(added_tokens, normalize):
    """Returns the tokens to find in texts and those to find in normalized texts.

    Args:
      added_tokens: AddedTokens.
      normalize: Function that normalizes a str.

    Returns:
      Two dicts of text to find -> AddedToken, in a dict of bool `normalized` -> dict.
    """
    found = {False: {}, True: {}}
    for token in sorted(added_tokens, key=lambda token: not token.special):
        content = normalize(token.content) if token.normalized else token.content
        if content:
            found[token.normalized].setdefault(content, token)
    return found


def sort_by_length(contents):
    """Sorts texts so that a regular expression of alternatives finds the longest."""
    return sorted(contents, key=len, reverse=True)


def _simplify(text):
    return "".join(filter(str.isprintable, text)).replace("ς", "σ")
