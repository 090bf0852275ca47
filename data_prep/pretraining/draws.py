"""The random draws of instances: which sentences make a pair, what of them is cut off, which pieces are masked.

`draw_pairs` runs in two ways that give the same numbers: as the plain Python that it is, and compiled
(`CompiledDraws`), six times as fast. What draws is RandomDraws in the one, in the other an array with its state,
which there has the same methods. All of it is in this one file: see data_prep.compiled.

It follows the original's `create_instances_from_document` and `create_masked_lm_predictions`, draw by draw: 15 % of the
positions (`masked_lm_prob`), counted with [CLS] and both [SEP]; of these 80 % become [MASK], 10 % stay, 10 % become a
random piece, drawn for each piece also when whole words are masked.
"""

import functools
import random
from typing import NamedTuple

import numpy as np

from data_prep.compiled import compiled, numba_module

KEEP = -1  # in place of a replacement's id: the piece stays as it is
RANDOM_DOCUMENT_TRIES = 10  # of the original's create_instances_from_document
STATE_WORDS = 624  # of the Mersenne Twister MT19937
SHIFT_WORDS = 397


class RandomDraws(random.Random):
    """`random.Random` with `shuffle` and `randint` written out over `getrandbits`.

    Python's own versions reach `getrandbits` through two more calls a draw, which took most of the time of
    making pre-training instances. Results and the state afterwards equal those of
    `random.Random` for the same seed, so records made with either are the same. What both compute: a number
    below n is the first of `getrandbits(n.bit_length())`, drawn again and again, that is below n.
    """

    def shuffle(self, items):
        """Shuffles a list or an array in place."""
        getrandbits = self.getrandbits
        top = len(items) - 1
        while top > 0:
            bits = (top + 1).bit_length()
            bottom = max(1, (1 << (bits - 1)) - 1)
            for i in range(top, bottom - 1, -1):  # every i + 1 of this range has `bits` bits
                j = getrandbits(bits)
                while j > i:
                    j = getrandbits(bits)
                items[i], items[j] = items[j], items[i]
            top = bottom - 1

    def randint(self, low, high):
        """An integer of low..high, both included; ValueError when that range is empty."""
        if high < low:
            raise ValueError(f"no integer is at least {low} and at most {high}")
        return low + self.up_to(high - low)

    def up_to(self, last):
        """An integer of 0..last, both included; `last` must not be negative."""
        bits = (last + 1).bit_length()
        draw = self.getrandbits(bits)
        while draw > last:
            draw = self.getrandbits(bits)
        return draw


class Text(NamedTuple):
    """What the draws look at of a corpus.

    Attributes:
      sentence_starts, document_starts: as Corpus's.
      documents: numbers of all documents, in the order in which they are gone through.
      continues: for each token whether it goes on with a word, "##..."; of no item unless whole words are masked.
    """

    sentence_starts: np.ndarray
    document_starts: np.ndarray
    documents: np.ndarray
    continues: np.ndarray


class Rules(NamedTuple):
    """What the draws follow.

    Attributes:
      max_tokens: most tokens of a pair.
      short_seq_prob: probability that the pairs of a document are of one lower number.
      numbers_to_predict: for each length of a packed sequence how many of its pieces are masked; all 0 for no masks.
      whole_words: whether words are masked whole.
      mask_id: of [MASK].
      last_id: a random piece is one from 0 to this, both included.
    """

    max_tokens: int
    short_seq_prob: float
    numbers_to_predict: np.ndarray
    whole_words: bool
    mask_id: int
    last_id: int


class Drawn(NamedTuple):
    """Where pairs are put, and room to work in; pairs and masks are counted by `draw_pairs`.

    Attributes:
      spans: four numbers a pair: start and stop of its first part, start and stop of its second, in the tokens.
      is_random_next: of each pair, whether the second part comes from another place.
      mask_counts: of each pair, how many masks it has.
      mask_positions, mask_replacements: of each mask, in the order in which they are drawn, its position in the packed
        sequence ([CLS] a [SEP] b [SEP]), and the id that stands there in the input, or KEEP.
      word_starts: 0, 1, 2, ..., one item more than a packed sequence has; changed where words are masked whole.
    """

    spans: np.ndarray
    is_random_next: np.ndarray
    mask_counts: np.ndarray
    mask_positions: np.ndarray
    mask_replacements: np.ndarray
    word_starts: np.ndarray


