"""Batches under a strategy: each host creates its own rows, which its replicas take in order.

A host is an input pipeline of tf.distribute: a process under MultiWorkerMirroredStrategy, or a
machine of a TPU pod. All other strategies have one. The rows of all hosts, concatenated in order,
are the batch of a single device, with the same bits.

Every host reads the bytes of all records, and parses only its own. To read only its own frames
would cost more time per record, and one request for each in a bucket.
"""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class HostShare:
    """The rows of every batch that belong to one host: part `index` of `count` equal parts."""

    index: int = 0
    count: int = 1

    def rows(self, batch_size):
        """Returns the host's slice of a batch.

        If `count` does not divide it, the last hosts have fewer rows.
        """
        size = -(-batch_size // self.count)
        return slice(min(self.index * size, batch_size), min((self.index + 1) * size, batch_size))


WHOLE = HostShare()


def distribute(strategy, make_batches, *, is_endless):
    """Creates the batches of all replicas.

    Args:
      strategy: tf.distribute.Strategy.
      make_batches: Callable (HostShare) -> dataset of dicts of name to [rows, ...]: that host's
        rows of each batch. Called once for each host whose input this process creates.
      is_endless: bool. Whether the datasets are endless, and a host always has the same number of
        rows. Otherwise, all end after the same number of batches, and some replicas or hosts may
        have fewer rows of the last one, or none.

    Returns:
      Distributed dataset of each replica's rows of each batch. tf.distribute prefetches them to the
      device.
    """

    def make_host_batches(context):
        batches = make_batches(HostShare(context.input_pipeline_id, context.num_input_pipelines))
        batches = _split_into_replicas(
            batches, context.num_replicas_in_sync // context.num_input_pipelines
        )
        # If a dataset may end, as one from a generator, replicas do not have a fixed batch size.
        if is_endless:
            batches = batches.apply(
                tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
            )
        return batches.prefetch(tf.data.AUTOTUNE)

    return strategy.distribute_datasets_from_function(make_host_batches)


def _split_into_replicas(batches, replicas):
    """Splits each of a host's batches into one element per replica."""
    num_rows = next(iter(batches.element_spec.values())).shape[0]
    if replicas == 1:
        return batches
    if num_rows is not None and num_rows % replicas == 0:
        return batches.map(
            lambda batch: {name: split_rows(value, replicas) for name, value in batch.items()},
            num_parallel_calls=tf.data.AUTOTUNE,
        ).unbatch()

    def parts(batch):
        size = -(-tf.shape(next(iter(batch.values())))[0] // replicas)
        return tf.data.Dataset.range(replicas, output_type=tf.int32).map(
            lambda number: {
                name: value[number * size : (number + 1) * size] for name, value in batch.items()
            }
        )

    return batches.flat_map(parts)


def split_rows(value, parts):
    """Reshapes [B, ...] to [parts, B / parts, ...], rows in order.

    Dimensions other than B may be unknown.
    """
    shape = tf.concat([[parts, value.shape[0] // parts], tf.shape(value)[1:]], axis=0)
    return tf.reshape(value, shape)
