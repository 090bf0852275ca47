"""Settings that several scripts share, one class per group.

Scripts define their flags from these classes, so they do not import TensorFlow.
"""

from run.settings.training import (
    DTYPE_POLICIES,
    DeviceSettings,
    OptimizerSettings,
    OriginalDeviceSettings,
    StepSettings,
    TrainingSettings,
    check_positions,
)

__all__ = ["DTYPE_POLICIES", "DeviceSettings", "OptimizerSettings", "OriginalDeviceSettings", "StepSettings",
           "TrainingSettings", "check_positions"]
