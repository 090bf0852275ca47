"""A corpus of ids -> instances, packs of them and their features: objectives, random draws, masks, packing.

Imports no TensorFlow: worker processes import this package.
"""

from data_prep.pretraining.instances.assembly import assemble
from data_prep.pretraining.instances.instances import Instances, check_documents, create_instances
from data_prep.pretraining.instances.objectives import OBJECTIVES, Objective
from data_prep.pretraining.instances.sampling import Sampler
from data_prep.pretraining.instances.settings import InstanceSettings

__all__ = ["OBJECTIVES", "InstanceSettings", "Instances", "Objective", "Sampler", "assemble", "check_documents",
           "create_instances"]
