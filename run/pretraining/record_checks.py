"""Checks of record files: number of records, and files with invalid records."""

import concurrent.futures
import contextlib
import functools
import math

import numpy as np
import tensorflow as tf
from google.protobuf import message

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import is_remote
from bert_tf.notes import write_line
from data_prep import records
from data_prep.reading import GZIP_START
from data_prep.records import reader
from run.pretraining import dynamic_masking

SCAN_RECORDS = 1000  # Number of records to parse together.
NUM_THREADS = 16  # Number of files to count in parallel, and of remote files to check.
# Features of some records: their content, and the settings that determine whether records
# have them.
OPTIONAL_FEATURES = {
    "masked_lm_positions": ("masks", "`masking` or `objective`"),
    "positions": ("several sequences each", "`pack_sequences`"),
    "next_sentence_labels": ("next sentence labels", "`objective`"),
    "sentence_order_labels": ("sentence order labels", "`objective`"),
}
CORRUPTED = "is corrupted, truncated, or not a TFRecord file; inspect_records finds the byte"


def compute_bounds(config, settings):
    """Returns the exclusive upper bound of the numbers in pre-training records.

    Args:
      config: BertConfig.
      settings: RecordSettings of the records.
    """
    length = settings.max_seq_length
    label = settings.objective_spec.sentence_label
    return {
        "input_ids": config.vocab_size,
        "input_mask": settings.max_packed + 1 if settings.max_packed else 2,
        "segment_ids": config.num_segments,
        "positions": length,
        "masked_lm_positions": length,
        "masked_lm_ids": config.vocab_size,
        f"{label}_labels": 2,
        f"{label}_positions": length,
    }


def check_pretraining_records(paths, features, bounds):
    """Raises InputError, naming the file, unless the first record of each file matches the model.

    Args:
      paths: Paths of TFRecord files.
      features: Features from data_prep.records.pretraining_features, or from
        unmasked_pretraining_features for records without masks.
      bounds: Result of `compute_bounds`.

    Returns:
      List of the paths of files that contain records; others are empty.
    """

    def check(path):
        """Returns whether a file contains records."""
        try:
            first = next(iter(tf.data.TFRecordDataset(path)), None)
        except tf.errors.DataLossError as error:
            raise InputError(f"{path}: {_describe_corruption(path)}") from error
        wrong = None if first is None else _describe_mismatch(first.numpy(), features, bounds)
        if wrong:
            raise InputError(f"{path}: {wrong}")
        return first is not None

    # Reading the first record of a remote file takes about as long as reading its first megabytes.
    with concurrent.futures.ThreadPoolExecutor(
        NUM_THREADS if any(map(is_remote, paths)) else 1
    ) as pool:
        return [
            path
            for path, has_records in zip(paths, pool.map(check, paths), strict=True)
            if has_records
        ]


@contextlib.contextmanager
def name_bad_file(paths, features, bounds):
    """Converts an error caused by a bad record to an InputError that names its file.

    It searches the files, because TensorFlow's error names none. See `check_pretraining_records`
    for the arguments.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        if dynamic_masking.TOO_MANY_MASKS in str(error):
            raise InputError(dynamic_masking.TOO_MANY_MASKS) from error
        write_line(f"searching {len(paths)} files for an invalid record")
        _find_bad_record(paths, features, bounds)
        raise


@functools.cache  # This process can create the inputs of several hosts.
def count_records(paths):
    """Counts the records of a tuple of TFRecord files.

    Raises tf.errors.DataLossError if a file is damaged.
    """

    def count(path):
        batches = tf.data.TFRecordDataset(path).batch(SCAN_RECORDS)
        add = tf.autograph.experimental.do_not_convert(
            lambda total, batch: total + tf.size(batch, tf.int64)
        )
        return int(batches.reduce(np.int64(0), add))

    with concurrent.futures.ThreadPoolExecutor(NUM_THREADS) as pool:
        return sum(pool.map(count, paths))


def assert_within(features, bounds):
    """Checks that a batch's numbers are within the model's bounds; a graph function.

    On a GPU, a lookup of an invalid ID returns zeros and does not fail.

    Args:
      features: Dict of name to [B, length] int32, or float32, which must be finite.
      bounds: Dict of name to int. Numbers of that feature must be at least 0 and less than this.

    Returns:
      features. Using them runs the check.

    Raises:
      tf.errors.InvalidArgumentError: If a feature is out of range. Names the feature.
    """
    checks = []
    for name, values in features.items():
        if values.dtype.is_floating:
            checks.append(
                tf.debugging.Assert(
                    tf.reduce_all(tf.math.is_finite(values)), [f"{name} is not finite"]
                )
            )
        elif name in bounds:
            within = tf.reduce_all((values >= 0) & (values < bounds[name]))
            checks.append(
                tf.debugging.Assert(within, [f"{name} is not between 0 and {bounds[name] - 1}"])
            )
    # None in eager mode.
    with tf.control_dependencies([check for check in checks if check is not None]):
        return {name: tf.identity(values) for name, values in features.items()}


def _find_bad_record(paths, features, bounds):
    """Raises InputError for the first file with a record that is unreadable or does not match."""
    for path in paths:
        batch = ()
        try:
            for batch in tf.data.TFRecordDataset(path).batch(SCAN_RECORDS):
                assert_within(records.parse(batch, features), bounds)
        except tf.errors.DataLossError as error:
            raise InputError(f"{path}: {_describe_corruption(path)}") from error
        except tf.errors.InvalidArgumentError as error:
            reasons = (_describe_mismatch(record, features, bounds) for record in batch.numpy())
            raise InputError(f"{path}: {next(filter(None, reasons))}") from error


def _describe_corruption(path):
    """Describes why a file cannot be read."""
    with files.at(path).open() as file:
        is_compressed = file.read(len(GZIP_START)) == GZIP_START
    return reader.COMPRESSED if is_compressed else CORRUPTED


def _describe_mismatch(record, features, bounds):
    """Describes how a record (bytes) differs from these features and bounds.

    Returns None if it matches.
    """
    try:
        stored = tf.train.Example.FromString(record).features.feature
    except message.DecodeError:
        return "a record is not a tf.train.Example"
    names = {feature.name for feature in features}
    for name, (content, flags) in OPTIONAL_FEATURES.items():
        if (name in stored) != (name in names):
            return (
                f"its records {'contain' if name in stored else 'lack'} {content}; set {flags} to "
                "the value that they were created with"
            )
    for feature in features:
        if feature.name not in stored:
            return f"a record has no {feature.name}"
        numbers = (
            stored[feature.name].float_list if feature.is_float else stored[feature.name].int64_list
        )
        if len(numbers.value) != feature.length:
            return (
                f"a record has {len(numbers.value)} numbers in {feature.name}, but "
                f"{feature.length} are expected; set `max_seq_length` and "
                "`max_predictions_per_seq` as for the records"
            )
        bound = bounds.get(feature.name, math.inf)
        for number in numbers.value:
            if feature.is_float and not math.isfinite(number):
                return f"a record contains {number} in {feature.name}, which must be finite"
            if not (feature.is_float or 0 <= number < bound):
                return (
                    f"a record contains {number} in {feature.name}, but the model supports only 0 "
                    f"to {bound - 1}"
                )
    return None
