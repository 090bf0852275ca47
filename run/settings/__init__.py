"""Settings that several scripts share, a class a group.

Nothing here imports TensorFlow: scripts define their flags from these classes.
"""

from run.settings.devices import DeviceSettings
from run.settings.training import (
    DTYPE_POLICIES,
    OptimizerSettings,
    StepSettings,
    TrainingSettings,
    check_positions,
)

__all__ = ["DTYPE_POLICIES", "DeviceSettings", "OptimizerSettings", "StepSettings",
           "TrainingSettings", "check_positions"]
