"""The reference runs of pre-training records, and records read without the code of this project."""

import hashlib
import json
import pathlib

import numpy as np
import tensorflow as tf

REFERENCE = pathlib.Path(__file__).parents[2] / "reference" / "text"
VOCAB_FILE = str(REFERENCE / "vocab.txt")
CORPUS_FILE = str(REFERENCE / "corpus.txt")
RUNS = {run["name"]: run for run in json.loads((REFERENCE / "pretraining.json").read_text())}


def read_records(path):
    """All records of a file, as dicts of feature name to int64 or float32 arrays."""
    found = []
    for serialized in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        features = tf.train.Example.FromString(serialized).features.feature
        found.append(
            {
                name: np.array(feature.int64_list.value, "<i8")
                if feature.HasField("int64_list")
                else np.array(feature.float_list.value, "<f4")
                for name, feature in features.items()
            }
        )
    return found


def digest(found):
    """SHA-256 of records, as tests/reference/README.md defines it."""
    sha256 = hashlib.sha256()
    for record in found:
        for name in sorted(record):
            sha256.update(name.encode())
            sha256.update(record[name].tobytes())
    return sha256.hexdigest()


def contents(folder):
    """Dict of file name to SHA-256, without the descriptions of the run and its shards."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(pathlib.Path(folder).iterdir())
        if not path.name.endswith(".json")
    }
