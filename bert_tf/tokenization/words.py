"""The words of a text in plain Python, as the tokenizer's graph cuts them: for processes that need no TensorFlow.

The rules are those of `BasicTokenizer` in the original's tokenization.py. They run once for each distinct string
between spaces, of which a text has few; tests hold them against the graph.
"""

import functools
import unicodedata

from bert_tf.tokenization.unicode_rules import is_cjk, is_dropped, is_punctuation

# max_input_chars_per_word of the original's WordpieceTokenizer: a longer word is [UNK] in any vocabulary.
MAX_WORD_CHARACTERS = 200

# `BasicTokenizer` deletes control characters before it splits on white space, but str.split() takes these for
# white space: they are deleted first.
CONTROLS_THAT_SPLIT = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"

CACHED_CHUNKS = 1 << 17  # about 40 MB a process


def words_of_text(text, lower_case, strip_accents=None):
    """The words of a text, a list of str, as the original's `BasicTokenizer.tokenize` gives them.

    `strip_accents` is BertTokenizer's; None is as `lower_case`, the original's rule.
    """
    strip_accents = lower_case if strip_accents is None else strip_accents
    return [word for chunk in chunks(text) for word in words_of_chunk(chunk, lower_case, strip_accents)]


def chunks(text):
    """The parts of a str between white space, a list of str: no word extends over two of them."""
    for control in CONTROLS_THAT_SPLIT:
        text = text.replace(control, "")
    return text.split()


@functools.lru_cache(maxsize=CACHED_CHUNKS)
def words_of_chunk(chunk, lower_case, strip_accents):
    """The words, a tuple of str, of text without white space."""
    if chunk.isascii() and chunk.isalnum():
        return (chunk.lower() if lower_case else chunk,)
    words = []
    for token in "".join(map(_clean_character, chunk)).split():
        if lower_case:  # by BertTokenizer's rule each character by itself, where accents stay
            token = token.lower() if strip_accents else "".join(map(str.lower, token))
        if strip_accents:
            decomposed = unicodedata.normalize("NFD", token)
            token = "".join(character for character in decomposed if unicodedata.category(character) != "Mn")
        words += "".join(f" {character} " if is_punctuation(character) else character
                         for character in token).split()
    return tuple(words)


@functools.cache
def _clean_character(character):
    if is_dropped(character):
        return ""
    return f" {character} " if is_cjk(character) else character
