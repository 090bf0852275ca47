"""From an answer in pieces back to the text it came from."""

import logging

from bert_tf.tokenization.words import words_of_text

_log = logging.getLogger(__name__)


def final_text(pieces, original, do_lower_case, strip_accents=None):
    """The part of a text that some pieces came from (the original's `get_final_text`).

    The words of the text are set apart as the tokenizer sets them apart, and the answer is looked up there. If that
    has changed the number of characters other than spaces, or the answer is not found, the whole text is the answer.
    The latter happens to pieces [UNK].

    Args:
      pieces: list of str, neighbouring pieces.
      original: the words of the context that they touch, joined by spaces.
      do_lower_case, strip_accents: of the tokenizer.

    Returns:
      str, a part of `original`: of "(1895-1943)." and the piece "1895" that year alone.
    """
    answer = " ".join(" ".join(pieces).replace(" ##", "").replace("##", "").split())
    spaced = " ".join(words_of_text(original, do_lower_case, strip_accents))
    start = spaced.find(answer)
    if start < 0 or not answer:
        _log.info("answer not found, its words stand for it: %r in %r", answer, original)
        return original
    places = [place for place, character in enumerate(original) if character != " "]
    if len(places) != len(spaced) - spaced.count(" "):
        _log.info("the tokenizer changes the length, the words stand for the answer: %r in %r", answer, original)
        return original
    first = start - spaced.count(" ", 0, start)
    last = first + len(answer) - answer.count(" ") - 1
    return original[places[first] : places[last] + 1]
