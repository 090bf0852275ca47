"""Instances of a corpus of IDs, and the features of their records.

The modules are about objectives, sampling, masking, packing, and assembly. They do not import
TensorFlow, which takes seconds, so that invalid settings are reported immediately.
"""

from data_prep.pretraining.instances.assembly import assemble
from data_prep.pretraining.instances.generation import Instances, create_instances
from data_prep.pretraining.instances.sampling import create_random_state
from data_prep.pretraining.instances.settings import (
    OBJECTIVES,
    InstanceSettings,
    Objective,
    RecordSettings,
)

__all__ = [
    "OBJECTIVES",
    "InstanceSettings",
    "Instances",
    "Objective",
    "RecordSettings",
    "assemble",
    "create_instances",
    "create_random_state",
]
