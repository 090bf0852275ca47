"""The one place that knows what a record holds: names, shapes, dtypes; how one is written and parsed.

A record is a serialized tf.train.Example in a TFRecord file, with the features of the original's scripts.
Training code asks for `feature_spec` or `parse`; whoever makes records fills `RecordWriter` with batches of
arrays. TensorFlow is imported only where it is needed: the processes that make records start in a moment
without it, and in a tenth of the memory.
"""

import contextlib
import dataclasses
import hashlib
import os

import numpy as np

from data_prep import partial_files, tfrecords


@dataclasses.dataclass(frozen=True)
class Feature:
    """One feature of a record: `length` numbers, int64, or float32 if `is_float`."""

    name: str
    length: int
    is_float: bool = False


def pretraining_features(max_seq_length, max_predictions_per_seq):
    """Features of a pre-training record: S ids, and P predictions of which padding has weight 0."""
    return (
        Feature("input_ids", max_seq_length),
        Feature("input_mask", max_seq_length),
        Feature("segment_ids", max_seq_length),
        Feature("masked_lm_positions", max_predictions_per_seq),
        Feature("masked_lm_ids", max_predictions_per_seq),
        Feature("masked_lm_weights", max_predictions_per_seq, is_float=True),
        Feature("next_sentence_labels", 1),
    )


def unmasked_pretraining_features(max_seq_length):
    """Features of a pre-training record whose masks are drawn in training: those of the sentence pair alone.

    The masks of whole words need to know of each id whether its piece goes on with a word ("##..."), which a table
    over the vocabulary says (`masking.Vocabulary.is_continuation`); the record need not.
    """
    return (
        Feature("input_ids", max_seq_length),
        Feature("input_mask", max_seq_length),
        Feature("segment_ids", max_seq_length),
        Feature("next_sentence_labels", 1),
    )


def classification_features(max_seq_length):
    """Features of a classification record; is_real_example is 0 in one that only fills a batch up."""
    return (
        Feature("input_ids", max_seq_length),
        Feature("input_mask", max_seq_length),
        Feature("segment_ids", max_seq_length),
        Feature("label_ids", 1),
        Feature("is_real_example", 1),
    )


def feature_spec(features):
    """dict of name -> tf.io.FixedLenFeature, for tf.io.parse_example: int64 or float32, shape [length]."""
    import tensorflow as tf

    return {feature.name: tf.io.FixedLenFeature([feature.length],
                                                tf.float32 if feature.is_float else tf.int64)
            for feature in features}


def parse(serialized, features):
    """Parses a batch of records; a graph function, for `dataset.batch(...).map(...)`.

    Args:
      serialized: [B] string, serialized examples.
      features: sequence of Feature.

    Returns:
      dict of name -> [B, length] int32 (TPUs have no int64), or float32 where the feature is of floats.

    Raises:
      tf.errors.InvalidArgumentError: a record lacks a feature, or holds it in another type or length.
    """
    import tensorflow as tf

    parsed = tf.io.parse_example(serialized, feature_spec(features))
    return {name: value if value.dtype == tf.float32 else tf.cast(value, tf.int32)
            for name, value in parsed.items()}


class RecordWriter:
    """Writes records to a TFRecord file that appears under its name only when it is whole.

    A context manager: leaving it by an exception removes what was written. `path` may be any that TensorFlow
    can write to (gs://...).

        with RecordWriter(path, classification_features(128)) as writer:
            writer.write(columns)

    Attributes:
      path: name of the file.
      features: tuple of Feature.
      num_records, num_bytes: written so far.
      sha256: of the bytes written so far, a hashlib object.

    Raises:
      OSError: from any method, naming the file, when it cannot be written.
    """

    def __init__(self, path, features):
        self.path = os.fspath(path)
        self.features = tuple(features)
        self.num_records = self.num_bytes = 0
        self.sha256 = hashlib.sha256()
        with self._errors_naming_the_file():
            self._file = partial_files.open_to_write(self.path)

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception, traceback):
        if exception_type is None:
            self.close()
        else:
            self.discard()

    def write(self, columns):
        """Writes a batch of records. `columns`: dict of feature name -> [B, length] array of numbers."""
        self.write_serialized(serialize(columns, self.features))

    def write_serialized(self, records):
        """Writes records that `serialize` made, a list of bytes objects."""
        data = tfrecords.frames(records)
        with self._errors_naming_the_file():
            self._file.write(data)
        self.sha256.update(data)
        self.num_bytes += len(data)
        self.num_records += len(records)

    def close(self):
        """Gives the file its name; on failure it is removed."""
        try:
            with self._errors_naming_the_file():
                self._file.close()
                partial_files.finish(self.path)
        except OSError:
            self.discard()
            raise

    def discard(self):
        """Removes what was written so far; a file that stood at `path` before stays."""
        with contextlib.suppress(OSError), self._errors_naming_the_file():  # a full disk fails here again
            self._file.close()
        partial_files.remove(self.path)

    @contextlib.contextmanager
    def _errors_naming_the_file(self):
        try:
            yield
        except Exception as error:
            # Python's error has what the system said in `strerror`, TensorFlow's, of a remote file, in `message`.
            reason = getattr(error, "strerror", None) or getattr(error, "message", None)
            if reason is None:
                raise
            raise OSError(f"{self.path}: cannot be written: {reason}") from error


