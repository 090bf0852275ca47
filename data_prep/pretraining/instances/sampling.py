"""Random sampling of the sentences of pairs, the truncated tokens, and the masked tokens.

The functions are compiled together, so they are all in this file: see data_prep.compilation.

The functions follow the original BERT's `create_instances_from_document` and
`create_masked_lm_predictions` sample by sample: they select 15% of the positions
(`masked_lm_prob`), counted with [CLS] and both [SEP]. Among these, 80% become [MASK]
(`mask_fraction`), 10% become a random token (`random_fraction`), and 10% stay unchanged, sampled
per token even if whole words are masked.

In all functions, `state` is a Mersenne Twister MT19937 as in Python, int64 [1249]: its 624 words,
the position of the next output, and 624 outputs, computed together so that the compiler uses vector
instructions.
"""

import random
from typing import NamedTuple

import numpy as np

from data_prep.compilation import compiled

KEEP = -1  # Instead of a replacement's ID: the token stays unchanged.
RANDOM_DOCUMENT_TRIES = 10  # As in the original BERT's create_instances_from_document.
STATE_WORDS = 624  # Size of the state of the Mersenne Twister MT19937.
SHIFT_WORDS = 397


class PairSpan(NamedTuple):
    """Start and stop of both parts of a pair in the tokens, four int."""

    a_start: int
    a_stop: int
    b_start: int
    b_stop: int


class SampledPair(NamedTuple):
    """A pair, and the first sentence of the next one.

    Attributes:
      span: PairSpan. Can have more tokens than the pair may have.
      label: bool. Whether the second part comes from another document, or the parts are swapped.
      following: int. First sentence of the next pair.
    """

    span: PairSpan
    label: bool
    following: int


class SampledCounts(NamedTuple):
    """Counts of the pairs that `sample_pairs` sampled.

    Attributes:
      document: int. Index of the first remaining document, whose pairs might not fit into the
        buffers, or the number of documents.
      num_pairs: int. Number of pairs.
      num_masks: int. Number of masks in all of them.
    """

    document: int
    num_pairs: int
    num_masks: int


def create_random_state(seed):
    """Creates the state, int64 [1249], with the random numbers of `random.Random(seed)`."""
    words = random.Random(seed).getstate()[1]  # The position is at the end: no output is left.
    return np.concatenate([words, np.zeros(STATE_WORDS, np.int64)])


@compiled
def sample_pairs(state, document, text, rules, buffers):
    """Samples pairs, each followed by its masks, from the documents that begin at `document`.

    Sentences are collected until they fill a sequence, then split at a random sentence. At least
    half of the time, sentences of a random document replace the second part, whose sentences then
    begin the next pair. If `rules.swaps`, the two parts are swapped half of the time instead.

    Args:
      state: See the module.
      document: int. Index of the first document in `text.documents`.
      text: Text.
      rules: Rules.
      buffers: InstanceBuffers, filled from the beginning.

    Returns:
      SampledCounts.
    """
    num_pairs = num_masks = 0
    while document < len(text.documents):
        first = text.document_starts[text.documents[document]]
        end = text.document_starts[text.documents[document] + 1]
        if num_pairs + end - first > len(buffers.labels):  # A pair has at least one sentence.
            break
        target = rules.max_tokens
        if random_fraction(state) < rules.short_seq_prob:
            target = random_integer(state, 2, rules.max_tokens)
        while first < end:
            if rules.swaps:
                pair = sample_swapped_pair(state, text, first, end, target)
            else:
                pair = sample_pair(state, document, text, first, end, target)
            first = pair.following
            span = pair.span
            # A single token cannot be split.
            if rules.swaps and (span.a_start == span.a_stop or span.b_start == span.b_stop):
                continue
            span = truncate_pair(state, span, rules.max_tokens)
            for i in range(4):
                buffers.parts[4 * num_pairs + i] = span[i]
            buffers.labels[num_pairs] = pair.label
            count = sample_masks(state, 2 * num_pairs, 2, text, rules, buffers, num_masks)
            buffers.mask_counts[num_pairs] = count
            num_masks += count
            num_pairs += 1
        document += 1
    return SampledCounts(document, num_pairs, num_masks)


