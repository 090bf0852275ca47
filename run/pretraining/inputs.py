"""Input pipelines: records in, batches of features out.

The order of the data is a function of the seed and the epoch, so a run that starts again at step k sees the same
examples as one that never stopped. It passes over whole epochs without reading them, and over the rest of one
without parsing it.
"""

import tensorflow as tf

from data_prep import records
from run.pretraining import record_checks

SHUFFLE_RECORDS = 10_000  # records held to draw from: about 10 MB at length 128
READ_FILES = 8  # record files read side by side in training
READ_RECORDS = 16  # records taken from one file before the next has its turn
MANY_EPOCHS = 2**40  # no run ends with them


def pretraining_training_data(files, features, batch_size, seed, skip_steps=0, *, limits=None, transform=None):
    """Batches for training, endlessly: every record once before any comes again.

    Args:
      files: TFRecord files; their order is shuffled anew in each epoch.
      features: of data_prep.records.pretraining_features.
      batch_size: examples in a batch, B, over all replicas.
      seed: int, fixes the order.
      skip_steps: batches to leave out at the start.
      limits: of record_checks.pretraining_limits, to be checked in every record; None to check none.
      transform: (features, epochs int64 [B], places int64 [B]) -> features, where the second and third say of each
        record which epoch it is in and which place it has there; None to leave features as they are.

    Returns:
      Dataset of dicts of name -> int32 or float32 [B, length].
    """
    first_epoch, first_place = 0, skip_steps * batch_size
    if first_place:
        first_epoch, first_place = divmod(first_place, record_checks.count_records(files))
    paths = tf.constant(files)

    def epoch_from(epoch):
        examples = _epoch(paths, len(files), seed, epoch)
        numbered = tf.data.Dataset.zip(
            tf.data.Dataset.from_tensors(epoch).repeat(), tf.data.Dataset.range(tf.int64.max), examples)
        return numbered.skip(tf.where(epoch == first_epoch, tf.constant(first_place, tf.int64), 0))

    def parse(epochs, places, serialized):
        parsed = _parse(serialized, features, limits)
        return transform(parsed, epochs, places) if transform else parsed

    examples = tf.data.Dataset.range(first_epoch, MANY_EPOCHS).flat_map(epoch_from)
    return _finished(examples.batch(batch_size, drop_remainder=True).map(parse, num_parallel_calls=tf.data.AUTOTUNE))


def pretraining_evaluation_data(files, features, batch_size, drop_remainder=False, *, limits=None, transform=None):
    """Every record once, in file order, as `pretraining_training_data` gives them; the last batch may be smaller.

    All records are in epoch 0, each in the place that it has in the files.
    """
    def parse(places, serialized):
        parsed = _parse(serialized, features, limits)
        return transform(parsed, tf.zeros_like(places), places) if transform else parsed

    batches = tf.data.TFRecordDataset(files).enumerate().batch(batch_size, drop_remainder=drop_remainder)
    return _finished(batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE))


def _epoch(paths, num_paths, seed, epoch):
    """The serialized records of all files, string scalars, in the order of an epoch (int64 scalar tensor)."""
    order = tf.random.stateless_uniform([2], [seed, epoch], minval=None, maxval=None, dtype=tf.int64)
    names = tf.data.Dataset.from_tensor_slices(paths).shuffle(num_paths, seed=order[0])
    examples = names.interleave(
        tf.data.TFRecordDataset, cycle_length=min(num_paths, READ_FILES), block_length=READ_RECORDS,
        num_parallel_calls=min(num_paths, READ_FILES), deterministic=True)
    return examples.shuffle(SHUFFLE_RECORDS, seed=order[1])


def _parse(serialized, features, limits):
    parsed = records.parse(serialized, features)
    return parsed if limits is None else record_checks.assert_within(parsed, limits)


def _finished(batches):
    """With the next batches made ahead; in evaluation each worker of several takes its share of every batch."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return batches.prefetch(tf.data.AUTOTUNE).with_options(options)
