"""What a record holds, and its files: schema, writer, reader, the TFRecord format, inspection.

TensorFlow is imported for parsing and for the inspection alone, which is not imported here: worker processes import
this package.
"""

from data_prep.records.reader import read_records
from data_prep.records.schema import (
    Feature,
    classification_features,
    feature_spec,
    parse,
    pretraining_features,
    unmasked_pretraining_features,
)
from data_prep.records.settings import InspectionSettings
from data_prep.records.writer import RecordWriter, frames, serialize

__all__ = ["Feature", "InspectionSettings", "RecordWriter", "classification_features", "feature_spec", "frames",
           "parse", "pretraining_features", "read_records", "serialize", "unmasked_pretraining_features"]
