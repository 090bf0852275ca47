"""Input pipelines: records or arrays in, batches of features out.

The order of the data is a function of the seed alone, so a run that starts again at step k skips the examples
of k steps and sees the same ones as a run that never stopped.
"""

import tensorflow as tf

from data_prep import records

SHUFFLE_RECORDS = 10_000  # records held to draw from: about 10 MB at length 128
READ_FILES = 8  # record files read side by side in training


def check_pretraining_records(path, features, vocab_size):
    """Raises ValueError, naming the file, unless its first records suit the model.

    Args:
      path: a TFRecord file.
      features: of data_prep.records.pretraining_features.
      vocab_size: rows of the model's word table; ids must lie below it.
    """
    try:
        batch = next(iter(tf.data.TFRecordDataset(path).batch(100)))
        parsed = records.parse(batch, features)
    except StopIteration:
        raise ValueError(f"{path}: holds no records") from None
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        length, predictions = features[0].length, features[3].length
        raise ValueError(
            f"{path}: not pre-training records of max_seq_length {length} and max_predictions_per_seq "
            f"{predictions}, with which the file must have been made ({error.message.splitlines()[0]})") from None
    highest = int(tf.reduce_max(parsed["input_ids"]))
    if highest >= vocab_size:
        raise ValueError(f"{path}: holds the id {highest}, the model's vocab_size is {vocab_size}: the records were "
                         "made with another vocabulary")


def pretraining_training_data(files, features, batch_size, seed, skip_steps=0):
    """Batches for training, endlessly: every record once before any comes again.

    Args:
      files: TFRecord files; their order is shuffled anew in each epoch.
      features: of data_prep.records.pretraining_features.
      batch_size: examples in a batch, B, over all replicas.
      seed: int, fixes the order.
      skip_steps: batches to leave out at the start.

    Returns:
      Dataset of dicts of name -> int32 or float32 [B, length].
    """
    names = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files), seed=seed)
    examples = names.interleave(tf.data.TFRecordDataset, cycle_length=min(len(files), READ_FILES),
                                num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    examples = examples.shuffle(SHUFFLE_RECORDS, seed=seed).repeat().skip(skip_steps * batch_size)
    return _parsed(examples.batch(batch_size, drop_remainder=True), features)


def pretraining_evaluation_data(files, features, batch_size, drop_remainder=False):
    """Every record once, in file order, as `pretraining_training_data` gives them; the last batch may be smaller."""
    return _parsed(tf.data.TFRecordDataset(files).batch(batch_size, drop_remainder=drop_remainder), features)


def training_data_of_arrays(arrays, batch_size, seed, skip_steps=0):
    """Batches of rows of a dict of arrays [n, ...], endlessly, reshuffled in each epoch; see above."""
    rows = tf.data.Dataset.from_tensor_slices(arrays)
    rows = rows.shuffle(int(rows.cardinality()), seed=seed).repeat().skip(skip_steps * batch_size)
    return rows.batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def evaluation_data_of_arrays(arrays, batch_size):
    """Batches of rows of a dict of arrays [n, ...], each row once, in order; the last batch may be smaller."""
    return tf.data.Dataset.from_tensor_slices(arrays).batch(batch_size).prefetch(tf.data.AUTOTUNE)


def _parsed(batches, features):
    return batches.map(lambda serialized: records.parse(serialized, features),
                       num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
