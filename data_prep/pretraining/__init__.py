"""Pre-training records from a corpus: documents, sentence pairs, masks, and shards.

On one machine or a cluster.

Does not import TensorFlow, which takes seconds, so that invalid settings are reported immediately.
"""

from data_prep.pretraining.instances import InstanceSettings
from data_prep.pretraining.settings import JobSettings

__all__ = ["InstanceSettings", "JobSettings"]
