"""Which devices a run uses: tf.distribute strategies by name."""

import contextlib
import glob
import json
import os
import socket
import sys
import time

import tensorflow as tf
from official.common import distribute_utils

from bert_tf.cli import processor
from bert_tf.errors import InputError
from bert_tf.fast import Fast

BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}  # of x86, of x86's matrix units, of ARM
LEAST_COMPILED = 256  # hidden_size: a step of smaller models is so short that compilation would take longer
GRPC = "grpc://"  # a TPU's address begins with
# What a connection of gRPC begins with, and the kind of frame that the other side must begin with (RFC 9113, 3.4).
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # and no settings
HTTP2_FRAME_BYTES, HTTP2_SETTINGS = 9, 4
GPU_FILES = "/dev/nvidia[0-9]*"  # NVIDIA's driver makes one for each GPU


def make_strategy(devices):
    """Makes the strategy of DeviceSettings; to be called before TensorFlow computes anything.

    Says so on standard error where the machine has a GPU that TensorFlow does not see.

    Returns:
      tf.distribute.Strategy.

    Raises:
      InputError: more GPUs asked for than are visible, CPU devices for another strategy, no TPU, a TF_CONFIG that
        cannot be read.
    """
    name = devices.strategy_name
    if devices.num_cpu_devices is not None:
        if name != "mirrored":
            raise InputError(f"`num_cpu_devices`={devices.num_cpu_devices}: goes with "
                             f"`distribution_strategy`=mirrored, not {name}")
        return _mirrored_cpu(devices.num_cpu_devices)
    tf.config.experimental.enable_tensor_float_32_execution(devices.allow_tf32)
    num_gpus = _count_gpus(name, devices.num_gpus)
    if name == "multi_worker_mirrored":
        _check_cluster(os.environ.get("TF_CONFIG"))
    if name == "tpu" and (devices.tpu_name or "").startswith(GRPC):
        _wait_for(devices.tpu_name, devices.connect_timeout)
    with _errors_explained(name, devices.tpu_name):
        return distribute_utils.get_distribution_strategy(
            name, num_gpus=num_gpus, tpu_address=devices.tpu_name or "local")


def _count_gpus(name, num_gpus):
    """Returns the number of GPUs to use: `num_gpus`, or by default as many as the strategy of that name can use."""
    visible = len(tf.config.list_physical_devices("GPU"))
    unseen = None if visible else _unseen_gpus()
    if num_gpus is None:
        num_gpus = min(visible, 1) if name == "one_device" else visible
        if unseen and name != "tpu":
            print(f"computing on the CPU: {unseen}", file=sys.stderr)
    if num_gpus > visible:
        raise InputError(f"`num_gpus`={num_gpus}: " + (unseen or f"TensorFlow sees {visible} on this machine"))
    if name == "one_device" and num_gpus > 1:
        raise InputError(f"`num_gpus`={num_gpus}: `distribution_strategy`=one_device uses one; give mirrored for more")
    return num_gpus


@contextlib.contextmanager
def _errors_explained(name, tpu_name):
    """Raises InputError for TensorFlow's errors about a TPU or a cluster that it cannot use."""
    try:
        yield
    except tf.errors.NotFoundError as error:
        raise InputError(f"`distribution_strategy`={name}: TensorFlow finds no TPU; on a TPU machine it must be "
                         "tensorflow-tpu, elsewhere `tpu_name` must name one") from error
    except tf.errors.OpError as error:
        if name != "tpu" or not tpu_name:
            raise
        raise InputError(f"`tpu_name`={tpu_name}: what answers there is no TPU of TensorFlow's: "
                         f"{(error.message.splitlines() or [type(error).__name__])[0]}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:  # of what TF_CONFIG says of cluster and task
        if name != "multi_worker_mirrored":
            raise
        raise InputError(f"the environment variable TF_CONFIG describes no cluster with this task: {error}") from error


def _wait_for(address, timeout):
    """Returns once what is at a grpc:// address greets as gRPC does; InputError after so many seconds without.

    TensorFlow waits without an end and without a word, for one who listens and says nothing too.
    """
    host, _, port = address.removeprefix(GRPC).rpartition(":")
    if not (host and port.isdecimal() and int(port) < 1 << 16):
        raise InputError(f"`tpu_name`={address}: a grpc:// address is {GRPC}HOST:PORT")
    print(f"connecting to the TPU at {address}, for at most {timeout:g} s", file=sys.stderr)
    until = time.monotonic() + timeout
    while True:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), max(0.1, until - time.monotonic())) as there:
                _greet(there, until)
                return
        except OSError as error:
            if time.monotonic() >= until:
                raise InputError(f"`tpu_name`={address}: cannot be reached within `connect_timeout`={timeout:g} s: "
                                 f"{error.strerror or error}") from error
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))


def _greet(connection, until):
    """Returns when the other side of a connection has greeted as HTTP/2 does; OSError if it does not until then."""
    connection.sendall(HTTP2_GREETING)
    received = b""
    while len(received) < HTTP2_FRAME_BYTES:
        connection.settimeout(max(0.1, until - time.monotonic()))
        part = connection.recv(HTTP2_FRAME_BYTES - len(received))
        if not part:
            raise OSError("what listens there has closed the connection")
        received += part
    if received[3] != HTTP2_SETTINGS:
        raise OSError("what listens there does not speak gRPC")


