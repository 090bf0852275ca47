"""Checks of record files: number of records, and files with invalid records."""

import concurrent.futures
import contextlib
import math
import sys

import numpy as np
import tensorflow as tf
from google.protobuf import message

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import is_remote
from data_prep import records
from data_prep.records import reader
from run.pretraining import dynamic_masking

SCAN_RECORDS = 1000  # Number of records to parse together.
CHECKED_RECORDS = 100  # Number of records per file to check before training.
NUM_THREADS = 16  # Number of files to count in parallel, and of remote files to check.
# Features of some kinds of records: their content, and the settings that determine whether records have them.
FEATURES_OF_KINDS = {
    "masked_lm_positions": ("masks", "`masking` or `objective`"),
    "positions": ("several sequences each", "`pack_sequences`"),
    "next_sentence_labels": ("next sentence labels", "`objective`"),
    "sentence_order_labels": ("sentence order labels", "`objective`"),
}
CORRUPTED = "is corrupted, truncated, or not a TFRecord file; inspect_records finds the byte"


def pretraining_limits(config, instances):
    """Returns dict of feature name to int: the exclusive upper bound of its numbers in pre-training records.

    Args:
      config: BertConfig.
      instances: InstanceSettings of the records.
    """
    length, label = instances.max_seq_length, instances.objective_spec.sentence_label
    return {"input_ids": config.vocab_size, "input_mask": instances.most_packed + 1 if instances.most_packed else 2,
            "segment_ids": config.num_segments, "positions": length, "masked_lm_positions": length,
            "masked_lm_ids": config.vocab_size, f"{label}_labels": 2, f"{label}_positions": length}


def check_pretraining_records(paths, features, limits):
    """Raises InputError, naming the file, unless the first records of each file match the model.

    Args:
      paths: Paths of TFRecord files.
      features: Features from data_prep.records.pretraining_features, or from unmasked_pretraining_features for records
        without masks.
      limits: Result of `pretraining_limits`.

    Returns:
      List of the paths of files that contain records; others are empty.
    """
    def check(path):
        """Returns whether a file contains records."""
        present = _first_features(path)
        for name, (content, flags) in FEATURES_OF_KINDS.items():
            if present and (name in present) != (name in names):
                raise InputError(f"{path}: its records {'contain' if name in present else 'lack'} {content}; set "
                                 f"{flags} to the value that they were created with")
        wrong = find_bad_record([path], features, limits, CHECKED_RECORDS)
        if wrong:
            raise InputError(wrong)
        return present is not None

    names = {feature.name for feature in features}
    # Reading the first record of a remote file takes about as long as reading its first megabytes.
    with concurrent.futures.ThreadPoolExecutor(NUM_THREADS if any(map(is_remote, paths)) else 1) as pool:
        return [path for path, has_records in zip(paths, pool.map(check, paths), strict=True) if has_records]


def _first_features(path):
    """Returns the names of the first record's features; none if it is unreadable; None for a file without records."""
    try:
        first = next(iter(tf.data.TFRecordDataset(path)), None)
        return None if first is None else set(tf.train.Example.FromString(first.numpy()).features.feature)
    except (tf.errors.DataLossError, message.DecodeError):  # find_bad_record reports the reason.
        return set()


@contextlib.contextmanager
def name_bad_file(paths, features, limits):
    """Converts an error caused by a bad record to an InputError that names its file.

    See `check_pretraining_records` for the arguments.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        if dynamic_masking.TOO_MANY_MASKS in str(error):
            raise InputError(dynamic_masking.TOO_MANY_MASKS) from error
        print(f"searching {len(paths)} files for an invalid record", file=sys.stderr)
        wrong = find_bad_record(paths, features, limits)
        if wrong:
            raise InputError(wrong) from error
        raise


def count_records(paths):
    """Counts the records of TFRecord files: list of int. Raises tf.errors.DataLossError if a file is damaged."""
    def count(path):
        batches = tf.data.TFRecordDataset(path).batch(SCAN_RECORDS)
        add = tf.autograph.experimental.do_not_convert(lambda total, batch: total + tf.size(batch, tf.int64))
        return int(batches.reduce(np.int64(0), add))

    with concurrent.futures.ThreadPoolExecutor(NUM_THREADS) as pool:
        return list(pool.map(count, paths))


def assert_within(features, limits):
    """Checks that a batch's numbers are within the model's limits; a graph function.

    Args:
      features: Dict of name to [B, length] int32, or float32, which must be finite.
      limits: Dict of name to int. Numbers of that feature must be at least 0 and less than this.

    Returns:
      features. Using them runs the check.

    Raises:
      tf.errors.InvalidArgumentError: If a feature is out of range. Names the feature.
    """
    checks = []
    for name, values in features.items():
        if values.dtype.is_floating:
            checks.append(tf.debugging.Assert(tf.reduce_all(tf.math.is_finite(values)), [f"{name} is not finite"]))
        elif name in limits:
            within = tf.reduce_all((values >= 0) & (values < limits[name]))
            checks.append(tf.debugging.Assert(within, [f"{name} is not between 0 and {limits[name] - 1}"]))
    with tf.control_dependencies([check for check in checks if check is not None]):  # None in eager mode.
        return {name: tf.identity(values) for name, values in features.items()}


def find_bad_record(paths, features, limits, most_records=None):
    """Finds the first file with a record that is unreadable, has other features, or exceeds the limits.

    Args:
      paths: Paths of TFRecord files.
      features: Sequence of data_prep.records.Feature.
      limits: See `assert_within`.
      most_records: int. Maximum number of records per file to check. None for all.

    Returns:
      "FILE: ..." with the reason for the first such file, or None.
    """
    for path in paths:
        data = tf.data.TFRecordDataset(path)
        data = data if most_records is None else data.take(most_records)
        batch = ()
        try:
            for batch in data.batch(SCAN_RECORDS):
                assert_within(records.parse(batch, features), limits)
        except tf.errors.DataLossError:
            with files.at(path).open() as file:
                is_compressed = file.read(len(reader.GZIP)) == reader.GZIP
            return f"{path}: {reader.COMPRESSED if is_compressed else CORRUPTED}"
        except tf.errors.InvalidArgumentError:
            reasons = (_describe_mismatch(record, features, limits) for record in batch.numpy())
            return f"{path}: a record {next(filter(None, reasons))}"
    return None


def _describe_mismatch(record, features, limits):
    """Describes how a record (bytes) differs from these features and limits; returns None if it matches."""
    try:
        stored = tf.train.Example.FromString(record).features.feature
    except message.DecodeError:
        return "is not a tf.train.Example"
    for feature in features:
        if feature.name not in stored:
            return f"has no {feature.name}"
        numbers = stored[feature.name].float_list if feature.is_float else stored[feature.name].int64_list
        if len(numbers.value) != feature.length:
            return (f"has {len(numbers.value)} numbers in {feature.name}, but {feature.length} are expected; set "
                    "`max_seq_length` and `max_predictions_per_seq` as for the records")
        limit = limits.get(feature.name, math.inf)
        for number in numbers.value:
            if feature.is_float and not math.isfinite(number):
                return f"contains {number} in {feature.name}, which must be finite"
            if not (feature.is_float or 0 <= number < limit):
                return f"contains {number} in {feature.name}, but the model supports only 0 to {limit - 1}"
    return None