@compiled
def sample_all_masks(state, part_starts, text, rules, buffers):
    """Samples the masks of existing instances.

    Instance i has the parts part_starts[i] to part_starts[i + 1] - 1.

    The other arguments are the same as in `sample_pairs`, with `buffers.parts` already filled.

    Returns:
      The number of masks.
    """
    num_masks = 0
    for i in range(len(part_starts) - 1):
        first = part_starts[i]
        count = sample_masks(
            state, first, part_starts[i + 1] - first, text, rules, buffers, num_masks
        )
        buffers.mask_counts[i] = count
        num_masks += count
    return num_masks


def sample_pair(state, document, text, first, end, target):
    """Samples the next pair of a document, from its remaining sentences `first` to `end` - 1.

    Returns:
      SampledPair, which can have more than `target` tokens.
    """
    starts = text.sentence_starts
    stop = find_stop(starts, first, end, target)
    middle = first + (random_integer(state, 1, stop - first - 1) if stop - first > 1 else 1)
    is_random_next = stop - first == 1 or random_fraction(state) < 0.5
    if is_random_next:
        b_target = target - (starts[middle] - starts[first])
        b_first, b_stop = sample_sentences(state, document, text, b_target)
        following = middle
    else:
        b_first = middle
        b_stop = stop
        following = stop
    span = PairSpan(starts[first], starts[middle], starts[b_first], starts[b_stop])
    return SampledPair(span, is_random_next, following)


def sample_swapped_pair(state, text, first, end, target):
    """Samples the next two consecutive parts of a document, in either order.

    If a sentence fills a sequence or is the last one, splits the sentence. A part of a sentence
    with a single token is empty.

    Returns:
      SampledPair. See `sample_pair`.
    """
    starts = text.sentence_starts
    stop = find_stop(starts, first, end, target)
    middle = starts[first]
    if stop - first > 1:
        middle = starts[first + random_integer(state, 1, stop - first - 1)]
    elif starts[stop] - starts[first] > 1:
        middle = starts[first] + random_integer(state, 1, starts[stop] - starts[first] - 1)
    is_swapped = random_fraction(state) < 0.5
    if is_swapped:
        span = PairSpan(middle, starts[stop], starts[first], middle)
    else:
        span = PairSpan(starts[first], middle, middle, starts[stop])
    return SampledPair(span, is_swapped, stop)


def find_stop(starts, first, end, target):
    """Returns the lowest stop for which sentences `first` to stop - 1 fill `target`, or `end`."""
    stop = first + 1
    while stop < end and starts[stop] - starts[first] < target:
        stop += 1
    return stop


def sample_sentences(state, document, text, target):
    """Samples first and stop of sentences with `target` tokens from another document.

    They come from document `document` itself if ten tries find no other one.
    """
    other = document
    for _ in range(RANDOM_DOCUMENT_TRIES):
        other = random_integer(state, 0, len(text.documents) - 1)
        if other != document:
            break
    document_start = text.document_starts[text.documents[other]]
    document_end = text.document_starts[text.documents[other] + 1]
    first = document_start + random_integer(state, 0, document_end - document_start - 1)
    return first, find_stop(text.sentence_starts, first, document_end, target)


def truncate_pair(state, span, max_tokens):
    """Removes tokens from the longer part, at its front or its back at random, until both fit.

    Returns:
      PairSpan.
    """
    a_start, a_stop, b_start, b_stop = span
    while a_stop - a_start + b_stop - b_start > max_tokens:
        from_front = random_fraction(state) < 0.5
        if a_stop - a_start > b_stop - b_start:
            if from_front:
                a_start += 1
            else:
                a_stop -= 1
        elif from_front:
            b_start += 1
        else:
            b_stop -= 1
    return PairSpan(a_start, a_stop, b_start, b_stop)


