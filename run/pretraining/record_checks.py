"""Looking through files of records: how many there are, and where one is that training cannot use."""

import concurrent.futures
import contextlib
import math
import mmap
import os
import sys

import numpy as np
import tensorflow as tf
from google.protobuf import message

from bert_tf.errors import InputError
from bert_tf.files import is_remote
from data_prep import records
from data_prep.records import frames
from run.pretraining import dynamic_masking

FRAME_BYTES = frames.HEADER.size + frames.FOOTER.size  # around each record
SCAN_RECORDS = 1000  # records looked at together
CHECKED_RECORDS = 100  # of each file, before training starts
SIDE_BY_SIDE = 16  # files that are counted together, and remote ones that are checked
# What records hold that are not to be read with the settings given: a feature of theirs -> what to do.
UNASKED = {
    "masked_lm_positions": "hold masks, and would be masked twice: give `masking`=static, or make records with "
                           "`masking`=dynamic",
    "positions": "hold several sequences each: give `pack_sequences`",
    "next_sentence_labels": "say of each pair whether the second part is the next: give `objective`=sentence_pairs, or "
                            "make records of this `objective`",
    "sentence_order_labels": "say of each pair whether its parts are swapped: give `objective`=sentence_order, or make "
                             "records of this `objective`",
}
LACKED = {
    "positions": "each hold one sequence: leave out `pack_sequences`, or make records with it",
    "next_sentence_labels": "do not say whether the second part is the next one: give the `objective` they were made "
                            "with",
    "sentence_order_labels": "do not say whether the parts are swapped: give the `objective` they were made with",
}


def pretraining_limits(config, instances):
    """Dict of name -> int: the numbers of a pre-training record's feature must be less.

    Args:
      config: BertConfig.
      instances: InstanceSettings of the records.
    """
    length, label = instances.max_seq_length, instances.what.sentence_label
    return {"input_ids": config.vocab_size, "input_mask": instances.most_packed + 1 if instances.most_packed else 2,
            "segment_ids": config.type_vocab_size, "positions": length, "masked_lm_positions": length,
            "masked_lm_ids": config.vocab_size, f"{label}_labels": 2, f"{label}_positions": length}


def check_pretraining_records(paths, features, limits):
    """Raises InputError, naming the file, unless the first records of each file suit the model.

    Args:
      paths: TFRecord files.
      features: of data_prep.records.pretraining_features, or of unmasked_pretraining_features, for records that hold
        no masks either.
      limits: of pretraining_limits.
    """
    def check(path):
        held = _first_features(path)
        for told, is_wrong in ((UNASKED, lambda name: name in held and name not in names),
                               (LACKED, lambda name: name in names and name not in held)):
            wrong = next((told[name] for name in told if held and is_wrong(name)), None)
            if wrong:
                raise InputError(f"{path}: its records {wrong}")
        wrong = find_bad_record([path], features, limits, CHECKED_RECORDS)
        if wrong:
            raise InputError(wrong)
        if held is None:
            raise InputError(f"{path}: holds no records")

    names = {feature.name for feature in features}
    # Of a remote file, the first record takes about as long as the first megabytes.
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE if any(map(is_remote, paths)) else 1) as pool:
        for _ in pool.map(check, paths):
            pass


def _first_features(path):
    """The names of the first record's features; none if it cannot be read; None for a file without records."""
    try:
        first = next(iter(tf.data.TFRecordDataset(path)), None)
        return None if first is None else set(tf.train.Example.FromString(first.numpy()).features.feature)
    except (tf.errors.DataLossError, message.DecodeError):  # find_bad_record says where and what
        return set()


@contextlib.contextmanager
def bad_records_named(paths, features, limits):
    """Turns an error that a bad record causes within into an InputError that names its file and byte.

    Args:
      paths, features, limits: as check_pretraining_records's.
    """
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        if dynamic_masking.TOO_MANY in str(error):
            raise InputError(dynamic_masking.TOO_MANY) from error
        print(f"looking for a bad record in {len(paths)} files", file=sys.stderr)
        wrong = find_bad_record(paths, features, limits)
        if wrong:
            raise InputError(wrong) from error
        raise