def draw_pairs(rng, place, text, rules, drawn):
    """Draws pairs, each followed by its masks, of the documents from `text.documents[place]` on.

    Sentences are gathered until they fill a sequence, then cut in two at a random sentence. Half of the time the second
    part is replaced by a random place's sentences, and its own are used again for the next pair.

    Args:
      rng: RandomDraws; compiled, its state.
      place: of the first document.
      text: Text; rules: Rules; drawn: Drawn, which is filled from the beginning. Its items are as array.array's
        or a memoryview's; compiled, all are arrays.

    Returns:
      (place, num_pairs, num_masks): the first document that is left, for whose pairs there might have been no room, or
      the number of documents; the pairs and masks drawn.
    """
    num_pairs = num_masks = 0
    while place < len(text.documents):
        first = text.document_starts[text.documents[place]]
        end = text.document_starts[text.documents[place] + 1]
        if num_pairs + end - first > len(drawn.is_random_next):  # no pair has less than a sentence
            break
        target = rules.max_tokens
        if rng.random() < rules.short_seq_prob:
            target = rng.randint(2, rules.max_tokens)
        while first < end:
            span, is_random_next, first = draw_pair(rng, place, text, first, end, target)
            span = draw_truncated(rng, span, rules.max_tokens)
            for i in range(4):
                drawn.spans[4 * num_pairs + i] = span[i]
            drawn.is_random_next[num_pairs] = is_random_next
            num_drawn = draw_masks(rng, span, text, rules, drawn, num_masks)
            drawn.mask_counts[num_pairs] = num_drawn
            num_masks += num_drawn
            num_pairs += 1
        place += 1
    return place, num_pairs, num_masks


def draw_pair(rng, place, text, first, end, target):
    """Draws the next pair of a document, whose sentences from `first` to `end` - 1 are left.

    Returns:
      (span, is_random_next, first): ranges of the tokens, which may be more than `target`; the sentence with which the
      next pair begins.
    """
    starts = text.sentence_starts
    stop = first_filled(starts, first, end, target)
    middle = first + (rng.randint(1, stop - first - 1) if stop - first > 1 else 1)
    is_random_next = stop - first == 1 or rng.random() < 0.5
    if is_random_next:
        b_target = target - (starts[middle] - starts[first])
        b_first, b_stop = draw_sentences(rng, place, text, b_target)
        following = middle
    else:
        b_first, b_stop = middle, stop
        following = stop
    return (starts[first], starts[middle], starts[b_first], starts[b_stop]), is_random_next, following


def first_filled(starts, first, end, target):
    """The lowest stop for which sentences first to stop - 1 hold `target` tokens, `end` if they never do."""
    stop = first + 1
    while stop < end and starts[stop] - starts[first] < target:
        stop += 1
    return stop


def draw_sentences(rng, place, text, target):
    """First and stop of sentences of another document, if ten tries find one, that hold `target` tokens."""
    other = place
    for _ in range(RANDOM_DOCUMENT_TRIES):
        other = rng.randint(0, len(text.documents) - 1)
        if other != place:
            break
    document_start = text.document_starts[text.documents[other]]
    document_end = text.document_starts[text.documents[other] + 1]
    first = document_start + rng.randint(0, document_end - document_start - 1)
    return first, first_filled(text.sentence_starts, first, document_end, target)


def draw_truncated(rng, span, max_tokens):
    """Takes tokens off the longer part's front or back, one random draw each, until both fit."""
    a_start, a_stop, b_start, b_stop = span
    while a_stop - a_start + b_stop - b_start > max_tokens:
        from_front = rng.random() < 0.5
        if a_stop - a_start > b_stop - b_start:
            a_start, a_stop = (a_start + 1, a_stop) if from_front else (a_start, a_stop - 1)
        else:
            b_start, b_stop = (b_start + 1, b_stop) if from_front else (b_start, b_stop - 1)
    return a_start, a_stop, b_start, b_stop


def draw_masks(rng, span, text, rules, drawn, start):
    """Draws the masks of a pair: whole words in random order, passing over each that would make the pieces too many.

    A piece is a word of its own unless whole words are masked.

    Returns:
      How many masks stand from item `start` on.
    """
    length_a, length_b = span[1] - span[0], span[3] - span[2]
    number = rules.numbers_to_predict[length_a + length_b + 3]
    if not number:
        return 0
    num_words = length_a + length_b
    if rules.whole_words:
        num_words = find_words(span, text, drawn.word_starts)
    order = list(range(num_words))
    rng.shuffle(order)
    count = 0
    for i in range(num_words):
        if count == number:
            break
        first, stop = drawn.word_starts[order[i]], drawn.word_starts[order[i] + 1]
        if count + stop - first <= number:
            for j in range(first, stop):
                drawn.mask_positions[start + count] = j + 1 if j < length_a else j + 2
                count += 1
    for i in range(start, start + count):
        replacement = rules.mask_id
        if rng.random() >= 0.8:
            replacement = KEEP if rng.random() < 0.5 else rng.randint(0, rules.last_id)
        drawn.mask_replacements[i] = replacement
    return count


