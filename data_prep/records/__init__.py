"""Features of a record and files of records: schema, frames, writer, reader, and inspection.

Only parsing and the inspection require TensorFlow, and this module does not import the inspection:
worker processes import this package.
"""

from data_prep.records.reader import read_records
from data_prep.records.schema import (
    SENTENCE_LABELS,
    Feature,
    classification_features,
    parse,
    pretraining_features,
    unmasked_pretraining_features,
)
from data_prep.records.writer import RecordWriter, compose_frames

__all__ = [
    "SENTENCE_LABELS",
    "Feature",
    "RecordWriter",
    "classification_features",
    "compose_frames",
    "parse",
    "pretraining_features",
    "read_records",
    "unmasked_pretraining_features",
]