def count_records(paths):
    """The records in each of some TFRecord files, list of int; of a local file only the headers are looked at.

    Raises:
      InputError: a file ends within a record.
    """
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return list(pool.map(lambda path: _count_remote(path) if is_remote(path) else _count_local(path), paths))


def assert_within(features, limits):
    """Checks that the model has room for a batch's numbers; a graph function.

    Args:
      features: dict of name -> [B, length] int32, or float32, which must be finite.
      limits: dict of name -> int: numbers of that feature must be at least 0 and less than this.

    Returns:
      features; whoever uses them runs the check.

    Raises:
      tf.errors.InvalidArgumentError: naming the feature.
    """
    checks = []
    for name, values in features.items():
        if values.dtype.is_floating:
            checks.append(tf.debugging.Assert(tf.reduce_all(tf.math.is_finite(values)), [f"{name} is not finite"]))
        elif name in limits:
            within = tf.reduce_all((values >= 0) & (values < limits[name]))
            checks.append(tf.debugging.Assert(within, [f"{name} is not within 0 and {limits[name] - 1}"]))
    with tf.control_dependencies([check for check in checks if check is not None]):  # None when run eagerly
        return {name: tf.identity(values) for name, values in features.items()}


def find_bad_record(paths, features, limits, most_records=None):
    """Looks for a record that cannot be read, or that is not of these features and within these limits.

    Args:
      paths: TFRecord files.
      features: sequence of data_prep.records.Feature.
      limits: as assert_within's.
      most_records: of each file, how many to look at; None for all.

    Returns:
      "FILE: the record at byte N ..." for the first such record in the order of the files; None without any.
    """
    for path in paths:
        data = tf.data.TFRecordDataset(path)
        data = data if most_records is None else data.take(most_records)
        offset = number = 0
        batches = iter(data.batch(SCAN_RECORDS))
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    break
                assert_within(records.parse(batch, features), limits)
            except (tf.errors.DataLossError, tf.errors.InvalidArgumentError):
                return _find_in(data.skip(number), path, offset, features, limits)
            offset += int(tf.reduce_sum(tf.strings.length(batch))) + FRAME_BYTES * len(batch)
            number += len(batch)
    return None


def _find_in(data, path, offset, features, limits):
    """Says what is wrong with the first bad record of a dataset that begins at a byte of a file."""
    records_left = iter(data)
    while True:
        where = f"{path}: the record at byte {offset:,}"
        try:
            record = next(records_left).numpy()
        except tf.errors.DataLossError:
            return f"{where} is damaged or cut off" if offset else f"{path}: is no TFRecord file, or damaged"
        wrong = _unlike(record, features, limits)
        if wrong:
            return f"{where} {wrong}"
        offset += len(record) + FRAME_BYTES


def _unlike(record, features, limits):
    """In what a record (bytes) differs from one of these features within these limits; None if in nothing."""
    try:
        held = tf.train.Example.FromString(record).features.feature
    except message.DecodeError:
        return "is no tf.train.Example"
    for feature in features:
        if feature.name not in held:
            return f"has no {feature.name}"
        numbers = held[feature.name].float_list if feature.is_float else held[feature.name].int64_list
        if len(numbers.value) != feature.length:
            return (f"has {len(numbers.value)} numbers in {feature.name}, {feature.length} are expected: it was made "
                    "for other sizes")
        limit = limits.get(feature.name, math.inf)
        for number in numbers.value:
            if feature.is_float and not math.isfinite(number):
                return f"holds {number} in {feature.name}, which must be finite"
            if not (feature.is_float or 0 <= number < limit):
                return f"holds {number} in {feature.name}, the model has room for 0 to {limit - 1}"
    return None


def _count_local(path):
    count = offset = 0
    size = os.path.getsize(path)
    if not size:
        return 0
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        while offset + FRAME_BYTES <= size:
            offset += frames.HEADER.unpack_from(data, offset)[0] + FRAME_BYTES
            count += 1
    if offset != size:
        raise InputError(f"{path}: is damaged or cut off: record {count:,} does not end where the next begins")
    return count


def _count_remote(path):
    batches = tf.data.TFRecordDataset(path).batch(SCAN_RECORDS)
    add = tf.autograph.experimental.do_not_convert(lambda count, batch: count + tf.size(batch, tf.int64))
    return int(batches.reduce(np.int64(0), add))
