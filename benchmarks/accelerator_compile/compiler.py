"""Compilation of a tf.function for a chip that is not attached.

XLA computes the memory of three orders of operations (list, depth-first, and post-order), and takes
the smallest, or the list if they are equal. For BERT-Base on a TPU, list and depth-first differ by
less than 0.01 GiB, but by 6% of the cycles: in depth-first order, libtpu prefetches the optimizer
state. So a small change of a program can change its estimate by 6%. LIBTPU_INIT_ARGS sets the order
(docs/accelerators.md), also for the peer. With "--vmodule=hlo_memory_scheduler=2
--stderrthreshold=0" in that variable, and TPU_STDERR_LOG_LEVEL and TPU_MIN_LOG_LEVEL set to 0,
libtpu logs its choice.
"""

import importlib.util
import os
import re

from benchmarks.accelerator_compile.chips import CHIPS, GIB
from bert_tf.errors import InputError

# By default, libtpu queries a metadata server for the machine, excludes other processes, and writes
# logs.
TPU_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
    "TPU_MIN_LOG_LEVEL": "3",
}
GPU_ENVIRONMENT = {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"}  # Otherwise, the plugin requires a GPU.
# These options make the generated code slower, but the compiled HLO and the memory are the same.
GPU_OPTIONS = {
    "xla_llvm_disable_expensive_passes": True,
    "xla_gpu_disable_gpuasm_optimizations": True,
}


class OutOfMemoryError(ValueError):
    """Raised if the step needs more memory than the chip has.

    `needed` is the number of bytes from the compiler.
    """

    def __init__(self, needed):
        super().__init__(f"the step needs {needed / GIB:.2f} GiB")
        self.needed = needed


def check_installed(chip):
    """Raises InputError if JAX or its compiler for a chip, a name in CHIPS, is not installed."""
    plugin, extra = (
        ("libtpu", "tpu-check") if CHIPS[chip].is_tpu else ("jax_cuda12_plugin", "gpu-check")
    )
    for package in ("jax", plugin):
        if importlib.util.find_spec(package) is None:
            raise InputError(
                f"{package} is not installed; run pip install -e '.[{extra}]'", "chip", chip
            )


def lower(step, arguments, is_tpu):
    """Lowers a tf.function to StableHLO text for a TPU or a GPU.

    Without these devices, TensorFlow lowers for the CPU, which differs in two ways. It writes
    MHLO's copy, which the compilers do not read, before updated variables: replaced with a reshape
    to the same shape. And stateless sampling of tf.random, as in dropout, uses Philox on CPUs and
    GPUs, but on a TPU the chip's own generator, seeded with two numbers (TensorFlow's
    `DefaultRngAlgForDeviceType`); tf.random.Generator still uses Philox.

    Raises:
      ValueError: If XLA rejects an operation. The message names it.
    """
    write_module = step.experimental_get_compiler_ir(arguments)
    try:
        module = write_module(stage="stablehlo", platform_name="CPU")
    except ValueError as error:
        names = re.findall(r"\w+(?= \(No registered)|(?<= with op )\w+", str(error))
        operations = ", ".join(dict.fromkeys(names)) or "the step"
        reason = str(error).splitlines()[0]
        raise ValueError(f"XLA rejects {operations}: {reason}") from error
    module = re.sub(
        r"mhlo\.copy (%\S+) : (tensor<\S+>)", r"stablehlo.reshape \1 : (\2) -> \2", module
    )
    if not is_tpu:
        return module
    return re.sub(
        r"(%\w+), (%\w+) = stablehlo\.rng_bit_generator (%\w+), algorithm = +PHILOX : "
        r"\(tensor<3xui64>\) -> \(tensor<3xui64>, (tensor<\w+xui32>)\)",
        r"\1_seed = stablehlo.slice \3 [0:2] : (tensor<3xui64>) -> tensor<2xui64>\n"
        r"\1_state, \2 = stablehlo.rng_bit_generator \1_seed, algorithm = DEFAULT : "
        r"(tensor<2xui64>) -> (tensor<2xui64>, \4)\n"
        r"\1 = stablehlo.reshape \3 : (tensor<3xui64>) -> tensor<3xui64>",
        module,
    )


def compile_module(module, chip):
    """Compiles StableHLO text for one chip; returns JAX's executable, which cannot run.

    Args:
      module: str.
      chip: str. A name in CHIPS.

    Raises:
      OutOfMemoryError: If the chip's memory is too small.
      ValueError: If the compiler rejects the module for another reason.
    """
    described = CHIPS[chip]
    for name, value in (TPU_ENVIRONMENT if described.is_tpu else GPU_ENVIRONMENT).items():
        os.environ.setdefault(name, value)
    # JAX is an optional extra, which reads the environment on import.
    from jax.experimental import topologies
    from jax.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    options = xla_client.CompileOptions()
    if described.is_tpu:
        device = topologies.get_topology_desc(described.topology, "tpu").devices[0]
    else:
        device = topologies.get_topology_desc(
            "1x1x1", "cuda", topology="1x1x1", target_config=described.target_config
        ).devices[0]
        options.env_option_overrides = list(GPU_OPTIONS.items())
    try:
        with mlir.make_ir_context():
            return device.client.compile(
                ir.Module.parse(module),
                executable_devices=xla_client.DeviceList((device,)),
                compile_options=options,
            )
    except (RuntimeError, ir.MLIRError) as error:
        check_memory(str(error))
        raise ValueError(f"the compiler rejects the step: {error}") from error


def check_memory(message):
    """Raises OutOfMemoryError if a compiler message reports it."""
    used = re.search(r"Used ([\d.]+)([KMGT]?) of [\d.]+[KMGT]? hbm", message) or re.search(
        r"\(([\d.]+)([KMGT]?)\) exceeds available HBM", message
    )
    if used:
        raise OutOfMemoryError(round(float(used[1]) * 1024 ** " KMGT".index(used[2] or " ")))
