"""Selection of devices: tf.distribute strategies by name."""

import contextlib
import glob
import os
import sys

import tensorflow as tf
from official.common import distribute_utils

from bert_tf import notes, processor
from bert_tf.errors import InputError, LostWorkerError
from bert_tf.fast import Fast
from run.training import clusters
from run.training.padding import Padding
from run.training.settings import CPU_STRATEGY, TF32

BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}  # x86, matrix units of x86, ARM.
# Minimum hidden_size: steps of smaller models are so short that compilation takes longer.
MIN_COMPILED = 256
GPU_VOCABULARY_MULTIPLE = 8  # 16 bytes, the row size of a GPU's matrix units, in 16-bit values.
GRPC = "grpc://"  # Prefix of a TPU's address.
LOCAL = "local"  # TensorFlow's name for the TPU of this machine.
CPU_REPLICAS = 2  # For the strategy mirrored_cpu.
GPU_FILES = "/dev/nvidia[0-9]*"  # NVIDIA's driver creates one per GPU.
# Variable with which TensorFlow's oneDNN kernels keep a copy of the first weights that they see.
FROZEN_WEIGHTS = "TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"


def make_strategy(devices, mixed_precision="float32", changes_weights=True):
    """Creates the strategy from DeviceSettings. Call it before TensorFlow computes anything.

    If `mixed_precision` is tf32, GPUs round the inputs of matrix multiplications. This is
    TensorFlow's default. It has about the precision of float16 and changes the losses, so it is
    disabled with any other `mixed_precision`.

    Notes on standard error name each obsolete flag, and say why TensorFlow does not see a GPU of
    the machine, since scripts hide TensorFlow's own warning. TensorFlow chooses the all-reduce,
    which is NCCL on GPUs. With several workers, TensorFlow waits until all of them have started.

    Args:
      devices: DeviceSettings.
      mixed_precision: str. Type of the computation.
      changes_weights: bool. Whether weights change after their first use, as in training.

    Returns:
      tf.distribute.Strategy.

    Raises:
      InputError: If there is no TPU, if TF_CONFIG is invalid, or if the environment promises that
        weights do not change, but they do.
    """
    if changes_weights:
        _reject_frozen_weights()
    for note in devices.notes():
        notes.tell(note)
    name = devices.strategy_name
    if name == CPU_STRATEGY:
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0],
            [tf.config.LogicalDeviceConfiguration()] * CPU_REPLICAS,
        )
        return tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(CPU_REPLICAS)])
    tf.config.experimental.enable_tensor_float_32_execution(mixed_precision == TF32)
    num_gpus = _count_gpus(name)
    starting = contextlib.nullcontext()
    if name == "multi_worker_mirrored":
        if cluster := clusters.read_cluster():
            own, tasks = cluster
            others = ", ".join(
                f"{task} at {address}" for task, address in tasks.items() if task != own
            )
            notes.write_line(f"{own} at {tasks[own]}: waiting for {others or 'no other worker'}")
            starting = clusters.end_on_signals()
        else:
            notes.tell(f"{clusters.VARIABLE} has no cluster, so this process is the only worker")
    address = devices.tpu_name or ""
    if (
        name == "tpu"
        and address.startswith(GRPC)
        and not clusters.is_address(address.removeprefix(GRPC))
    ):
        raise InputError(f"must be {GRPC}HOST:PORT", "tpu_name", address)
    with _explain_errors(name, devices.tpu_name), starting:
        return distribute_utils.get_distribution_strategy(
            name, num_gpus=num_gpus, tpu_address=devices.tpu_name or LOCAL
        )


def _reject_frozen_weights():
    """Raises InputError if the environment promises that weights do not change."""
    if os.environ.get(FROZEN_WEIGHTS, "0").lower() in ("1", "true"):
        raise InputError(
            f"the environment variable {FROZEN_WEIGHTS} is set, so TensorFlow would keep using the "
            "first weights after training changes them; unset it"
        )


