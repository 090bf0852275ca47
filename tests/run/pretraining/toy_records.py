"""Pre-training records that are mostly zeros."""

import numpy as np

from data_prep import records

# Sequence length, and predictions per sequence.
S = 7
P = 3
FEATURES = records.pretraining_features(S, P)


def write_records(path, features, count, **columns):
    """Writes records of zeros, except for the given columns, [count, length].

    Returns the path, a str.
    """
    zeros = {
        feature.name: np.zeros(
            [count, feature.length], np.float32 if feature.is_float else np.int64
        )
        for feature in features
    }
    with records.RecordWriter(str(path), features) as writer:
        writer.write({**zeros, **columns})
    return str(path)


def write_numbered(path, features, first, count):
    """Writes records whose first IDs count up from `first`; returns the path as str."""
    length = next(feature.length for feature in features if feature.name == "input_ids")
    return write_records(
        path,
        features,
        count,
        input_ids=np.pad(np.arange(first, first + count)[:, np.newaxis], [(0, 0), (0, length - 1)]),
    )
