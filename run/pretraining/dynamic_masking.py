"""Dynamic masking: masks sampled during training, new in each epoch.

See RoBERTa (arXiv:1907.11692, section 4.1). The distribution is the same as in
`create_masked_lm_predictions` of the original BERT, which data_prep.pretraining.instances.masking
samples record by record. Here a batch is masked at once, in graph ops for `tf.data`.

Shape legend: B batch, S sequence, K sequences of a packed row, P positions, V vocabulary.
"""

from typing import NamedTuple

import tensorflow as tf

from data_prep.pretraining.instances import masking

# SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014), with
# Stafford's mixer 13.
GAMMA = 0x9E3779B97F4A7C15
MULTIPLIERS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SHIFTS = 30, 27, 31
TOO_MANY_MASKS = (
    "a record requires more masked tokens for its sequences than `max_predictions_per_seq`; set "
    "`max_predictions_per_seq` and `masked_lm_prob` as for create_pretraining_data"
)


def make_masker(settings, vocabulary, seed):
    """Creates the function that masks batches.

    Args:
      settings: data_prep.pretraining.instances.RecordSettings. Uses max_seq_length,
        max_predictions_per_seq, masked_lm_prob, do_whole_word_mask, mask_fraction, and
        random_fraction.
      vocabulary: data_prep.pretraining.instances.masking.Vocabulary.
      seed: int. Determines a record's masks, together with its epoch and number.

    Returns:
      Graph function (features, epochs, numbers) -> features. The input features are int32 [B, S] of
      data_prep.records.unmasked_pretraining_features, packed or not. `epochs` and `numbers`, int64
      [B], are the epoch of each record and its number in the epoch. In the result, "input_ids" is
      masked. It also has "masked_lm_positions" and "masked_lm_ids", int32 [B, P], in ascending
      order of position, padded with 0, and "masked_lm_weights", float32 [B, P], 1 for predictions,
      0 for padding. If the sequences of a pack have more than P masks in total, it raises
      tf.errors.InvalidArgumentError with TOO_MANY_MASKS.
    """
    num_predictions = settings.max_predictions_per_seq
    numbers_to_predict = tf.constant(masking.numbers_to_predict(settings))

    def choose(input_ids, is_real, random_numbers):
        """Returns positions to mask and which are valid, [B, P].

        The positions are int32, ascending, and padded with 0.
        """
        counts = tf.gather(numbers_to_predict, tf.reduce_sum(tf.cast(is_real, tf.int32), axis=1))
        is_candidate = is_real & (input_ids != vocabulary.cls_id) & (input_ids != vocabulary.sep_id)
        begins_word = is_candidate
        if settings.do_whole_word_mask:
            begins_word &= ~_continues_word(input_ids, is_candidate, vocabulary)
        return _choose_words(is_candidate, begins_word, counts, num_predictions, random_numbers)

    def mask(features, epochs, numbers):
        """See `make_masker`."""
        input_ids = features["input_ids"]
        input_mask = features["input_mask"]
        random_numbers = _RandomNumbers(seed, epochs, numbers)
        if settings.pack_sequences:
            positions, is_masked = _choose_in_packs(
                choose, settings, seed, features, epochs, numbers
            )
        else:
            positions, is_masked = choose(input_ids, input_mask == 1, random_numbers)
        masked_ids = tf.gather(input_ids, positions, batch_dims=1)
        replacements = _sample_replacements(masked_ids, vocabulary, settings, random_numbers)
        replacements = tf.where(is_masked, replacements, masked_ids)
        return {
            **features,
            "input_ids": _replace_tokens(input_ids, positions, replacements),
            "masked_lm_positions": positions,
            "masked_lm_ids": tf.where(is_masked, masked_ids, 0),
            "masked_lm_weights": tf.cast(is_masked, tf.float32),
        }

    return mask


