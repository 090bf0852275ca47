"""Settings for devices. Does not import TensorFlow."""

import dataclasses

from bert_tf.cli.settings import Settings, setting

UNNEEDED = ("tpu_zone", "gcp_project", "master", "num_tpu_cores")  # Obsolete flags of the original BERT.


@dataclasses.dataclass(frozen=True)
class DeviceSettings(Settings):
    """Devices to run on. `run.training.strategies` creates the strategy from them."""

    distribution_strategy: str = setting(
        "one_device", "one_device: one CPU or GPU; mirrored: all GPUs of this machine; multi_worker_mirrored: the "
                      "machines that the environment variable TF_CONFIG lists; tpu: the TPU that --tpu_name names.",
        choices=("one_device", "mirrored", "multi_worker_mirrored", "tpu"))
    num_gpus: int | None = setting(
        None, "GPUs to use; unset means all that are visible (one for one_device).", lower=0)
    num_cpu_devices: int | None = setting(
        None, "With --distribution_strategy=mirrored: so many replicas on the CPU, to try it on a machine without "
              "GPUs; it is no faster.", lower=1)
    allow_tf32: bool = setting(
        False, "Let GPUs round the inputs of float32 matrix products to 10 bits (TensorFloat-32, NVIDIA's Ampere and "
               "newer), which is much faster. Unset, float32 is float32 on every device.")
    use_tpu: bool = setting(False, "Short for --distribution_strategy=tpu.")
    tpu_name: str | None = setting(None, "Name or grpc:// address of the TPU; unset on a TPU machine.")
    connect_timeout: float = setting(
        120.0, "Seconds to wait for the TPU of a grpc:// address until it can be reached.", lower=0)
    tpu_zone: str | None = setting(None, "Accepted as in the original, not needed: --tpu_name says it all.")
    gcp_project: str | None = setting(None, "Accepted as in the original, not needed: --tpu_name says it all.")
    master: str | None = setting(None, "Accepted as in the original, not needed: --tpu_name says it all.")
    num_tpu_cores: int = setting(8, "Accepted as in the original, not needed: all cores are used.")

    @property
    def strategy_name(self):
        """Name of the strategy to create, including the effect of `use_tpu`."""
        return "tpu" if self.use_tpu else self.distribution_strategy

    def notes(self):
        """Yields a note for each obsolete flag that was set."""
        defaults = DeviceSettings()
        for name in UNNEEDED:
            if getattr(self, name) != getattr(defaults, name):
                yield f"--{name}: accepted, and not needed any more (see --help)"
