"""Compilation of a tf.function with the TPU compiler."""

import importlib.util
import os
import re

from bert_tf.errors import InputError

# By default, libtpu queries a metadata server for the machine, excludes other processes, and writes logs.
LIBTPU_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
    "TPU_MIN_LOG_LEVEL": "3",
}


class OutOfMemoryError(ValueError):
    """Raised if the step needs more memory than the chip has.

    Attributes:
      needed, capacity: int. Bytes, from the compiler. The capacity is slightly less than the chip's memory.
    """

    def __init__(self, needed, capacity):
        super().__init__(f"the step needs {needed / 2**30:.2f} GiB, the chip has {capacity / 2**30:.2f} GiB")
        self.needed = needed
        self.capacity = capacity


def first_device(topology):
    """Returns a device to compile for, from a topology such as "v5e:2x2".

    Raises:
      InputError: If JAX or libtpu is not installed, or if libtpu does not know the topology.
    """
    for package in ("jax", "libtpu"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"{package} is not installed: pip install -e '.[tpu-check]'")
    for name, value in LIBTPU_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from jax.experimental import topologies  # An optional extra, which reads the environment on import.

    try:
        return topologies.get_topology_desc(topology, "tpu").devices[0]
    except RuntimeError as error:
        raise InputError(f"`topology`={topology}: {error}") from error


def lower(step, *arguments):
    """Lowers a tf.function to StableHLO text for a TPU.

    Without a TPU, TensorFlow lowers for the CPU, which differs in two ways. It writes MHLO's copy, which the TPU
    compiler does not read, before updated variables: replaced with a reshape to the same shape. And stateless sampling
    of tf.random, as in dropout, uses Philox on a CPU, but on a TPU the chip's own generator, seeded with two numbers
    (TensorFlow's `DefaultRngAlgForDeviceType`); tf.random.Generator still uses Philox.

    Raises:
      ValueError: If XLA rejects an operation. The message names it.
    """
    write_module = step.experimental_get_compiler_ir(*arguments)
    try:
        module = write_module(stage="stablehlo", platform_name="CPU")
    except ValueError as error:
        names = re.findall(r"\w+(?= \(No registered)|(?<= with op )\w+", str(error))
        reason = str(error).splitlines()[0]
        raise ValueError(f"XLA rejects {', '.join(dict.fromkeys(names)) or 'the step'}: {reason}") from error
    module = re.sub(r"mhlo\.copy (%\S+) : (tensor<\S+>)", r"stablehlo.reshape \1 : (\2) -> \2", module)
    return re.sub(
        r"(%\w+), (%\w+) = stablehlo\.rng_bit_generator (%\w+), algorithm = +PHILOX : "
        r"\(tensor<3xui64>\) -> \(tensor<3xui64>, (tensor<\w+xui32>)\)",
        r"\1_seed = stablehlo.slice \3 [0:2] : (tensor<3xui64>) -> tensor<2xui64>\n"
        r"\1_state, \2 = stablehlo.rng_bit_generator \1_seed, algorithm = DEFAULT : "
        r"(tensor<2xui64>) -> (tensor<2xui64>, \4)\n"
        r"\1 = stablehlo.reshape \3 : (tensor<3xui64>) -> tensor<3xui64>", module)


def compile_for_tpu(module, device):
    """Compiles StableHLO text for one device of a topology; returns JAX's executable, which cannot run.

    Raises:
      OutOfMemoryError: If the chip's memory is too small.
      ValueError: If the compiler rejects the module for another reason.
    """
    from jax.interpreters import mlir  # An optional extra.
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    try:
        with mlir.make_ir_context():
            return device.client.compile(ir.Module.parse(module), executable_devices=xla_client.DeviceList((device,)),
                                         compile_options=xla_client.CompileOptions())
    except (RuntimeError, ir.MLIRError) as error:
        check_memory(str(error))
        raise ValueError(f"the TPU compiler rejects the step: {error}") from error


def check_memory(message):
    """Raises OutOfMemoryError if a compiler message reports it."""
    used = (re.search(r"Used ([\d.]+)([KMGT]?) of ([\d.]+)([KMGT]?) hbm", message)
            or re.search(r"\(([\d.]+)([KMGT]?)\) exceeds available HBM \(([\d.]+)([KMGT]?)\)", message))
    if used:
        raise OutOfMemoryError(*(round(float(number) * 1024 ** " KMGT".index(unit or " "))
                            for number, unit in (used.groups()[:2], used.groups()[2:])))
