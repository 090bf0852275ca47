"""The chips to compile for: documented figures, and the descriptions that the compilers read."""

import dataclasses

GIB = 2**30
MIB = 2**20
# Fields of XLA's GpuDeviceInfoProto with the same value for both GPUs.
GPU_LIMITS = {
    "threads_per_block_limit": 1024,
    "threads_per_warp": 32,
    "shared_memory_per_block": 48 * 1024,
    "threads_per_core_limit": 2048,
    "block_dim_limit_x": 2**31 - 1,
    "block_dim_limit_y": 65535,
    "block_dim_limit_z": 65535,
    "registers_per_core_limit": 65536,
    "registers_per_block_limit": 65536,
}


@dataclasses.dataclass(frozen=True)
class Chip:
    """A chip as documented by its vendor.

    Attributes:
      title: str. Name for tables.
      memory, reserved: float. Bytes in total, and bytes that libtpu or TensorFlow reserves for
        other purposes than the program.
      topology: str. For a TPU, kind and layout of its chips, such as "v5e:2x2"; empty for a GPU.
      clock: float. For a TPU, Hz, derived from the peak: a v5e has 4 matrix units of 128 x 128
        multiply-adds, a v6e has 2 of 256 x 256.
      device_info: Dict of field to value. For a GPU, its own fields of XLA's GpuDeviceInfoProto.
    """

    title: str
    memory: float
    reserved: float
    topology: str = ""
    clock: float = 0.0
    device_info: dict = dataclasses.field(default_factory=dict)

    @property
    def is_tpu(self):
        """True for a TPU, False for a GPU."""
        return bool(self.topology)

    @property
    def capacity(self):
        """Bytes of memory that are available to a program."""
        return self.memory - self.reserved

    @property
    def target_config(self):
        """The text of XLA's GpuTargetConfigProto for a GPU."""
        fields = {**GPU_LIMITS, **self.device_info, "device_memory_size": int(self.memory)}
        major = fields.pop("major")
        info = " ".join(f"{name}: {value}" for name, value in fields.items())
        return (
            f"gpu_device_info {{ {info} cuda_compute_capability {{ major: {major} }} }} "
            'platform_name: "CUDA" '
            "dnn_version_info { major: 9 minor: 8 } "
            f'device_description_str: "{self.title}"'
        )


CHIPS = {
    "v5e": Chip("TPU v5e", 16 * GIB, 0.25 * GIB, topology="v5e:2x2", clock=1.5e9),
    "v6e": Chip("TPU v6e", 32 * GIB, 0.25 * GIB, topology="v6e:2x2", clock=1.75e9),
    "h100": Chip(
        "NVIDIA H100 80GB HBM3",
        84978434048,
        1800 * MIB,
        device_info={
            "major": 9,
            "memory_bandwidth": 3_352_000_000_000,
            "core_count": 132,
            "fpus_per_core": 128,
            "clock_rate_ghz": 1.98,
            "l2_cache_size": 50 * MIB,
            "shared_memory_per_core": 228 * 1024,
            "shared_memory_per_block_optin": 227 * 1024,
        },
    ),
    "a100": Chip(
        "NVIDIA A100-SXM4-40GB",
        42505273344,
        1536 * MIB,
        device_info={
            "major": 8,
            "memory_bandwidth": 1_555_000_000_000,
            "core_count": 108,
            "fpus_per_core": 64,
            "clock_rate_ghz": 1.41,
            "l2_cache_size": 40 * MIB,
            "shared_memory_per_core": 164 * 1024,
            "shared_memory_per_block_optin": 163 * 1024,
        },
    ),
}
