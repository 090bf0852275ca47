"""Several sequences in a record, so that little of it is padding.

Shortest-pack-first histogram packing (Krell et al.: Efficient sequence packing without cross-contamination,
arXiv:2107.02027): sequences of one length are interchangeable, so packs are made of lengths, longest first, each added
to the emptiest kind of pack that has room for it. That takes a time that depends on the longest length alone.
"""

import collections
import dataclasses
import heapq
import itertools

import numpy as np

from data_prep.pretraining.instances import masking


def pack(instances, settings, sampler):
    """Instances with their records packed.

    Args:
      instances: Instances, one a record.
      settings: InstanceSettings: lengths, predictions and `max_sequences_per_pack` bound a pack.
      sampler: Sampler, which shuffles the records.

    Returns:
      Instances: the same, in an order in which those of a record are neighbours.
    """
    in_order = instances.order
    lengths = instances.lengths[in_order]
    by_length = np.argsort(lengths, kind="stable")
    counts = np.bincount(lengths, minlength=settings.max_seq_length + 1)
    kinds = packs_of_lengths(counts, masking.numbers_to_predict(settings), settings.max_seq_length,
                             settings.max_predictions_per_seq, settings.max_sequences_per_pack)
    next_of_length = np.concatenate([[0], np.cumsum(counts)])[:-1]
    records = []
    for kind, count in kinds:
        # Of each length the next sequences, a row for each pack; a length that a pack has twice takes turns.
        times = collections.Counter(kind)
        rows = np.empty((count, len(kind)), np.int64)
        column = 0
        for length, repeats in times.items():
            first = next_of_length[length]
            next_of_length[length] += count * repeats
            rows[:, column:column + repeats] = by_length[first:first + count * repeats].reshape(count, repeats)
            column += repeats
        records.extend(rows)
    order = np.arange(len(records), dtype=np.uint32)
    sampler.shuffle(order)
    records = [records[number] for number in order.tolist()]
    starts = np.fromiter(itertools.accumulate(map(len, records), initial=0), np.uint32, len(records) + 1)
    return dataclasses.replace(instances, order=in_order[np.concatenate(records)], record_starts=starts)


def packs_of_lengths(counts, numbers_to_predict, most_ids, most_predictions, most_sequences):
    """Packs for a histogram of lengths.

    Args:
      counts: of each length from 0 to `most_ids`, how many sequences there are.
      numbers_to_predict: of each length, the most masked positions of a sequence.
      most_ids, most_predictions, most_sequences: of a pack.

    Returns:
      List of (lengths of a pack, a tuple, falling; how many such packs there are).
    """
    open_kinds, finished = collections.Counter(), collections.Counter()  # lengths of a pack -> packs
    emptiest = []  # heap of (ids, lengths) of the open kinds, and of some that are no more

    def add(kind, count):
        if len(kind) == most_sequences or sum(kind) == most_ids:
            finished[kind] += count
        elif count:
            open_kinds[kind] += count
            heapq.heappush(emptiest, (sum(kind), kind))

    def predictions(kind):
        return sum(numbers_to_predict[length] for length in kind)

    for length in range(most_ids, 0, -1):
        left, passed_over = int(counts[length]), []
        while left:
            if not emptiest or emptiest[0][0] + length > most_ids:  # nor has any other room
                of_one = max(1, min(most_ids // length, most_sequences,
                                    most_predictions // max(1, numbers_to_predict[length])))
                opened = -(-left // of_one)
                add((length,), opened)
                left -= opened
                continue
            _, kind = heapq.heappop(emptiest)
            count = open_kinds.pop(kind, 0)
            if predictions((*kind, length)) > most_predictions:
                passed_over.append((kind, count))
                continue
            taken = min(left, count)
            add((*kind, length), taken)
            add(kind, count - taken)
            left -= taken
        for kind, count in passed_over:
            add(kind, count)
    return [(kind, count) for kind, count in [*finished.items(), *open_kinds.items()] if count]