def hide_first_compilation():
    """Compiles a function while standard error is closed.

    XLA logs its first compilation, whatever the log level.
    """
    sys.stderr.flush()
    standard_error = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        tf.function(lambda number: number + 1, jit_compile=True)(tf.zeros([]))
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.close(nothing)


def _count_gpus(name):
    """Returns the number of visible GPUs that the strategy of that name can use."""
    visible = len(tf.config.list_physical_devices("GPU"))
    if not visible and name != "tpu":
        reason = _explain_unseen_gpus()
        if not reason and name == "mirrored":
            reason = "--distribution_strategy=mirrored uses GPUs, but TensorFlow sees none"
        if reason:
            notes.tell(f"running on the CPU: {reason}")
    return min(visible, 1) if name == "one_device" else visible


@contextlib.contextmanager
def _explain_errors(name, tpu_name):
    """Raises InputError for TensorFlow's errors about a TPU or a cluster that it cannot use."""
    try:
        yield
    except tf.errors.NotFoundError as error:
        raise InputError(
            "TensorFlow finds no TPU; on a TPU machine, install tensorflow-tpu, otherwise set "
            "`tpu_name`",
            "distribution_strategy",
            name,
        ) from error
    except tf.errors.OpError as error:
        # Its port is in use.
        if name == "multi_worker_mirrored" and "Could not start" in error.message:
            raise InputError(
                f"{clusters.VARIABLE}: this worker cannot listen at its address: {error.message}"
            ) from error
        if name == "multi_worker_mirrored":
            raise LostWorkerError(
                f"a worker of {clusters.VARIABLE} ended while the cluster started; run the same "
                "command on every worker again"
            ) from error
        if name != "tpu" or not tpu_name:
            raise
        raise InputError(
            "the server at this address is not a TensorFlow TPU: "
            f"{(error.message.splitlines() or [type(error).__name__])[0]}",
            "tpu_name",
            tpu_name,
        ) from error
    except (OSError, RuntimeError, ValueError) as error:
        is_name = tpu_name and tpu_name != LOCAL and not tpu_name.startswith(GRPC)
        if name != "tpu" or not is_name:
            raise
        raise InputError(
            f"the TPU of this name cannot be found: {getattr(error, 'reason', error)}; names are "
            "looked up only on machines of Google Cloud; run the command there, or set "
            f"`tpu_name` to {GRPC}HOST:PORT",
            "tpu_name",
            tpu_name,
        ) from error


def _explain_unseen_gpus():
    """Returns advice for GPUs that TensorFlow does not see.

    Returns None if there are none or they are hidden.
    """
    if not glob.glob(GPU_FILES) or os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return None
    return (
        "TensorFlow does not find this machine's GPUs, usually because CUDA libraries are "
        f"missing; run pip install 'tensorflow[and-cuda]=={tf.__version__}', or set "
        "TF_CPP_MIN_LOG_LEVEL=0 in the environment to see which"
    )


def device_type(strategy):
    """Returns the device type of a strategy's replicas, "CPU", "GPU", or "TPU".

    TensorFlow's default without one.
    """
    try:
        devices = strategy.extended.worker_devices
    except RuntimeError:  # The default strategy outside of all scopes has no worker devices.
        return "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    return tf.DeviceSpec.from_string(devices[0]).device_type


def has_bfloat16_instructions():
    """Returns whether this CPU has bfloat16 instructions for matrix multiplication.

    True if unknown.
    """
    _, sets = processor.read()
    return not sets or not BFLOAT16_FLAGS.isdisjoint(sets)


def warn_about_slow_precision(precision, device):
    """Prints a note to standard error if the device computes faster in another type.

    Args:
      precision: Name of the compute dtype.
      device: "CPU", "GPU", or "TPU".
    """
    if precision == "bfloat16" and device == "CPU" and not has_bfloat16_instructions():
        notes.tell(
            "this CPU has no instructions for bfloat16 (avx512_bf16, amx_bf16); float32 is faster "
            "on it"
        )
    if precision == "float32" and device == "TPU":
        notes.tell(
            "a TPU computes a float32 matrix multiplication in six bfloat16 passes; bfloat16 is "
            "faster on it"
        )


