"""Packing of several sequences into a record, to reduce padding.

Shortest-pack-first histogram packing (Krell et al.: Efficient sequence packing without
cross-contamination, arXiv:2107.02027): sequences of equal length are interchangeable, so packs are
built from lengths, longest first. Each length is added to the emptiest pack with space for
it. The run time depends only on the longest length. A pack has sequences of one shard.
"""

import collections
import dataclasses
import heapq
import itertools

import numpy as np

from data_prep.pretraining.instances import masking, sampling


def pack(instances, settings, state):
    """Packs the records of instances.

    Args:
      instances: Instances. One per record.
      settings: InstanceSettings. Lengths, predictions, and `max_sequences_per_pack` limit a pack.
      state: int64 [1249]. See sampling. The records are shuffled.

    Returns:
      Instances. The same, in an order in which the sequences of a record are adjacent.
    """
    in_order = instances.order
    lengths = instances.lengths[in_order]
    by_length = np.argsort(lengths, kind="stable")
    counts = np.bincount(lengths, minlength=settings.max_seq_length + 1)
    numbers = (
        [0] * len(counts)
        if settings.objective_spec.predicts_next
        else masking.numbers_to_predict(settings)
    )
    packs = compute_packs(
        counts,
        numbers,
        settings.max_seq_length,
        settings.max_predictions_per_seq,
        settings.max_sequences_per_pack,
    )
    next_of_length = np.concatenate([[0], np.cumsum(counts)])[:-1]
    records = []
    for pack_lengths, count in packs:
        # One row per pack with the next sequences of each length. A pack can have several of the
        # same length.
        times = collections.Counter(pack_lengths)
        rows = np.empty((count, len(pack_lengths)), np.int64)
        column = 0
        for length, repeats in times.items():
            first = next_of_length[length]
            next_of_length[length] += count * repeats
            rows[:, column : column + repeats] = by_length[first : first + count * repeats].reshape(
                count, repeats
            )
            column += repeats
        records.extend(rows)
    order = np.arange(len(records), dtype=np.uint32)
    sampling.shuffle_array(state, order)
    records = [records[number] for number in order.tolist()]
    starts = np.fromiter(
        itertools.accumulate(map(len, records), initial=0), np.uint32, len(records) + 1
    )
    return dataclasses.replace(
        instances, order=in_order[np.concatenate(records)], record_starts=starts
    )


def compute_packs(counts, numbers_to_predict, max_ids, max_predictions, max_sequences):
    """Computes packs for a histogram of lengths.

    Args:
      counts: Array. Number of sequences of each length from 0 to `max_ids`.
      numbers_to_predict: Sequence of int. Maximum number of masked positions for each length.
      max_ids, max_predictions, max_sequences: int. Limits of a pack.

    Returns:
      List of (tuple of the lengths in a pack, descending; number of such packs).
    """
    # Lengths of a pack -> number of packs.
    open_packs = collections.Counter()
    finished = collections.Counter()
    emptiest = []  # Heap of (IDs, lengths) of the open packs, and of some closed ones.

    def add(lengths, count):
        if len(lengths) == max_sequences or sum(lengths) == max_ids:
            finished[lengths] += count
        elif count:
            open_packs[lengths] += count
            heapq.heappush(emptiest, (sum(lengths), lengths))

    def predictions(lengths):
        return sum(numbers_to_predict[length] for length in lengths)

    for length in range(max_ids, 0, -1):
        left = int(counts[length])
        rejected = []
        while left:
            # Then no other pack has space either.
            if not emptiest or emptiest[0][0] + length > max_ids:
                per_pack = max(
                    1,
                    min(
                        max_ids // length,
                        max_sequences,
                        max_predictions // max(1, numbers_to_predict[length]),
                    ),
                )
                opened = -(-left // per_pack)
                add((length,), opened)
                left -= opened
                continue
            _, lengths = heapq.heappop(emptiest)
            count = open_packs.pop(lengths, 0)
            if predictions((*lengths, length)) > max_predictions:
                rejected.append((lengths, count))
                continue
            taken = min(left, count)
            add((*lengths, length), taken)
            add(lengths, count - taken)
            left -= taken
        for lengths, count in rejected:
            add(lengths, count)
    return [
        (lengths, count) for lengths, count in [*finished.items(), *open_packs.items()] if count
    ]
