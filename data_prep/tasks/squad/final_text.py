"""Conversion of answer tokens to the text that they come from."""

import logging

from bert_tf.tokenization.words import split_text

_log = logging.getLogger(__name__)


def get_final_text(tokens, original, do_lower_case, strip_accents=None):
    """Returns the part of a text that tokens come from, like the original BERT's `get_final_text`.

    Splits the words of the text like the tokenizer, and searches for the answer there. Returns the complete text if
    splitting changed the number of characters other than spaces, or if the answer is not found, as with [UNK] tokens.

    Args:
      tokens: List of str. Consecutive tokens.
      original: str. The words of the context that they overlap, joined by spaces.
      do_lower_case, strip_accents: bool. As in the tokenizer.

    Returns:
      str. A part of `original`, for example only the year for "(1895-1943)." and the token "1895".
    """
    answer = " ".join(" ".join(tokens).replace(" ##", "").replace("##", "").split())
    spaced = " ".join(split_text(original, do_lower_case, strip_accents))
    start = spaced.find(answer)
    if start < 0 or not answer:
        _log.info("answer not found, using its complete words: %r in %r", answer, original)
        return original
    places = [place for place, character in enumerate(original) if character != " "]
    if len(places) != len(spaced) - spaced.count(" "):
        _log.info("tokenization changes the length, using complete words for the answer: %r in %r", answer, original)
        return original
    first = start - spaced.count(" ", 0, start)
    last = first + len(answer) - answer.count(" ") - 1
    return original[places[first] : places[last] + 1]
