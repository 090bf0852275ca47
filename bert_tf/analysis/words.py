"""The words of tokens. Does not import TensorFlow. Legend: S tokens, W words."""

import numpy as np

from bert_tf.tokenization.vocabulary import SPECIAL_PIECES, SUFFIX_INDICATOR


def word_numbers(pieces):
    """Returns the 0-based number of the word of each of `pieces`, a list of S str: int64 [S].

    A token that begins with ## continues the word of the previous token; [CLS] and [SEP] are separate words.
    """
    goes_on = [index > 0 and piece.startswith(SUFFIX_INDICATOR) and pieces[index - 1] not in SPECIAL_PIECES
               for index, piece in enumerate(pieces)]
    return np.cumsum(~np.array(goes_on, bool)) - 1


def surfaces(pieces, words, text=None, spans=None):
    """Returns the text of each word.

    Args:
      pieces: List of S str. Tokens.
      words: int [S] from `word_numbers`.
      text: str. Used together with `spans`, the (start, end) of each token in it, in characters.

    Returns:
      List of W str; without a text, the joined tokens of each word.
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
