"""Pre-training records from a corpus: documents, sentence pairs, masks, and shards.

The records are created on one machine or a cluster. This package does not import TensorFlow, which
takes seconds, so that invalid settings are reported immediately.
"""

from data_prep.pretraining.instances import InstanceSettings
from data_prep.pretraining.settings import JobSettings

__all__ = ["InstanceSettings", "JobSettings"]
