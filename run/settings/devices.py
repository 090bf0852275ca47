"""Settings for devices. Does not import TensorFlow."""

import dataclasses
from typing import ClassVar

from bert_tf.cli.settings import Settings, setting

TPU = "use_tpu or distribution_strategy=tpu"
OBSOLETE = ("tpu_zone", "gcp_project", "master", "num_tpu_cores")  # Obsolete flags of the original BERT.


@dataclasses.dataclass(frozen=True)
class DeviceSettings(Settings):
    """Devices to run on. `run.training.strategies` creates the strategy from them."""

    changeable: ClassVar = True

    distribution_strategy: str = setting(
        "one_device", "one_device: one CPU or GPU. mirrored: all GPUs of this machine. multi_worker_mirrored: the "
                      "machines in the environment variable TF_CONFIG. tpu: the TPU of --tpu_name.",
        choices=("one_device", "mirrored", "multi_worker_mirrored", "tpu"))
    num_gpus: int | None = setting(
        None, "Number of GPUs to use. Defaults to all visible GPUs, or to one for one_device.", lower=0,
        not_with=(TPU, "num_cpu_devices"))
    num_cpu_devices: int | None = setting(
        None, "With --distribution_strategy=mirrored: number of replicas on the CPU, for testing without GPUs; not "
              "faster than one.", lower=1)
    allow_tf32: bool = setting(
        False, "Let GPUs round the inputs of float32 matrix multiplications to 10 bits (TensorFloat-32, NVIDIA Ampere "
               "and newer), which is much faster. By default, float32 is exact on all devices.",
        not_with=(TPU, "num_cpu_devices"))
    use_tpu: bool = setting(
        False, "Short for --distribution_strategy=tpu.",
        not_with="distribution_strategy=mirrored or distribution_strategy=multi_worker_mirrored")
    tpu_name: str | None = setting(None, "Name or grpc:// address of the TPU; not set on a TPU machine.")
    tpu_zone: str | None = setting(None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name.")
    gcp_project: str | None = setting(
        None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name.")
    master: str | None = setting(None, "Ignored. Accepted for compatibility with the original BERT; use --tpu_name.")
    num_tpu_cores: int = setting(8, "Ignored. Accepted for compatibility with the original BERT; all cores are used.")

    @property
    def strategy_name(self):
        """Name of the strategy to create, including the effect of `use_tpu`."""
        return "tpu" if self.use_tpu else self.distribution_strategy

    def notes(self):
        """Yields a note for each obsolete flag that was set."""
        defaults = DeviceSettings()
        for name in OBSOLETE:
            if getattr(self, name) != getattr(defaults, name):
                yield f"note: --{name}: obsolete and ignored (see --help)"
