"""Which devices a run uses: tf.distribute strategies by name."""

import tensorflow as tf
from official.common import distribute_utils


def make_strategy(name, num_gpus=None, tpu_name=None):
    """Makes a strategy.

    Args:
      name: "one_device", "mirrored", "multi_worker_mirrored" or "tpu".
      num_gpus: GPUs to use; None means all that are visible, and at most one for "one_device".
      tpu_name: name or address of the TPU, None on a TPU machine.

    Returns:
      tf.distribute.Strategy.

    Raises:
      ValueError: more GPUs asked for than are visible.
    """
    visible = len(tf.config.list_physical_devices("GPU"))
    if num_gpus is None:
        num_gpus = min(visible, 1) if name == "one_device" else visible
    if num_gpus > visible:
        raise ValueError(f"--num_gpus={num_gpus}: TensorFlow sees {visible} on this machine")
    return distribute_utils.get_distribution_strategy(name, num_gpus=num_gpus, tpu_address=tpu_name or "local")


def allows_dynamic_shapes(strategy):
    """Whether shapes may depend on a batch's values, as with padding removed; TPUs compile for fixed ones."""
    return not isinstance(strategy, tf.distribute.TPUStrategy)


def check_batch_size(flag, batch_size, strategy):
    """Raises ValueError naming `flag` unless the batch divides evenly over the strategy's replicas."""
    replicas = strategy.num_replicas_in_sync
    if batch_size % replicas:
        raise ValueError(f"--{flag}={batch_size}: must be a multiple of the number of replicas, {replicas}")