def choose_fast(
    strategy, config, padding=Padding.STATIC, *, jit_compile=False, in_16_bits=False, **options
):
    """Chooses the accelerations of an encoder for the devices of a strategy.

    Args:
      strategy: tf.distribute.Strategy.
      config: BertConfig.
      padding: Padding of the batches.
      jit_compile: bool. Whether XLA compiles the entire forward and backward pass.
      in_16_bits: bool. Whether layers compute in 16 bits.
      options: Other fields of Fast.

    Returns:
      Fast.
    """
    device = device_type(strategy)
    if device != "CPU" or jit_compile:
        return choose_fast_with_xla(device, jit_compile, in_16_bits, padding, **options)
    is_compiled = strategy.num_replicas_in_sync == 1 and config.hidden_size >= MIN_COMPILED
    return Fast(
        layer="compiled" if is_compiled else "matrix",
        remove_padding=padding is Padding.REMOVED,
        last_where_read=True,
        **options,
    )


def choose_fast_with_xla(device, jit_compile, in_16_bits, padding=Padding.STATIC, **options):
    """See `choose_fast`, except for CPUs without `jit_compile`; device: "CPU", "GPU", or "TPU"."""
    in_16_bits = in_16_bits and device != "CPU"
    einsum = device == "TPU" or (in_16_bits and jit_compile)
    return Fast(
        layer="einsum" if einsum else "matrix",
        remove_padding=padding is Padding.REMOVED and not einsum,
        # In 16 bits, the last layer is computed only at the positions that are read, with other
        # dropout masks than in float32.
        last_where_read=einsum and in_16_bits,
        vocabulary_multiple=GPU_VOCABULARY_MULTIPLE if device == "GPU" and in_16_bits else 1,
        **options,
    )


def is_tpu(strategy):
    """Returns whether the devices are TPUs, where shapes may not depend on a batch's values."""
    return isinstance(strategy, tf.distribute.TPUStrategy)


def choose_padding(strategy, jit_compile=False, is_removable=True):
    """Chooses the Padding for the devices of a strategy.

    Args:
      strategy: tf.distribute.Strategy.
      jit_compile: bool. Whether XLA compiles the forward and backward pass.
      is_removable: bool. False for static padding on all devices.

    Returns:
      Padding, removed or static.
    """
    if jit_compile or not is_removable or is_tpu(strategy):
        return Padding.STATIC
    return Padding.REMOVED


def is_chief(strategy):
    """Returns whether this process is the worker that writes files."""
    return strategy.extended.should_checkpoint


def wait_for_all_workers(strategy):
    """Waits until every worker has called this function.

    Then all can read what one has written.
    """
    if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        strategy.run(
            lambda: tf.distribute.get_replica_context().all_reduce(
                tf.distribute.ReduceOp.SUM, tf.constant(0.0)
            )
        )


def free_memory(variables):
    """Frees the memory of variables that are no longer used.

    TensorFlow keeps references to the variables of a function for the lifetime of the process.
    """
    for variable in variables:
        for part in (
            variable.values
            if isinstance(variable, tf.distribute.DistributedValues)
            else (variable,)
        ):
            tf.raw_ops.AssignVariableOp(
                resource=part.handle, value=tf.zeros([0], part.dtype), validate_shape=False
            )


def check_batch_size(argument, batch_size, strategy, micro_batches=1):
    """Raises InputError unless the batch divides into replicas and, on each, micro-batches.

    The error names `argument`.
    """
    replicas = strategy.num_replicas_in_sync
    if batch_size % replicas:
        raise InputError(
            f"must be a multiple of the number of replicas, {replicas}", argument, batch_size
        )
    if batch_size % (replicas * micro_batches):
        raise InputError(
            "must be a multiple of `accumulate_steps` times the number of replicas, "
            f"{micro_batches} x {replicas}",
            argument,
            batch_size,
        )
