"""Order of an epoch's records, a function of the seed and the epoch, for one host or several.

One host shuffles the records with tf.data. If several hosts build a batch together, each would spend most of its time
on passing the other hosts' records between pipeline steps one by one. Instead, it shuffles only their positions, which
gives the same order, reads records in blocks, and selects its own thousands at a time.
"""

import tensorflow as tf

SHUFFLE_RECORDS = 10_000  # Size of the shuffle buffer: about 10 MB at length 128.
READ_FILES = 8  # Number of record files read in parallel in training.
READ_RECORDS = 16  # Number of records read from one file before the next.
PLACES = 2**36  # More than the records of an epoch.


def combine_numbers(epoch, places):
    """Combines an epoch, below 2^27, and a position into one int64. A second tensor costs 1 microsecond per record."""
    return epoch * PLACES + places


def split_numbers(numbers):
    """Splits the result of `combine_numbers` into two int64 tensors of its shape."""
    return numbers // PLACES, numbers % PLACES


def read_all_records(paths, is_remote, seed, epoch, first_place):
    """Reads the records of files.

    Args:
      paths: [F] string tensor.
      is_remote: bool. Whether to read in threads. For local files, threads would cost as much as everything else here.
      seed: int.
      epoch: int64 scalar tensor.
      first_place: int64 scalar tensor. Number of records to skip at the start of the epoch.

    Returns:
      Dataset of scalars (number int64, serialized string). The first is the result of `combine_numbers`.
    """
    file_seed, record_seed = _seeds(seed, epoch)
    files = tf.data.Dataset.from_tensor_slices(paths)
    records = _interleave(files, paths.shape[0], is_remote, file_seed, tf.data.TFRecordDataset, READ_RECORDS)
    records = records.shuffle(SHUFFLE_RECORDS, seed=record_seed)
    first = combine_numbers(epoch, 0)
    return tf.data.Dataset.zip(tf.data.Dataset.range(first, first + PLACES), records).skip(first_place)


def read_host_records(paths, counts, seed, epoch, first_place, batch_size, rows):
    """Reads the records of `read_all_records` that are one host's rows.

    Args:
      paths, seed, epoch, first_place: See `read_all_records`.
      counts: List of int. Number of records in each file.
      batch_size: int. Size of the batches into which the concatenated records of all epochs are split.
      rows: slice. Rows of each batch that belong to the host.

    Returns:
      Dataset of (numbers int64 [n], serialized string [n]) of varying n.
    """
    num_records, (file_seed, record_seed) = sum(counts), _seeds(seed, epoch)
    files = tf.data.Dataset.from_tensor_slices((paths, tf.constant(counts, tf.int64)))
    blocks = _interleave(files, len(counts), True, file_seed, _read_blocks, 2)
    # Shuffling moves no position forward by SHUFFLE_RECORDS or more: by then the next part has been read.
    read = blocks.rebatch(SHUFFLE_RECORDS).prefetch(1)
    order = tf.data.Dataset.range(num_records).shuffle(SHUFFLE_RECORDS, seed=record_seed)
    order = order.batch(SHUFFLE_RECORDS).prefetch(1)
    read = read.concatenate(tf.data.Dataset.from_tensors(tf.zeros([0], tf.string)))
    order = tf.data.Dataset.from_tensors(tf.zeros([0], tf.int64)).concatenate(order)

    def take_own(state, part):
        """`state`: unused records by position, ascending; numbers of records read and used."""
        held_places, held, num_read, num_drawn = state
        new, drawn_places = part
        held_places = tf.concat([held_places, num_read + _range(new)], axis=0)
        held = tf.concat([held, new], axis=0)
        indices = tf.searchsorted(held_places, drawn_places)
        is_left = tf.tensor_scatter_nd_update(
            tf.ones_like(held_places, tf.bool), indices[:, tf.newaxis], tf.zeros_like(indices, tf.bool))
        left = tf.where(is_left)[:, 0]
        places = num_drawn + _range(drawn_places)
        in_batch = (epoch * num_records + places) % batch_size
        is_own = (in_batch >= rows.start) & (in_batch < rows.stop) & (places >= first_place)
        own = combine_numbers(epoch, tf.boolean_mask(places, is_own)), tf.gather(held, tf.boolean_mask(indices, is_own))
        state = (tf.gather(held_places, left), tf.gather(held, left), num_read + tf.size(new, tf.int64),
                 num_drawn + tf.size(drawn_places, tf.int64))
        return state, own

    zero = tf.constant(0, tf.int64)
    nothing = tf.zeros([0], tf.int64), tf.zeros([0], tf.string), zero, zero
    return tf.data.Dataset.zip(read, order).scan(nothing, take_own)


def _seeds(seed, epoch):
    """Returns the seeds for the order of the files and of their records: int64 scalar tensors."""
    return tf.unstack(tf.random.stateless_uniform([2], [seed, epoch], minval=None, maxval=None, dtype=tf.int64))


def _interleave(files, num_files, in_threads, seed, read, block_length):
    """Interleaves the datasets that `read` creates from shuffled files, READ_FILES at a time."""
    side_by_side = min(num_files, READ_FILES)
    return files.shuffle(num_files, seed=seed).interleave(
        read, cycle_length=side_by_side, block_length=block_length,
        num_parallel_calls=side_by_side if in_threads else None, deterministic=True if in_threads else None)


def _read_blocks(path, count):
    """Reads the `count` records of a file in blocks of READ_RECORDS. An empty element follows each full block.

    With two of these elements at a time, files alternate as they do with READ_RECORDS records. In both cases, a file
    that ends within its turn is replaced in that turn, and a file that ends with its turn is replaced in the next.
    """
    blocks = tf.data.TFRecordDataset(path).batch(READ_RECORDS)
    nothing = tf.data.Dataset.from_tensors(tf.zeros([0], tf.string)).repeat()
    elements = count // READ_RECORDS * 2 + tf.cast(count % READ_RECORDS > 0, tf.int64)
    turns = tf.data.Dataset.from_tensor_slices(tf.constant([0, 1], tf.int64)).repeat().take(elements)
    return tf.data.Dataset.choose_from_datasets([blocks, nothing], turns, stop_on_empty_dataset=False)


def _range(values):
    return tf.range(tf.size(values, tf.int64))
