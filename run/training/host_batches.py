"""Batches under a strategy: each host makes its own rows of them, and its replicas take these in order.

A host is what tf.distribute calls an input pipeline: a process under MultiWorkerMirroredStrategy, a machine of a TPU
pod; all other strategies have one. The hosts' rows, one after the other, are the batch of one device.
"""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class HostShare:
    """The rows of every batch that fall to one host: part `index` of `count` equal ones."""

    index: int = 0
    count: int = 1

    def rows(self, batch_size):
        """The slice of a batch of `batch_size` rows; where `count` does not divide these, the last hosts have fewer."""
        size = -(-batch_size // self.count)
        return slice(min(self.index * size, batch_size), min((self.index + 1) * size, batch_size))


WHOLE = HostShare()


def endless(strategy, make_batches):
    """Batches for training.

    Args:
      strategy: tf.distribute.Strategy.
      make_batches: (HostShare) -> endless dataset of dicts of name -> [rows, ...], that host's rows of each batch, as
        many each time; called once for each host that this process makes the input of.

    Returns:
      Distributed dataset that gives every replica its rows of each batch.
    """
    # Where a dataset may end, as one of a generator, a strategy with replicas takes no batch size for fixed.
    without_end = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    return _distributed(strategy, make_batches, without_end)


def finite(strategy, make_batches):
    """Batches for evaluation; arguments as those of `endless`, but for datasets that end, all after as many batches.

    The last batch may be smaller: some replicas, or hosts, then have fewer rows of it, or none.
    """
    return _distributed(strategy, make_batches, lambda dataset: dataset)


def _distributed(strategy, make_batches, transformation):
    def of_host(context):
        batches = make_batches(HostShare(context.input_pipeline_id, context.num_input_pipelines))
        replicas = context.num_replicas_in_sync // context.num_input_pipelines
        return _of_replicas(batches, replicas).apply(transformation).prefetch(tf.data.AUTOTUNE)

    return strategy.distribute_datasets_from_function(of_host)


def _of_replicas(batches, replicas):
    """Dataset of a host's batches, each as one element for each of its replicas."""
    num_rows = next(iter(batches.element_spec.values())).shape[0]
    if replicas == 1:
        return batches
    if num_rows is not None and num_rows % replicas == 0:
        return batches.map(lambda batch: {name: cut(value, replicas) for name, value in batch.items()},
                           num_parallel_calls=tf.data.AUTOTUNE).unbatch()

    def parts(batch):
        size = -(-tf.shape(next(iter(batch.values())))[0] // replicas)
        return tf.data.Dataset.range(replicas, output_type=tf.int32).map(
            lambda number: {name: value[number * size : (number + 1) * size] for name, value in batch.items()})

    return batches.flat_map(parts)


def cut(value, parts):
    """[B, ...] -> [parts, B / parts, ...], rows in order; dimensions but B may be unknown."""
    shape = tf.concat([[parts, value.shape[0] // parts], tf.shape(value)[1:]], axis=0)
    return tf.reshape(value, shape)
