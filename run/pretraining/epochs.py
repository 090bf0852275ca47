"""The records of an epoch in their order, which is a function of the seed and the epoch; of one host, or of several.

One host has tf.data shuffle the records. Where many make a batch together, each would spend most of its time on
handing the records of the others, one by one, from one step of that pipeline to the next. So it shuffles their places
alone, which gives the same order, reads records by the block, and picks its own out thousands at a time.
"""

import tensorflow as tf

SHUFFLE_RECORDS = 10_000  # records held to draw from: about 10 MB at length 128
READ_FILES = 8  # record files read side by side in training
READ_RECORDS = 16  # records taken from one file before the next has its turn
PLACES = 2**36  # more than an epoch's records


def numbers(epoch, places):
    """One int64 of a record's epoch, below 2^27, and its place there: a tensor more would cost each a microsecond."""
    return epoch * PLACES + places


def epochs_and_places(numbers):
    """What `numbers` was made of: two int64 tensors of its shape."""
    return numbers // PLACES, numbers % PLACES


def all_records(paths, is_remote, seed, epoch, first_place):
    """The records of files.

    Args:
      paths: [F] string tensor.
      is_remote: bool; files that are not are read in turn, not in threads of their own, which would cost as much as
        all else that is done here.
      seed: int.
      epoch: int64 scalar tensor.
      first_place: int64 scalar tensor, how many of the epoch's records to leave out at its start.

    Returns:
      Dataset of (number int64, serialized string), scalars: `numbers` of the epoch and of the record's place there.
    """
    file_seed, record_seed = _seeds(seed, epoch)
    files = tf.data.Dataset.from_tensor_slices(paths)
    records = _interleaved(files, paths.shape[0], is_remote, file_seed, tf.data.TFRecordDataset, READ_RECORDS)
    records = records.shuffle(SHUFFLE_RECORDS, seed=record_seed)
    first = numbers(epoch, 0)
    return tf.data.Dataset.zip(tf.data.Dataset.range(first, first + PLACES), records).skip(first_place)


def own_records(paths, counts, seed, epoch, first_place, batch_size, rows):
    """Those of all_records that are one host's rows.

    Args:
      paths, seed, epoch, first_place: as all_records's.
      counts: list of int, the records of each file.
      batch_size: of the batches that all epochs' records, one after the other, are divided into.
      rows: slice, the rows of each batch that are the host's.

    Returns:
      Dataset of (numbers int64 [n], serialized string [n]); n differs.
    """
    num_records, (file_seed, record_seed) = sum(counts), _seeds(seed, epoch)
    files = tf.data.Dataset.from_tensor_slices((paths, tf.constant(counts, tf.int64)))
    blocks = _interleaved(files, len(counts), True, file_seed, _blocks, 2)
    # No place is drawn before its turn by SHUFFLE_RECORDS or more: by then the next part has been read.
    read = blocks.rebatch(SHUFFLE_RECORDS).prefetch(1)
    drawn = tf.data.Dataset.range(num_records).shuffle(SHUFFLE_RECORDS, seed=record_seed)
    drawn = drawn.batch(SHUFFLE_RECORDS).prefetch(1)
    read = read.concatenate(tf.data.Dataset.from_tensors(tf.zeros([0], tf.string)))
    drawn = tf.data.Dataset.from_tensors(tf.zeros([0], tf.int64)).concatenate(drawn)

    def take_own(state, part):
        """state: records that are read and not yet drawn, by their places, rising; how many are read; are drawn."""
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
        own = numbers(epoch, tf.boolean_mask(places, is_own)), tf.gather(held, tf.boolean_mask(indices, is_own))
        state = (tf.gather(held_places, left), tf.gather(held, left), num_read + tf.size(new, tf.int64),
                 num_drawn + tf.size(drawn_places, tf.int64))
        return state, own

    zero = tf.constant(0, tf.int64)
    nothing = tf.zeros([0], tf.int64), tf.zeros([0], tf.string), zero, zero
    return tf.data.Dataset.zip(read, drawn).scan(nothing, take_own)


def _seeds(seed, epoch):
    """Of the order of the files and of their records: int64 scalar tensors."""
    return tf.unstack(tf.random.stateless_uniform([2], [seed, epoch], minval=None, maxval=None, dtype=tf.int64))


def _interleaved(files, num_files, in_threads, seed, read, block_length):
    """The datasets that `read` makes of the elements of a dataset of files, in shuffled order, READ_FILES at a time."""
    side_by_side = min(num_files, READ_FILES)
    return files.shuffle(num_files, seed=seed).interleave(
        read, cycle_length=side_by_side, block_length=block_length,
        num_parallel_calls=side_by_side if in_threads else None, deterministic=True if in_threads else None)


def _blocks(path, count):
    """The `count` records of a file, READ_RECORDS to an element, and after each element of so many an empty one.

    Two of these elements at a time, files take turns as they do with READ_RECORDS records: whichever it is, one that
    comes to its end within its turn makes way for the next file there, one that ends with its turn in the next.
    """
    blocks = tf.data.TFRecordDataset(path).batch(READ_RECORDS)
    nothing = tf.data.Dataset.from_tensors(tf.zeros([0], tf.string)).repeat()
    elements = count // READ_RECORDS * 2 + tf.cast(count % READ_RECORDS > 0, tf.int64)
    turns = tf.data.Dataset.from_tensor_slices(tf.constant([0, 1], tf.int64)).repeat().take(elements)
    return tf.data.Dataset.choose_from_datasets([blocks, nothing], turns, stop_on_empty_dataset=False)


def _range(values):
    return tf.range(tf.size(values, tf.int64))
