"""Input pipelines from records to batches of features.

The order of the data is a function of the seed and the epoch, so a run that resumes at step k uses
the same examples as an uninterrupted run. It skips whole epochs without reading them, and the rest
without parsing.

Shape legend: B batch, S sequence.
"""

import tensorflow as tf

from bert_tf.files import is_remote
from data_prep import records
from run.pretraining import record_checks
from run.training.host_batches import WHOLE

SHUFFLE_RECORDS = 10_000  # Size of the shuffle buffer: about 10 MB at length 128.
READ_FILES = 8  # Number of record files read in parallel in training.
READ_RECORDS = 16  # Number of records read from one file before the next.
MAX_RECORDS = 2**36  # More than the records of an epoch.
MANY_EPOCHS = 2**27  # More than any run reaches.
PARSED_TOGETHER = 16  # Batches; uses as many threads as there are cores.
PARSED_AHEAD = 8  # Batches.


def pretraining_training_data(
    files, features, batch_size, seed, skip_steps=0, *, share=WHOLE, bounds=None, transform=None
):
    """Creates endless training batches: every record is used once before any is repeated.

    Args:
      files: Paths of TFRecord files. Their order is shuffled again in each epoch.
      features: Features from data_prep.records.pretraining_features.
      batch_size: int. Examples per batch, B, over all replicas.
      seed: int. Seed of the order.
      skip_steps: int. Number of batches to skip at the start.
      share: HostShare. Rows of each batch to return; others are not parsed.
      bounds: Result of record_checks.compute_bounds, to check every record, or None.
      transform: Callable (features, epochs int64 [rows], indices int64 [rows]) -> features, where
        `epochs` and `indices` are each record's epoch and position in it. None leaves features
        unchanged.

    Returns:
      Dataset of dicts of name to int32 or float32 [rows, length].
    """
    first_epoch = first_index = 0
    if skip_steps:
        first_epoch, first_index = divmod(
            skip_steps * batch_size, record_checks.count_records(tuple(files))
        )
    rows = share.rows(batch_size)

    # Nothing to convert here or below; the search takes a second.
    @tf.autograph.experimental.do_not_convert
    def read_epoch(epoch):
        # One number for epoch and index: a second tensor costs 1 microsecond per record.
        examples = _shuffle_records(files, seed, epoch).enumerate(epoch * MAX_RECORDS)
        return examples.skip(tf.where(epoch == first_epoch, tf.constant(first_index, tf.int64), 0))

    @tf.autograph.experimental.do_not_convert
    def parse(numbers, serialized):
        parsed = _parse(serialized[rows], features, bounds)
        return (
            transform(parsed, numbers[rows] // MAX_RECORDS, numbers[rows] % MAX_RECORDS)
            if transform
            else parsed
        )

    examples = tf.data.Dataset.range(first_epoch, MANY_EPOCHS).flat_map(read_epoch)
    return _parse_batches(examples.batch(batch_size, drop_remainder=True), parse)


def pretraining_evaluation_data(
    files, features, batch_size, drop_remainder=False, *, share=WHOLE, bounds=None, transform=None
):
    """Creates batches of every record once, in file order. See `pretraining_training_data`.

    All records are in epoch 0, at their position in the files. The last batch may be smaller, and a
    host may have no rows of it. (The original BERT repeats the records of small files.)
    """
    rows = share.rows(batch_size)

    @tf.autograph.experimental.do_not_convert
    def parse(indices, serialized):
        parsed = _parse(serialized[rows], features, bounds)
        return (
            transform(parsed, tf.zeros_like(indices[rows]), indices[rows]) if transform else parsed
        )

    batches = (
        tf.data.TFRecordDataset(files).enumerate().batch(batch_size, drop_remainder=drop_remainder)
    )
    return _parse_batches(batches, parse)


def add_next_tokens(features, epochs, indices):
    """Makes each token predict the next one of its sequence: left-to-right language modeling.

    Args:
      features: Dict of int32 [B, S]. Features of data_prep.records.unmasked_pretraining_features,
        packed or not.
      epochs, indices: Unused; see `transform` of `pretraining_training_data`.

    Returns:
      The features, with "masked_lm_positions" and "masked_lm_ids", int32 [B, S - 1], and
      "masked_lm_weights", float32 [B, S - 1], 0 for tokens without a next one.
    """
    del epochs, indices
    input_ids = features["input_ids"]
    sequences = features["input_mask"]
    following = sequences[:, 1:]
    has_next = (following > 0) & (following == sequences[:, :-1])
    positions = tf.range(input_ids.shape[1] - 1)[tf.newaxis]
    return {
        **features,
        "masked_lm_positions": tf.tile(positions, [tf.shape(input_ids)[0], 1]),
        "masked_lm_ids": tf.where(has_next, input_ids[:, 1:], 0),
        "masked_lm_weights": tf.cast(has_next, tf.float32),
    }


def _shuffle_records(files, seed, epoch):
    """Creates a dataset of the serialized records of files in the order of an epoch."""
    num_parallel = min(len(files), READ_FILES)
    # For local files, threads would cost as much as everything else here.
    in_threads = any(map(is_remote, files))
    file_seed, record_seed = tf.unstack(
        tf.random.stateless_uniform([2], [seed, epoch], minval=None, maxval=None, dtype=tf.int64)
    )
    return (
        tf.data.Dataset.from_tensor_slices(files)
        .shuffle(len(files), seed=file_seed)
        .interleave(
            tf.data.TFRecordDataset,
            cycle_length=num_parallel,
            block_length=READ_RECORDS,
            num_parallel_calls=num_parallel if in_threads else None,
            deterministic=True if in_threads else None,
        )
        .shuffle(SHUFFLE_RECORDS, seed=record_seed)
    )


def _parse_batches(batches, parse):
    """Applies `parse` to each batch of a dataset.

    Disables autotuning: timing each step between stages took as long as all work on a record up to
    parsing.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return (
        batches.map(parse, num_parallel_calls=PARSED_TOGETHER)
        .prefetch(PARSED_AHEAD)
        .with_options(options)
    )


def _parse(serialized, features, bounds):
    parsed = records.parse(serialized, features)
    return parsed if bounds is None else record_checks.assert_within(parsed, bounds)
