"""Input pipelines: records in, batches of features out.

The order of the data is a function of the seed and the epoch, so a run that starts again at step k sees the same
examples as one that never stopped. It passes over whole epochs without reading them, and over the rest of one
without parsing it.
"""

import tensorflow as tf

from bert_tf.files import is_remote
from data_prep import records
from run.pretraining import epochs, record_checks
from run.training.host_batches import WHOLE

MANY_EPOCHS = 2**27  # no run ends with them
PARSED_TOGETHER = 16  # batches, on as many threads as there are cores
PARSED_AHEAD = 8  # batches


def pretraining_training_data(files, features, batch_size, seed, skip_steps=0, *, share=WHOLE, limits=None,
                              transform=None, count_records=record_checks.count_records):
    """Batches for training, endlessly: every record once before any comes again.

    Args:
      files: TFRecord files; their order is shuffled anew in each epoch.
      features: of data_prep.records.pretraining_features.
      batch_size: examples in a batch, B, over all replicas.
      seed: int, fixes the order.
      skip_steps: batches to leave out at the start.
      share: HostShare, which rows of each batch to give; the others are not parsed.
      limits: of record_checks.pretraining_limits, to be checked in every record; None to check none.
      transform: (features, epochs int64 [rows], places int64 [rows]) -> features, where the second and third say of
        each record which epoch it is in and which place it has there; None to leave features as they are.
      count_records: files -> list of int, the records of each; called where that is needed, to skip or for a share.

    Returns:
      Dataset of dicts of name -> int32 or float32 [rows, length].
    """
    counts = count_records(files) if skip_steps or share != WHOLE else None
    first_epoch, first_place = divmod(skip_steps * batch_size, sum(counts)) if skip_steps else (0, 0)
    paths, rows, remote = tf.constant(files), share.rows(batch_size), any(map(is_remote, files))

    @tf.autograph.experimental.do_not_convert  # there is nothing to convert, here and below, and to look takes a second
    def epoch_from(epoch):
        start = tf.where(epoch == first_epoch, tf.constant(first_place, tf.int64), 0)
        if share == WHOLE:
            return epochs.all_records(paths, remote, seed, epoch, start)
        return epochs.own_records(paths, counts, seed, epoch, start, batch_size, rows)

    @tf.autograph.experimental.do_not_convert
    def parse(numbers, serialized):
        parsed = _parse(serialized, features, limits)
        return transform(parsed, *epochs.epochs_and_places(numbers)) if transform else parsed

    examples = tf.data.Dataset.range(first_epoch, MANY_EPOCHS).flat_map(epoch_from)
    batch = examples.batch if share == WHOLE else examples.rebatch
    return _parsed(batch(rows.stop - rows.start, drop_remainder=True), parse)


def pretraining_evaluation_data(files, features, batch_size, drop_remainder=False, *, share=WHOLE, limits=None,
                                transform=None):
    """Every record once, in file order, as `pretraining_training_data` gives them; the last batch may be smaller.

    All records are in epoch 0, each in the place that it has in the files. Of a smaller last batch a host may have no
    rows.
    """
    rows = share.rows(batch_size)

    @tf.autograph.experimental.do_not_convert
    def parse(places, serialized):
        parsed = _parse(serialized[rows], features, limits)
        return transform(parsed, tf.zeros_like(places[rows]), places[rows]) if transform else parsed

    return _parsed(tf.data.TFRecordDataset(files).enumerate().batch(batch_size, drop_remainder=drop_remainder), parse)


def _parsed(batches, parse):
    """The dataset of what `parse` makes of each batch.

    Nothing is tuned while it runs: to time each step from one stage to the next took as long as all that they do with a
    record until it is parsed.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.map(parse, num_parallel_calls=PARSED_TOGETHER).prefetch(PARSED_AHEAD).with_options(options)


def _parse(serialized, features, limits):
    parsed = records.parse(serialized, features)
    return parsed if limits is None else record_checks.assert_within(parsed, limits)