def find_words(span, text, starts):
    """Fills `starts` with the place of each word's first piece among those of a pair, and the end; returns how many.

    A "##" piece joins the word before it even across [SEP], as in the original: truncation may have cut its own word's
    beginning off.
    """
    length_a, length_b = span[1] - span[0], span[3] - span[2]
    num_words = 0
    for i in range(length_a + length_b):
        token = span[0] + i if i < length_a else span[2] + i - length_a
        if not (num_words and text.continues[token]):
            starts[num_words] = i
            num_words += 1
    starts[num_words] = length_a + length_b
    return num_words


def shuffle(rng, items):
    """Shuffles `items` in place; for an array of a state, which has the method only in compiled functions."""
    rng.shuffle(items)


def next_word(state):
    """The next 32 random bits, a number, of a Mersenne Twister's state: int64 array of its words and a place."""
    if state[STATE_WORDS] >= STATE_WORDS:
        for i in range(STATE_WORDS):
            mixed = state[i] & 0x80000000 | state[(i + 1) % STATE_WORDS] & 0x7FFFFFFF
            state[i] = state[(i + SHIFT_WORDS) % STATE_WORDS] ^ mixed >> 1 ^ (mixed & 1) * 0x9908B0DF
        state[STATE_WORDS] = 0
    word = state[state[STATE_WORDS]]
    state[STATE_WORDS] += 1
    word ^= word >> 11
    word ^= word << 7 & 0x9D2C5680
    word ^= word << 15 & 0xEFC60000
    return word ^ word >> 18


def state_getrandbits(state, bits):
    """As random.Random's, for 1 to 32 bits."""
    return next_word(state) >> 32 - bits


def state_random(state):
    """As random.Random's: 53 random bits as a number of [0, 1)."""
    high = next_word(state) >> 5
    return (high * 67108864.0 + (next_word(state) >> 6)) * (1.0 / 9007199254740992.0)


def state_randint(state, low, high):
    """As RandomDraws'; a draw of more than 32 bits it cannot make."""
    return low + state.up_to(high - low)


def bit_length(number):
    """As int's, of a number that is not negative."""
    bits = 0
    while number >> bits:
        bits += 1
    return bits


class PlainDraws:
    """The draws in plain Python, from a RandomDraws, which is advanced. Arrays are NumPy's."""

    def __init__(self, rng):
        self._rng = rng

    def shuffle(self, items):
        """Shuffles an array in place."""
        self._rng.shuffle(memoryview(items))

    def draw_pairs(self, place, text, rules, drawn):
        """Does what the function of this name does."""
        # Taking an item is faster of a memoryview than of an array, and gives an int.
        rules = rules._replace(numbers_to_predict=memoryview(rules.numbers_to_predict))
        return draw_pairs(self._rng, place, Text(*map(memoryview, text)), rules, Drawn(*map(memoryview, drawn)))


class CompiledDraws:
    """The same draws, compiled."""

    def __init__(self, rng):
        self._rng = rng
        _give_states_methods()

    def shuffle(self, items):
        """Shuffles an array in place."""
        self._run(compiled(shuffle), items)

    def draw_pairs(self, place, text, rules, drawn):
        """Does what the function of this name does."""
        return self._run(compiled(draw_pairs, draw_pair, first_filled, draw_sentences, draw_truncated, draw_masks,
                                  find_words), place, text, rules, drawn)

    def _run(self, function, *arguments):
        version, words, gauss = self._rng.getstate()
        state = np.array(words)
        result = function(state, *arguments)
        self._rng.setstate((version, tuple(state.tolist()), gauss))
        return result


@functools.cache
def _give_states_methods():
    """Gives arrays, in compiled functions, the methods of RandomDraws, and integers theirs."""
    numba = numba_module()
    numba.extending.register_jitable(next_word)

    @numba.extending.overload_method(numba.types.Integer, "bit_length")
    def _(number):
        return bit_length

    @numba.extending.overload_method(numba.types.Array, "getrandbits")
    def _(state, bits):
        return state_getrandbits

    @numba.extending.overload_method(numba.types.Array, "random")
    def _(state):
        return state_random

    @numba.extending.overload_method(numba.types.Array, "up_to")
    def _(self, last):
        return RandomDraws.up_to

    @numba.extending.overload_method(numba.types.Array, "randint")
    def _(state, low, high):
        return state_randint

    @numba.extending.overload_method(numba.types.Array, "shuffle")
    def _(self, items):
        return RandomDraws.shuffle
