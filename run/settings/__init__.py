"""Settings that several scripts share, a class a group; and a model's config and tokenizer by them.

Nothing here needs TensorFlow before a tokenizer is read: scripts define their flags of these classes.
"""

from run.settings.devices import DeviceSettings
from run.settings.model import ModelSettings, TokenizerSettings
from run.settings.training import (
    DTYPE_POLICIES,
    OptimizerSettings,
    StepSettings,
    TrainingSettings,
    check_positions,
)

__all__ = ["DTYPE_POLICIES", "DeviceSettings", "ModelSettings", "OptimizerSettings", "StepSettings",
           "TokenizerSettings", "TrainingSettings", "check_positions"]
