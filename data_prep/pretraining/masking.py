"""Which pieces of a sentence pair are to be predicted, and what stands in their place.

Follows the original's `create_masked_lm_predictions`: 15 % of the positions (`masked_lm_prob`), counted with
[CLS] and both [SEP]; of these 80 % become [MASK], 10 % stay, 10 % become a random piece, drawn for each piece
also when whole words are masked.
"""

import dataclasses

import numpy as np

KEEP = -1  # in place of a replacement's id: the piece stays as it is


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """What masking and packing need to know of a vocabulary.

    Attributes:
      size: number of pieces; a random piece is any id below it, special pieces included, as in the original.
      cls_id, sep_id, mask_id: ids of [CLS], [SEP] and [MASK].
      is_continuation: [size] bool; True for a piece that continues a word, "##...".
    """

    size: int
    cls_id: int
    sep_id: int
    mask_id: int
    is_continuation: np.ndarray

    @classmethod
    def of_tokenizer(cls, tokenizer):
        """Reads it off a BertTokenizer."""
        is_continuation = np.array([piece.startswith("##") for piece in tokenizer.vocabulary])
        return cls(tokenizer.vocab_size, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id,
                   is_continuation)


class Masker:
    """Draws masks for sentence pairs of one corpus.

    Calling it with a pair, `masker(a_start, a_stop, b_start, b_stop)`, ranges of the corpus' tokens, draws
    from `rng` and returns two lists of equal length, in the order of the draws: positions in the packed
    sequence ([CLS] a [SEP] b [SEP]), and for each the id that stands there in the input, or KEEP.
    """

    def __init__(self, settings, vocabulary, tokens, rng):
        """`settings`: InstanceSettings; `vocabulary`: Vocabulary; `tokens`: [T] ids of the corpus."""
        self._rng = rng
        self._vocabulary = vocabulary
        self._continues = None
        if settings.do_whole_word_mask:
            self._continues = vocabulary.is_continuation[tokens].tobytes()  # a byte for each of the T
        self._numbers_to_predict = [
            number_to_predict(length, settings.masked_lm_prob, settings.max_predictions_per_seq)
            for length in range(settings.max_seq_length + 1)]

    def __call__(self, a_start, a_stop, b_start, b_stop):
        middle = a_stop - a_start + 1  # where the first [SEP] stands
        end = middle + 1 + b_stop - b_start  # where the second one stands
        count = self._numbers_to_predict[end + 1]
        candidates = [*range(1, middle), *range(middle + 1, end)]
        if self._continues is None:
            self._rng.shuffle(candidates)
            positions = candidates[:count]
        else:
            continues = self._continues[a_start:a_stop] + self._continues[b_start:b_stop]
            words = _words(candidates, continues)
            self._rng.shuffle(words)
            positions = _positions_of_words(words, count)
        return positions, self._replacements(len(positions))

    def _replacements(self, count):
        random, randint = self._rng.random, self._rng.randint
        mask_id, last_id = self._vocabulary.mask_id, self._vocabulary.size - 1
        replacements = [mask_id] * count
        for i in range(count):
            if random() >= 0.8:
                replacements[i] = KEEP if random() < 0.5 else randint(0, last_id)
        return replacements


def number_to_predict(length, masked_lm_prob, max_predictions_per_seq):
    """How many pieces of a packed sequence of `length` ids are masked: at least one."""
    return min(max_predictions_per_seq, max(1, round(length * masked_lm_prob)))


def _words(candidates, continues):
    """Groups positions into words. A "##" piece joins the group before it even across [SEP], as in the
    original: truncation may have cut its own word's beginning off."""
    words = []
    for position, is_continuation in zip(candidates, continues, strict=True):
        if is_continuation and words:
            words[-1].append(position)
        else:
            words.append([position])
    return words


def _positions_of_words(words, count):
    """Positions of whole words in order, skipping a word that would make them more than `count`."""
    positions = []
    for word in words:
        if len(positions) == count:
            break
        if len(positions) + len(word) <= count:
            positions += word
    return positions
