"""The words of a text in plain Python, as in the tokenizer's graph, for processes that do not use TensorFlow.

It applies the rules of `BasicTokenizer` in the original's tokenization.py, once per distinct string between
spaces, and texts have few of these; tests compare the results with the graph.
"""

import functools

from bert_tf.tokenization.unicode_rules import is_cjk, is_dropped, is_punctuation, lower, remove_accents

# max_input_chars_per_word of the original's WordpieceTokenizer: longer words are [UNK] in any vocabulary.
MAX_WORD_CHARACTERS = 200

# `BasicTokenizer` deletes control characters before it splits on white space, but str.split() treats these as white
# space. Therefore, they are deleted first.
CONTROLS_THAT_SPLIT = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"

CACHED_CHUNKS = 1 << 17  # About 40 MB per process.


def split_text(text, lower_case, strip_accents=None):
    """Splits a text into words, a list of str, as in the original's `BasicTokenizer.tokenize`.

    `strip_accents`: See BertTokenizer; None, as in the original, for `lower_case`.
    """
    strip_accents = lower_case if strip_accents is None else strip_accents
    return [word for chunk in chunks(text) for word in split_chunk(chunk, lower_case, strip_accents)]


def chunks(text):
    """Splits a str by white space into a list of str; no word spans two of them."""
    for control in CONTROLS_THAT_SPLIT:
        text = text.replace(control, "")
    return text.split()


@functools.lru_cache(maxsize=CACHED_CHUNKS)
def split_chunk(chunk, lower_case, strip_accents):
    """Splits text without white space into words, a tuple of str."""
    if chunk.isascii() and chunk.isalnum():
        return (chunk.lower() if lower_case else chunk,)
    words = []
    for token in "".join(map(_clean_character, chunk)).split():
        if lower_case:  # If accents stay, BertTokenizer lowercases each character separately.
            token = lower(token) if strip_accents else "".join(map(str.lower, token))
        if strip_accents:
            token = remove_accents(token)
        words += "".join(f" {character} " if is_punctuation(character) else character
                         for character in token).split()
    return tuple(words)


@functools.cache
def _clean_character(character):
    if is_dropped(character):
        return ""
    return f" {character} " if is_cjk(character) else character