def sample_masks(state, first_part, num_parts, text, rules, buffers, start):
    """Samples the masks of an instance: words in random order, skipping words with too many tokens.

    Unless whole words are masked, each token counts as a word.

    Args:
      first_part, num_parts: int. The instance's parts in `buffers.parts`.
      start: int. Index of its first mask in `buffers`.

    Returns:
      The number of masks.
    """
    num_tokens = 0
    for part in range(first_part, first_part + num_parts):
        num_tokens += buffers.parts[2 * part + 1] - buffers.parts[2 * part]
    number = rules.numbers_to_predict[num_tokens + num_parts + 1]
    if not number:
        return 0
    num_words = num_tokens
    if rules.whole_words:
        num_words = find_words(first_part, num_parts, text, buffers)
    order = buffers.word_order
    for i in range(num_words):
        order[i] = i
    shuffle(state, order, num_words)
    count = 0
    for i in range(num_words):
        if count == number:
            break
        first = buffers.word_starts[order[i]]
        stop = buffers.word_starts[order[i] + 1]
        if count + stop - first <= number:
            for j in range(first, stop):
                buffers.mask_positions[start + count] = find_position(j, first_part, buffers.parts)
                count += 1
    random_ids = rules.random_ids
    for i in range(start, start + count):
        replacement = rules.mask_id
        if random_fraction(state) >= rules.mask_fraction:
            is_kept = random_fraction(state) < rules.keep_probability
            replacement = (
                KEEP if is_kept else random_ids[random_integer(state, 0, len(random_ids) - 1)]
            )
        buffers.mask_replacements[i] = replacement
    return count


def find_position(token, part, parts):
    """Returns the position of a token in its sequence, with [CLS] and each [SEP] before it."""
    position = token + 1
    stop = parts[2 * part + 1] - parts[2 * part]
    while token >= stop:
        part += 1
        position += 1
        stop += parts[2 * part + 1] - parts[2 * part]
    return position


def find_words(first_part, num_parts, text, buffers):
    """Fills `buffers.word_starts` with the index of the first token of each word, and the end.

    A "##" token joins the previous word even across [SEP], as in the original BERT: truncation may
    have removed the beginning of its word.

    Returns:
      The number of words.
    """
    num_words = num_tokens = 0
    for part in range(first_part, first_part + num_parts):
        for token in range(buffers.parts[2 * part], buffers.parts[2 * part + 1]):
            if not (num_words and text.continues[token]):
                buffers.word_starts[num_words] = num_tokens
                num_words += 1
            num_tokens += 1
    buffers.word_starts[num_words] = num_tokens
    return num_words


@compiled
def shuffle_array(state, items):
    """Shuffles an array in place, like random.Random."""
    shuffle(state, items, len(items))


def shuffle(state, items, count):
    """Shuffles the first `count` items of an array in place, like random.Random."""
    top = count - 1
    while top > 0:
        bits = count_bits(top + 1)
        bottom = max(1, (1 << (bits - 1)) - 1)
        for i in range(top, bottom - 1, -1):  # Every i + 1 of this range has `bits` bits.
            j = random_bits(state, bits)
            while j > i:
                j = random_bits(state, bits)
            items[i], items[j] = items[j], items[i]
        top = bottom - 1


def random_integer(state, low, high):
    """Returns a random integer from low to high, inclusive, like `randint` of random.Random.

    The range is below 2**32.

    A number below n is the first result of repeated `random_bits(n.bit_length())` that is below n.
    """
    bits = count_bits(high - low + 1)
    number = random_bits(state, bits)
    while number > high - low:
        number = random_bits(state, bits)
    return low + number


def random_fraction(state):
    """Returns 53 random bits as a number in [0, 1), like `random` of random.Random."""
    high = next_word(state) >> 5
    return (high * 67108864.0 + (next_word(state) >> 6)) * (1.0 / 9007199254740992.0)


def random_bits(state, bits):
    """Returns 1 to 32 random bits, like `getrandbits` of random.Random."""
    return next_word(state) >> 32 - bits


def next_word(state):
    """Returns the next 32 random bits."""
    if state[STATE_WORDS] >= STATE_WORDS:
        generate_words(state)
    word = state[STATE_WORDS + 1 + state[STATE_WORDS]]
    state[STATE_WORDS] += 1
    return word


def generate_words(state):
    """Generates the next 624 outputs."""
    for i in range(STATE_WORDS):
        mixed = state[i] & 0x80000000 | state[(i + 1) % STATE_WORDS] & 0x7FFFFFFF
        state[i] = state[(i + SHIFT_WORDS) % STATE_WORDS] ^ mixed >> 1 ^ (mixed & 1) * 0x9908B0DF
    for i in range(STATE_WORDS):
        word = state[i]
        word ^= word >> 11
        word ^= word << 7 & 0x9D2C5680
        word ^= word << 15 & 0xEFC60000
        state[STATE_WORDS + 1 + i] = word ^ word >> 18
    state[STATE_WORDS] = 0


def count_bits(number):
    """Returns the `int.bit_length` of a nonnegative number."""
    bits = 0
    while number >> bits:
        bits += 1
    return bits
