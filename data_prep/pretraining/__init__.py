"""A corpus to records of pre-training: documents, sentence pairs, masks, shards; on one machine or a cluster.

Imports no TensorFlow: worker processes import this package.
"""

from data_prep.pretraining.instances import InstanceSettings
from data_prep.pretraining.settings import JobSettings

__all__ = ["InstanceSettings", "JobSettings"]
