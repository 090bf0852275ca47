"""Settings for devices. Does not import TensorFlow."""

import dataclasses
from typing import ClassVar

from bert_tf.cli.settings import Settings, setting

CPU_STRATEGY = "mirrored_cpu"
OBSOLETE = ("tpu_zone", "gcp_project", "master", "num_tpu_cores")  # Obsolete flags of the original BERT.


@dataclasses.dataclass(frozen=True)
class DeviceSettings(Settings):
    """Devices to run on. `run.training.strategies` creates the strategy from them."""

    rare: ClassVar = True

    changeable: ClassVar = True

    distribution_strategy: str = setting(
        "one_device", "one_device: one CPU or GPU. mirrored: all visible GPUs of this machine. mirrored_cpu: two "
                      "replicas on the CPU, for testing without GPUs; not faster than one. multi_worker_mirrored: the "
                      "machines in the environment variable TF_CONFIG. tpu: the TPU of --tpu_name.",
        choices=("one_device", "mirrored", CPU_STRATEGY, "multi_worker_mirrored", "tpu"))
    tpu_name: str | None = setting(None, "Name or grpc:// address of the TPU; not set on a TPU machine.")

    @property
    def strategy_name(self):
        """Name of the strategy to create."""
        return self.distribution_strategy

    def notes(self):
        """Yields a note for each obsolete flag that was set."""
        yield from ()


@dataclasses.dataclass(frozen=True)
class OriginalDeviceSettings(DeviceSettings):
    """Also the flags of the original BERT, for the scripts that it has."""

    use_tpu: bool = setting(
        False, "Short for --distribution_strategy=tpu.",
        not_with=" or ".join(
            f"distribution_strategy={name}" for name in ("mirrored", CPU_STRATEGY, "multi_worker_mirrored")))
    tpu_zone: str | None = setting(None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name.")
    gcp_project: str | None = setting(
        None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name.")
    master: str | None = setting(None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name.")
    num_tpu_cores: int = setting(8, "Ignored. Accepted for compatibility with the original BERT; all cores are used.")

    @property
    def strategy_name(self):
        """See DeviceSettings."""
        return "tpu" if self.use_tpu else self.distribution_strategy

    def notes(self):
        """See DeviceSettings."""
        defaults = OriginalDeviceSettings()
        for name in OBSOLETE:
            if getattr(self, name) != getattr(defaults, name):
                yield f"note: --{name}: obsolete and ignored (see --help)"
