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


def surfaces(pieces, words):
    """Returns the joined tokens of each word, a list of W str. `words`: int [S] from `word_numbers`."""
    joined = [""] * (words[-1] + 1 if len(words) else 0)
    for word, piece in zip(words, pieces, strict=True):
        joined[word] += piece.removeprefix(SUFFIX_INDICATOR) if joined[word] else piece
    return joined