def _unseen_gpus():
    """What to do about GPUs of this machine that TensorFlow does not see; None if there are none or they are hidden."""
    if not glob.glob(GPU_FILES) or os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return None
    return (f"TensorFlow does not see this machine's GPUs, most often for want of CUDA's libraries: pip install "
            f"'tensorflow[and-cuda]=={tf.__version__}'; with TF_CPP_MIN_LOG_LEVEL=0 in the environment it says which")


def device_type(strategy):
    """What the replicas of a strategy, or without one TensorFlow by itself, compute on: "CPU", "GPU" or "TPU"."""
    try:
        devices = strategy.extended.worker_devices
    except RuntimeError:  # what tf.distribute.get_strategy() gives outside of all scopes has none
        return "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    return tf.DeviceSpec.from_string(devices[0]).device_type


def multiplies_bfloat16():
    """Whether this machine's CPU has instructions for products in bfloat16; True where nothing tells."""
    _, sets = processor.read()
    return not sets or not BFLOAT16_FLAGS.isdisjoint(sets)


def warn_of_slow_precision(precision, device):
    """Says so on standard error where bfloat16 is asked for on a CPU that has no instructions for it.

    Args:
      precision: name of the type to multiply in.
      device: "CPU", "GPU" or "TPU".
    """
    if precision == "bfloat16" and device == "CPU" and not multiplies_bfloat16():
        print("this CPU has no instructions for bfloat16 (avx512_bf16, amx_bf16): float32 is faster on it",
              file=sys.stderr)


def choose_fast(strategy, config, jit_compile=False, **options):
    """Chooses the accelerations of an encoder for the devices of a strategy.

    Args:
      strategy: tf.distribute.Strategy.
      config: BertConfig.
      jit_compile: bool. Whether XLA compiles forward and backward pass as a whole.
      options: Other fields of Fast.

    Returns:
      Fast.
    """
    device = device_type(strategy)
    is_cpu = device == "CPU" and not jit_compile
    is_compiled = is_cpu and strategy.num_replicas_in_sync == 1 and config.hidden_size >= LEAST_COMPILED
    return Fast(last_where_read=is_cpu, einsum=device == "TPU", compiled=is_compiled, **options)


def _check_cluster(text):
    """Raises InputError unless the environment variable TF_CONFIG, where it is set, describes a cluster."""
    try:
        described = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"the environment variable TF_CONFIG is not JSON: {error}") from error
    if not isinstance(described, dict):
        raise InputError(f"the environment variable TF_CONFIG is a {type(described).__name__}: it must be an object "
                         "with the keys cluster and task")
    for name in ("cluster", "task"):
        if not isinstance(described.get(name, {}), dict):
            raise InputError(f"the environment variable TF_CONFIG has {described[name]!r:.60} for {name}: it must be "
                             "an object")


def allows_dynamic_shapes(strategy):
    """Whether shapes may depend on a batch's values, as with padding removed; TPUs compile for fixed ones."""
    return not isinstance(strategy, tf.distribute.TPUStrategy)


def may_group_by_length(settings, strategy):
    """Whether batches may be of examples of similar length, and padding left out."""
    return (settings.tuning.group_by_length and not settings.step.jit_compile
            and allows_dynamic_shapes(strategy))


def is_multi_worker(strategy):
    """Whether other processes run the same training, and must call collective operations in the same order."""
    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def is_chief(strategy):
    """Whether this process, of several that train together, is the one that writes files."""
    return strategy.extended.should_checkpoint


def wait_for_all_workers(strategy):
    """Returns when every process of a training has come here: what one has written before, all can read after."""
    if is_multi_worker(strategy):
        strategy.run(lambda: tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.SUM, tf.constant(0.0)))


def free(variables):
    """Takes the values out of variables that nothing uses any more.

    TensorFlow holds on to the variables of a function as long as the process lives, whoever else lets go of them.
    """
    for variable in variables:
        for part in variable.values if isinstance(variable, tf.distribute.DistributedValues) else (variable,):
            tf.raw_ops.AssignVariableOp(resource=part.handle, value=tf.zeros([0], part.dtype), validate_shape=False)


def check_batch_size(argument, batch_size, strategy, micro_batches=1):
    """Raises InputError naming `argument` unless the batch divides over replicas, and there into micro-batches."""
    replicas = strategy.num_replicas_in_sync
    if batch_size % replicas:
        raise InputError(f"`{argument}`={batch_size}: must be a multiple of the number of replicas, {replicas}")
    if batch_size % (replicas * micro_batches):
        raise InputError(f"`{argument}`={batch_size}: must be a multiple of `accumulate_steps` times the number of "
                         f"replicas, {micro_batches} x {replicas}")


def _mirrored_cpu(num_devices):
    physical = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(physical, [tf.config.LogicalDeviceConfiguration()] * num_devices)
    return tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(num_devices)])
