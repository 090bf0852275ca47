"""Input pipelines from records to batches of features.

The order of the data is a function of the seed and the epoch, so a run that resumes at step k uses the same examples as
an uninterrupted run. It skips whole epochs without reading them, and the rest without parsing.
"""

import tensorflow as tf

from bert_tf.files import is_remote
from data_prep import records
from run.pretraining import epochs, record_checks
from run.training.host_batches import WHOLE

MANY_EPOCHS = 2**27  # More than any run reaches.
PARSED_TOGETHER = 16  # Batches; uses as many threads as there are cores.
PARSED_AHEAD = 8  # Batches.


def pretraining_training_data(files, features, batch_size, seed, skip_steps=0, *, share=WHOLE, limits=None,
                              transform=None, count_records=record_checks.count_records):
    """Creates endless training batches: every record is used once before any is repeated.

    Args:
      files: Paths of TFRecord files. Their order is shuffled again in each epoch.
      features: Features from data_prep.records.pretraining_features.
      batch_size: int. Examples per batch, B, over all replicas.
      seed: int. Seed of the order.
      skip_steps: int. Number of batches to skip at the start.
      share: HostShare. Rows of each batch to return; others are not parsed.
      limits: Result of record_checks.pretraining_limits, to check every record, or None.
      transform: Callable (features, epochs int64 [rows], places int64 [rows]) -> features, where `epochs` and `places`
        are each record's epoch and position in it. None leaves features unchanged.
      count_records: Callable of files that returns their numbers of records. Only called to skip steps or for a share.

    Returns:
      Dataset of dicts of name to int32 or float32 [rows, length].
    """
    counts = count_records(files) if skip_steps or share != WHOLE else None
    first_epoch, first_place = divmod(skip_steps * batch_size, sum(counts)) if skip_steps else (0, 0)
    paths, rows, remote = tf.constant(files), share.rows(batch_size), any(map(is_remote, files))

    @tf.autograph.experimental.do_not_convert  # Nothing to convert here or below; the search takes a second
    def epoch_from(epoch):
        start = tf.where(epoch == first_epoch, tf.constant(first_place, tf.int64), 0)
        if share == WHOLE:
            return epochs.read_all_records(paths, remote, seed, epoch, start)
        return epochs.read_host_records(paths, counts, seed, epoch, start, batch_size, rows)

    @tf.autograph.experimental.do_not_convert
    def parse(numbers, serialized):
        parsed = _parse(serialized, features, limits)
        return transform(parsed, *epochs.split_numbers(numbers)) if transform else parsed

    examples = tf.data.Dataset.range(first_epoch, MANY_EPOCHS).flat_map(epoch_from)
    batch = examples.batch if share == WHOLE else examples.rebatch
    return _parse_batches(batch(rows.stop - rows.start, drop_remainder=True), parse)


def pretraining_evaluation_data(files, features, batch_size, drop_remainder=False, *, share=WHOLE, limits=None,
                                transform=None):
    """Creates batches of every record once, in file order. See `pretraining_training_data`.

    All records are in epoch 0, at their position in the files. The last batch may be smaller, and a host may have no
    rows of it.
    """
    rows = share.rows(batch_size)

    @tf.autograph.experimental.do_not_convert
    def parse(places, serialized):
        parsed = _parse(serialized[rows], features, limits)
        return transform(parsed, tf.zeros_like(places[rows]), places[rows]) if transform else parsed

    batches = tf.data.TFRecordDataset(files).enumerate().batch(batch_size, drop_remainder=drop_remainder)
    return _parse_batches(batches, parse)


def _parse_batches(batches, parse):
    """Applies `parse` to each batch of a dataset.

    Disables autotuning: timing each step between stages took as long as all work on a record up to parsing.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.map(parse, num_parallel_calls=PARSED_TOGETHER).prefetch(PARSED_AHEAD).with_options(options)


def _parse(serialized, features, limits):
    parsed = records.parse(serialized, features)
    return parsed if limits is None else record_checks.assert_within(parsed, limits)