def _choose_in_packs(choose, settings, seed, features, epochs, numbers):
    """Applies `choose` of `make_masker` to packs: each sequence is masked separately.

    `features`: Dict of int32 [B, S]. Its "input_mask" has the number of each token's sequence.
    """
    input_ids = features["input_ids"]
    sequences = features["input_mask"]
    max_packed = settings.max_packed
    length = settings.max_seq_length
    num_predictions = settings.max_predictions_per_seq
    # In order of sequences: [B * K].
    which = tf.tile(tf.range(1, max_packed + 1), [tf.shape(input_ids)[0]])
    repeat = lambda values: tf.repeat(values, max_packed, axis=0)
    random_numbers = _RandomNumbers(seed, repeat(epochs), repeat(numbers), tf.cast(which, tf.int64))
    positions, is_masked = choose(
        repeat(input_ids), repeat(sequences) == which[:, tf.newaxis], random_numbers
    )
    all_positions = tf.reshape(
        tf.where(is_masked, positions, length), [-1, max_packed * num_predictions]
    )
    fits = tf.debugging.Assert(
        tf.reduce_all(
            tf.reduce_sum(tf.cast(all_positions < length, tf.int32), axis=1) <= num_predictions
        ),
        [TOO_MANY_MASKS],
    )
    with tf.control_dependencies([] if fits is None else [fits]):  # None in eager mode.
        return _pad_ascending(all_positions, length, num_predictions)


class _RandomNumbers:
    """A sequence of random numbers for each of B records.

    Item i of it does not depend on the other records.

    `numbers`: int64 [B] each: the epoch, the record's number in it, and the sequence's number in a
      pack.
    """

    def __init__(self, seed, *numbers):
        state = _mix(tf.constant(seed % 2**64, tf.uint64))
        for each in numbers:
            state = _mix(state + tf.cast(each, tf.uint64))
        self._states = state[:, tf.newaxis]

    def bits(self, indices, num_bits):
        """Returns items `indices`, int32 [B or 1, items], of each sequence.

        They are int64 [B, items], from 0 to 2^num_bits - 1.
        """
        state = self._states + tf.cast(indices + 1, tf.uint64) * tf.constant(GAMMA, tf.uint64)
        return tf.cast(
            tf.bitwise.right_shift(_mix(state), tf.constant(64 - num_bits, tf.uint64)), tf.int64
        )


def _mix(state):
    """Maps uint64 bijectively so that each bit depends on all bits."""
    for shift, multiplier in zip(SHIFTS, (*MULTIPLIERS, 1), strict=True):
        state = tf.bitwise.bitwise_xor(
            state, tf.bitwise.right_shift(state, tf.constant(shift, tf.uint64))
        )
        state *= tf.constant(multiplier, tf.uint64)
    return state


def _continues_word(input_ids, is_candidate, vocabulary):
    """Returns bool [B, S]: candidates that continue a word.

    As in data_prep's masking, the first never does.
    """
    is_first = tf.cumsum(tf.cast(is_candidate, tf.int32), axis=1) == 1
    return tf.gather(tf.constant(vocabulary.is_continuation), input_ids) & ~is_first


def _choose_words(is_candidate, begins_word, counts, num_predictions, random_numbers):
    """Samples words in random order, and skips words that would exceed the number of tokens.

    Args:
      is_candidate, begins_word: [B, S] bool. A word is a candidate that begins one, and all
        candidates up to the next.
      counts: [B] int32. Number of tokens to sample.
      num_predictions: int, P.
      random_numbers: _RandomNumbers.

    Returns:
      Positions, int32 [B, P], ascending, padded with 0, and bool [B, P], True for positions that
      are not padding.
    """
    length = is_candidate.shape[1]
    words = tf.cumsum(tf.cast(begins_word, tf.int32), axis=1)  # 1-based number of each position.
    keys = tf.where(is_candidate, random_numbers.bits(words, 62), tf.int64.max)
    sizes = tf.math.bincount(  # Tokens per word.
        words, tf.cast(is_candidate, tf.int32), minlength=length + 1, maxlength=length + 1, axis=-1
    )

    def take(num_tokens):
        """Returns the sampled positions among the first tokens, and whether these are enough.

        The result has S for each of the `num_tokens` first tokens that is not sampled.
        """
        # Tokens of a word share a random number, so sorting them sorts the words: ties stay in
        # order.
        negative_keys, order = tf.math.top_k(-keys, num_tokens)
        numbers = tf.gather(words, order, batch_dims=1)
        is_token = -negative_keys < tf.int64.max
        last = tf.where(is_token[:, -1], numbers[:, -1], 0)[:, tf.newaxis]
        if num_tokens < length:
            is_token &= numbers != last  # The word may be incomplete here.
        begins = tf.pad(numbers[:, 1:] != numbers[:, :-1], [[0, 0], [1, 0]], constant_values=True)
        is_taken = _take_words(
            tf.where(is_token, tf.gather(sizes, numbers, batch_dims=1), 0), begins, counts
        )
        is_done = (tf.reduce_sum(tf.cast(is_taken, tf.int32), axis=1) == counts) | (last[:, 0] == 0)
        return tf.where(is_taken, order, length), tf.reduce_all(is_done)

    num_first = min(num_predictions + 16, length)
    taken, is_done = take(num_first)
    positions = _pad_ascending(taken, length, num_predictions)
    if num_first < length:
        # Rare: the first tokens are not enough for some row, for example because most words are
        # long.
        positions = tf.cond(
            is_done,
            lambda: positions,
            lambda: _pad_ascending(take(length)[0], length, num_predictions),
        )
    return positions


