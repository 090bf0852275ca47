"""What a record holds, and its files: schema, writer, reader, the TFRecord format. TensorFlow serves parsing alone."""

from data_prep.records.reader import read_records
from data_prep.records.schema import (
    Feature,
    classification_features,
    feature_spec,
    parse,
    pretraining_features,
    unmasked_pretraining_features,
)
from data_prep.records.writer import RecordWriter, serialize

__all__ = ["Feature", "RecordWriter", "classification_features", "feature_spec", "parse", "pretraining_features",
           "read_records", "serialize", "unmasked_pretraining_features"]
