"""Batches with several examples per row, for devices that compute padding. Steps use the same examples as unpacked.

Each batch is packed separately, first-fit-decreasing, and has as many rows as the fullest batch of the run requires.
"""

import numpy as np
import tensorflow as tf

from run.arrays.batches import count_tokens, get_step_rows

MOST_PACKED = 12  # Maximum number of sequences per row.
PER_TOKEN = ("input_ids", "input_mask", "segment_ids")
LABELS = "label_ids"
NO_LABEL = -1  # Label of ignored positions, as in data_prep.tasks.conll.


def make_packed_batches(arrays, batch_size, seed, num_steps, *, per_position=False,
                            first_step=0, multiple=1, share):
    """Creates endless training batches: packed batches of `batches.training_batches` with static shapes.

    Args:
      arrays: Dict of arrays [n, ...], with input_ids, input_mask, segment_ids [n, S], and label_ids [n, ...].
      batch_size: int. Examples per batch.
      seed: int. Seed of the order.
      num_steps: int. Steps of the run. The fullest of their batches determines the number of rows, R.
      per_position: bool. Whether label_ids are per position, [n, S].
      first_step: int. Number of the first batch.
      multiple: int. R is a multiple of this number.
      share: HostShare. Rows of each batch to return.

    Returns:
      Dataset of dicts of R rows with up to K sequences each: input_ids, segment_ids, positions [R, S]; input_mask [R,
      S], the 1-based number of each token's sequence; label_ids [R, S] if they are per position, otherwise [R, K, ...];
      sequence_positions [R, K], the start of each sequence; sequence_weights float32 [R, K], 0 if there is no sequence.
    """
    lengths = count_tokens(arrays["input_mask"])
    width = arrays["input_mask"].shape[1]
    wide = (*PER_TOKEN, LABELS) if per_position else PER_TOKEN

    def pack_step(step):
        rows = get_step_rows(len(lengths), batch_size, seed, step)
        return [rows[pack] for pack in pack(lengths[rows], width)]

    num_rows = max(len(pack_step(step)) for step in range(num_steps))
    num_rows += -num_rows % multiple

    def batches():
        step = first_step
        while True:
            packs = pack_step(step)
            features = build_packed_features(arrays, lengths, [*packs, *[[]] * (num_rows - len(packs))], wide)
            yield {name: values[share.rows(num_rows)] for name, values in features.items()}
            step += 1

    empty = build_packed_features(arrays, lengths, [[]] * len(range(num_rows)[share.rows(num_rows)]), wide)
    signature = {name: tf.TensorSpec(values.shape, values.dtype) for name, values in empty.items()}
    return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(tf.data.AUTOTUNE)


def pack(lengths, width):
    """Packs sequences, longest first, each into the first row that has space: list of lists of their indices."""
    packs, space = [], []
    for number in np.argsort(-lengths, kind="stable"):
        length = lengths[number]
        row = next((row for row, free in enumerate(space) if free >= length and len(packs[row]) < MOST_PACKED), None)
        if row is None:
            row = len(packs)
            packs.append([])
            space.append(width)
        packs[row].append(number)
        space[row] -= length
    return packs


def build_packed_features(arrays, lengths, packs, wide):
    """Builds the features of packs, which are lists of example indices. See `make_packed_batches`.

    `wide`: Names of the features with a value for each position.
    """
    num_rows, width = len(packs), arrays["input_mask"].shape[1]
    features = {"positions": np.zeros([num_rows, width], np.int32),
                "sequence_positions": np.zeros([num_rows, MOST_PACKED], np.int32),
                "sequence_weights": np.zeros([num_rows, MOST_PACKED], np.float32)}
    for name, values in arrays.items():
        shape = [width] if name in wide else [MOST_PACKED, *values.shape[1:]]
        fill = NO_LABEL if name == LABELS and name in wide else 0
        features[name] = np.full([num_rows, *shape], fill, values.dtype)
    for row, examples in enumerate(packs):
        start = 0
        for place, example in enumerate(examples):
            here = slice(start, start + lengths[example])
            for name, values in arrays.items():
                if name in wide:
                    features[name][row, here] = values[example, :lengths[example]]
                else:
                    features[name][row, place] = values[example]
            features["input_mask"][row, here] = place + 1
            features["positions"][row, here] = range(lengths[example])
            features["sequence_positions"][row, place] = start
            features["sequence_weights"][row, place] = 1
            start = here.stop
    return features
