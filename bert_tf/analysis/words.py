"""Attention between words out of attention between pieces (Clark et al. 2019, section 4.1). Free of TensorFlow.

Legend: S pieces, W words.
"""

import numpy as np

from bert_tf.tokenization.vocabulary import SPECIAL_PIECES, SUFFIX_INDICATOR


def word_numbers(pieces):
    """The number of the word that each piece is of, int64 [S], counted from 0.

    A piece that begins with ## goes on with the word of the piece before it; [CLS] and [SEP] are words of their own.

    Args:
      pieces: list of S str.
    """
    goes_on = [place > 0 and piece.startswith(SUFFIX_INDICATOR) and pieces[place - 1] not in SPECIAL_PIECES
               for place, piece in enumerate(pieces)]
    return np.cumsum(~np.array(goes_on, bool)) - 1


def join(attention, words):
    """Attention between words: that to the pieces of a word is summed, that from them averaged.

    Args:
      attention: float [..., S, S], from the second last axis to the last.
      words: int [S], the number of each piece's word, ascending from 0 without a gap.

    Returns:
      float [..., W, W]; rows sum to what they summed to.
    """
    words = np.asarray(words)
    starts = np.flatnonzero(np.diff(words, prepend=-1))
    lengths = np.diff(starts, append=len(words))
    to_words = np.add.reduceat(attention, starts, axis=-1)
    return np.add.reduceat(to_words, starts, axis=-2) / lengths[:, np.newaxis]


def surfaces(pieces, words, text=None, spans=None):
    """What stands in a text for each word.

    Args:
      pieces: list of S str.
      words: int [S] of `word_numbers`.
      text: str; with `spans`, the (start, end) of each piece in it, counted in characters.

    Returns:
      List of W str; without a text, the pieces of a word put together.
    """
    joined = [""] * (words[-1] + 1 if len(words) else 0)
    if text is not None:
        bounds = {}
        for word, (start, end) in zip(words, spans, strict=True):
            first, last = bounds.get(word, (start, end))
            bounds[word] = min(first, start), max(last, end)
        return [text[slice(*bounds[word])] for word in range(len(joined))]
    for word, piece in zip(words, pieces, strict=True):
        joined[word] += piece.removeprefix(SUFFIX_INDICATOR) if joined[word] else piece
    return joined