def _pad_ascending(positions, length, num_predictions):
    """Returns the lowest P of `positions` [B, items], ascending, and which are less than `length`.

    The other ones are replaced by 0. Both results are [B, P].
    """
    num_drawn = min(num_predictions, length)
    positions = -tf.math.top_k(-positions, num_drawn).values
    positions = tf.pad(
        positions, [[0, 0], [0, num_predictions - num_drawn]], constant_values=length
    )
    is_real = positions < length
    return tf.where(is_real, positions, 0), is_real


class _Selection(NamedTuple):
    """A selection of words in progress.

    Attributes:
      room: int32 [B, 1]. Number of tokens that can still be sampled.
      is_left: bool [B, S]. Tokens that may still be sampled.
      is_taken: bool [B, S]. Sampled tokens.
    """

    room: tf.Tensor
    is_left: tf.Tensor
    is_taken: tf.Tensor


def _take_words(sizes, begins_word, counts):
    """Returns bool [B, S], True for sampled tokens.

    Each word that still fits into `counts` is sampled. Words are sampled up to the first that does
    not fit. That word and all longer ones will not fit later either, so they are dropped, and the
    loop continues with the rest. Each iteration leaves only shorter words. One or two are usually
    enough.

    Args:
      sizes: [B, S] int32. Tokens in the word of each token, which are adjacent; 0 for other
        positions.
      begins_word: [B, S] bool.
      counts: [B] int32.
    """

    def is_open(room, is_left, is_taken):
        return tf.reduce_any(is_left)

    def take(room, is_left, is_taken):
        totals = tf.cumsum(tf.where(is_left & begins_word, sizes, 0), axis=1)
        fresh = is_left & (totals <= room)
        room -= tf.reduce_sum(tf.cast(fresh, tf.int32), axis=1, keepdims=True)
        return _Selection(room, is_left & ~fresh & (sizes <= room), is_taken | fresh)

    room = counts[:, tf.newaxis]
    is_left = (sizes > 0) & (sizes <= room)
    start = _Selection(room, is_left, tf.zeros_like(is_left))
    return tf.while_loop(is_open, take, start).is_taken


def _sample_replacements(masked_ids, vocabulary, settings, random_numbers):
    """Samples replacements of IDs [B, P] with the fractions of the settings.

    A replacement is [MASK], the same ID, or any of V IDs.
    """
    indices = settings.max_seq_length + 1 + tf.range(2 * masked_ids.shape[1])[tf.newaxis]
    choices, samples = tf.split(random_numbers.bits(indices, 32), 2, axis=1)
    random_indices = tf.bitwise.right_shift(
        samples * len(vocabulary.random_ids), tf.constant(32, tf.int64)
    )
    random_ids = tf.gather(tf.constant(vocabulary.random_ids, tf.int32), random_indices)
    is_mask = choices < round(settings.mask_fraction * 2**32)
    is_random = choices >= round((1 - settings.random_fraction) * 2**32)
    return tf.where(is_mask, vocabulary.mask_id, tf.where(is_random, random_ids, masked_ids))


def _replace_tokens(input_ids, positions, replacements):
    """Writes `replacements` at `positions` [B, P] of `input_ids` [B, S].

    Padding rewrites [CLS] at position 0.
    """
    rows = tf.range(tf.shape(input_ids)[0])[:, tf.newaxis] + tf.zeros_like(positions)
    return tf.tensor_scatter_nd_update(
        input_ids, tf.stack([rows, positions], axis=-1), replacements
    )