def serialize(columns, features):
    """Serializes a batch of records, each as `tf.train.Example.SerializeToString` of the same numbers could.

    The bytes are composed here because building protobuf messages number by number took longer than
    everything else about a pre-training record.

    Args:
      columns: dict of feature name -> [B, length] array; numbers of an int64 feature may not be negative.
      features: sequence of Feature.

    Returns:
      list of B bytes objects.

    Raises:
      ValueError: columns that are not those of `features`, a wrong shape, a negative number.
    """
    if set(columns) != {feature.name for feature in features}:
        raise ValueError(f"got the features {sorted(columns)}: the record has "
                         f"{sorted(feature.name for feature in features)}")
    parts = []
    for feature in features:
        values = np.asarray(columns[feature.name])
        if values.ndim != 2 or values.shape[1] != feature.length:
            raise ValueError(f"{feature.name} has shape {list(values.shape)}: it must be "
                             f"[batch, {feature.length}]")
        numbers = _packed_floats(values) if feature.is_float else _packed_varints(values, feature.name)
        headers = {size: _feature_header(feature, size) for size in set(map(len, numbers))}
        parts += [headers[len(row)] for row in numbers], numbers
    bodies = map(b"".join, zip(*parts, strict=True))
    return [_length_delimited(EXAMPLE_FEATURES, len(body)) + body for body in bodies]


# Field numbers of tensorflow/core/example/example.proto and feature.proto.
EXAMPLE_FEATURES = 1  # Example.features
FEATURES_ENTRY = 1  # Features.feature, a map: an entry is a message of key and value
ENTRY_KEY, ENTRY_VALUE = 1, 2
FEATURE_FLOATS, FEATURE_INTS = 2, 3  # Feature.float_list, Feature.int64_list
LIST_VALUE = 1  # FloatList.value, Int64List.value, both packed


def _feature_header(feature, num_bytes):
    """All bytes of a feature's entry that come before its `num_bytes` bytes of packed numbers."""
    name = feature.name.encode()
    header = b""
    for field in (LIST_VALUE, FEATURE_FLOATS if feature.is_float else FEATURE_INTS, ENTRY_VALUE):
        header = _length_delimited(field, num_bytes + len(header)) + header
    header = _length_delimited(ENTRY_KEY, len(name)) + name + header
    return _length_delimited(FEATURES_ENTRY, num_bytes + len(header)) + header


def _length_delimited(field, num_bytes):
    """Tag and length that stand before a field of `num_bytes` bytes (wire type 2)."""
    tag_and_length = bytearray([field << 3 | 2])
    while num_bytes > 127:
        tag_and_length.append(num_bytes & 127 | 128)
        num_bytes >>= 7
    tag_and_length.append(num_bytes)
    return bytes(tag_and_length)


def _packed_floats(values):
    data = np.ascontiguousarray(values, "<f4").tobytes()
    return _rows(data, np.full(len(values), 4 * values.shape[1]))


def _packed_varints(values, name):
    """Rows of `values` [B, N] in base 128: 7 bits a byte, lowest first, bit 7 set where another follows."""
    if values.size and values.min() < 0:
        raise ValueError(f"{name} holds {values.min()}: a record's numbers are not negative")
    largest = int(values.max(initial=0))
    if largest < 128:
        return _rows(values.astype(np.uint8).tobytes(), np.full(len(values), values.shape[1]))
    rest = values.astype(np.min_scalar_type(largest))  # the narrowest type: several times faster than int64
    most_bytes = -(-largest.bit_length() // 7)
    data = np.empty((*values.shape, most_bytes), np.uint8)
    is_used = np.ones(data.shape, bool)
    for place in range(data.shape[-1]):
        data[..., place] = rest & 127
        rest = rest >> 7
        goes_on = rest > 0
        data[..., place] |= goes_on.view(np.uint8) << 7
        is_used[..., place + 1:] &= goes_on[..., np.newaxis]
    return _rows(data[is_used].tobytes(), is_used.sum(axis=(1, 2)))


def _rows(data, lengths):
    """Cuts `data` into pieces of `lengths` [B]."""
    stops = np.cumsum(lengths).tolist()
    return [data[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
