"""The random draws of instances: which sentences make a pair, what of them is cut off, which pieces are masked.

`draw_pairs` and `draw_all_masks` run in two ways that give the same numbers: as the plain Python that they are, and
compiled, six times as fast; see data_prep.pretraining.instances.drawing. What draws is RandomDraws in the one, in the
other an array with its state, which there has the same methods. All of it is in this one file: see data_prep.machine.

It follows the original's `create_instances_from_document` and `create_masked_lm_predictions`, draw by draw: 15 % of the
positions (`masked_lm_prob`), counted with [CLS] and both [SEP]; of these 80 % become [MASK], 10 % stay, 10 % become a
random piece, drawn for each piece also when whole words are masked.
"""

import random
from typing import NamedTuple

import numpy as np

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
      swaps: whether a pair is always of its own document, and its parts change places half of the time.
      numbers_to_predict: for each length of a sequence how many of its pieces are masked; all 0 for no masks.
      whole_words: whether words are masked whole.
      mask_id: of [MASK].
      last_id: a random piece is one from 0 to this, both included.
    """

    max_tokens: int
    short_seq_prob: float
    swaps: bool
    numbers_to_predict: np.ndarray
    whole_words: bool
    mask_id: int
    last_id: int


class Drawn(NamedTuple):
    """Where instances are put, and room to work in; parts, instances and masks are counted by who fills them.

    Attributes:
      parts: two numbers a part: start and stop in the tokens; a pair has two parts, its first and its second.
      labels: of each pair, whether its second part comes from another place, or its parts have changed places.
      mask_counts: of each instance, how many masks it has.
      mask_positions, mask_replacements: of each mask, in the order in which they are drawn, its position in the
        sequence ([CLS] a [SEP] b [SEP] and so on), and the id that stands there in the input, or KEEP.
      word_starts: 0, 1, 2, ..., one item more than a sequence has ids; changed where words are masked whole.
    """

    parts: np.ndarray
    labels: np.ndarray
    mask_counts: np.ndarray
    mask_positions: np.ndarray
    mask_replacements: np.ndarray
    word_starts: np.ndarray


def draw_pairs(rng, place, text, rules, drawn):
    """Draws pairs, each followed by its masks, of the documents from `text.documents[place]` on.

    Sentences are gathered until they fill a sequence, then cut in two at a random sentence. Half of the time the second
    part is replaced by a random place's sentences, and its own are used again for the next pair; or, where parts are
    swapped, the two change places.

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
        if num_pairs + end - first > len(drawn.labels):  # no pair has less than a sentence
            break
        target = rules.max_tokens
        if rng.random() < rules.short_seq_prob:
            target = rng.randint(2, rules.max_tokens)
        while first < end:
            if rules.swaps:
                span, label, first = draw_swapped_pair(rng, text, first, end, target)
                if span[0] == span[1] or span[2] == span[3]:  # a single token cannot be cut in two
                    continue
            else:
                span, label, first = draw_pair(rng, place, text, first, end, target)
            span = draw_truncated(rng, span, rules.max_tokens)
            for i in range(4):
                drawn.parts[4 * num_pairs + i] = span[i]
            drawn.labels[num_pairs] = label
            num_drawn = draw_masks(rng, 2 * num_pairs, 2, text, rules, drawn, num_masks)
            drawn.mask_counts[num_pairs] = num_drawn
            num_masks += num_drawn
            num_pairs += 1
        place += 1
    return place, num_pairs, num_masks


def draw_all_masks(rng, part_starts, text, rules, drawn):
    """Draws the masks of instances that are there: instance i has the parts part_starts[i] to part_starts[i + 1] - 1.

    Arguments otherwise as `draw_pairs`' ; of `drawn`, `parts` is filled.

    Returns:
      The number of masks drawn.
    """
    num_masks = 0
    for i in range(len(part_starts) - 1):
        first = part_starts[i]
        num_drawn = draw_masks(rng, first, part_starts[i + 1] - first, text, rules, drawn, num_masks)
        drawn.mask_counts[i] = num_drawn
        num_masks += num_drawn
    return num_masks


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


def draw_swapped_pair(rng, text, first, end, target):
    """Draws the next two consecutive parts of a document, in one order or the other.

    A single sentence that fills a sequence, or is all that is left, is cut in two.

    Returns:
      (span, is_swapped, first), as draw_pair.
    """
    starts = text.sentence_starts
    stop = first_filled(starts, first, end, target)
    middle = starts[first]
    if stop - first > 1:
        middle = starts[first + rng.randint(1, stop - first - 1)]
    elif starts[stop] - starts[first] > 1:
        middle = starts[first] + rng.randint(1, starts[stop] - starts[first] - 1)
    is_swapped = rng.random() < 0.5
    if is_swapped:
        return (middle, starts[stop], starts[first], middle), is_swapped, stop
    return (starts[first], middle, middle, starts[stop]), is_swapped, stop


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


def draw_masks(rng, first_part, num_parts, text, rules, drawn, start):
    """Draws the masks of an instance: whole words in random order, passing over each that would be too many pieces.

    A piece is a word of its own unless whole words are masked.

    Args:
      first_part, num_parts: the instance's parts in `drawn.parts`.
      start: where in `drawn` its masks are put.

    Returns:
      How many masks stand from item `start` on.
    """
    num_tokens = 0
    for part in range(first_part, first_part + num_parts):
        num_tokens += drawn.parts[2 * part + 1] - drawn.parts[2 * part]
    number = rules.numbers_to_predict[num_tokens + num_parts + 1]
    if not number:
        return 0
    num_words = num_tokens
    if rules.whole_words:
        num_words = find_words(first_part, num_parts, text, drawn)
    order = list(range(num_words))
    rng.shuffle(order)
    count = 0
    for i in range(num_words):
        if count == number:
            break
        first, stop = drawn.word_starts[order[i]], drawn.word_starts[order[i] + 1]
        if count + stop - first <= number:
            for j in range(first, stop):
                drawn.mask_positions[start + count] = position_of(j, first_part, drawn.parts)
                count += 1
    for i in range(start, start + count):
        replacement = rules.mask_id
        if rng.random() >= 0.8:
            replacement = KEEP if rng.random() < 0.5 else rng.randint(0, rules.last_id)
        drawn.mask_replacements[i] = replacement
    return count


def position_of(token, part, parts):
    """Where the token of this number, of those from `part` on, stands: after [CLS] and a [SEP] for each part before."""
    position, stop = token + 1, parts[2 * part + 1] - parts[2 * part]
    while token >= stop:
        part += 1
        position += 1
        stop += parts[2 * part + 1] - parts[2 * part]
    return position


def find_words(first_part, num_parts, text, drawn):
    """Fills `drawn.word_starts` with the place of each word's first piece among those of an instance, and the end.

    A "##" piece joins the word before it even across [SEP], as in the original: truncation may have cut its own word's
    beginning off.

    Returns:
      The number of words.
    """
    num_words = num_tokens = 0
    for part in range(first_part, first_part + num_parts):
        for token in range(drawn.parts[2 * part], drawn.parts[2 * part + 1]):
            if not (num_words and text.continues[token]):
                drawn.word_starts[num_words] = num_tokens
                num_words += 1
            num_tokens += 1
    drawn.word_starts[num_words] = num_tokens
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
