"""Model predictions for examples in arrays."""

import contextlib

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from bert_tf.errors import InputError
from bert_tf.fast import CastWeights
from bert_tf.features import FEATURES
from run.training import batches, strategies
from run.training.host_batches import HostShare
from run.training.padding import Padding


class Predictor:
    """Runs a model on arrays of features. It is traced once for all calls with the same batch size.

    Batches contain examples of similar length and are as long as the longest, except with static
    padding.

    Args:
      strategy: tf.distribute.Strategy under whose scope the model was created.
      model: Callable of features that returns a dict of tensors, with the batch on axis 0.
      per_position: bool. Whether axis 1 of the outputs is the position in the sequence.
      padding: Padding of the batches.
      network: Model of bert_tf.models that `model` runs. None if it is `model`.
      inputs: Names of the model's input features, including input_mask.
    """

    def __init__(
        self,
        strategy,
        model,
        *,
        per_position=False,
        padding=Padding.DYNAMIC,
        network=None,
        inputs=FEATURES,
    ):
        self._strategy = strategy
        self._cast_weights = cast_weights = _cast_weights(strategy, network or model)
        self._per_position = per_position
        self._padding = padding
        self._inputs = inputs

        @tf.autograph.experimental.do_not_convert  # Nothing to convert; the search takes seconds.
        def predict(features):
            with cast_weights.apply() if cast_weights else contextlib.nullcontext():
                return model(features, training=False)

        self._run = tf.function(
            lambda features: strategy.run(predict, args=(features,)),
            autograph=False,
            reduce_retracing=True,
        )

    def __call__(self, arrays, batch_size, description="predicting"):
        """Predicts all examples.

        Args:
          arrays: Dict of arrays [n, ...] or StackedRows with the inputs; input_mask [n, S] or [n,
            choices, S].
          batch_size: int. Examples per batch, over all replicas. A smaller last batch is filled
            with repeated examples.
          description: Text of the progress bar.

        Returns:
          Dict of NumPy arrays [n, ...], in the order of the examples. Truncated positions are 0.

        Raises:
          InputError: If there are no examples.
        """
        num_examples = len(arrays["input_mask"])
        width = arrays["input_mask"].shape[-1]
        outputs = {}
        for rows, batch_outputs in self.predict_batches(arrays, batch_size, description):
            for name, values in batch_outputs.items():
                shape = (width, *values.shape[2:]) if self._per_position else values.shape[1:]
                output = outputs.setdefault(name, np.zeros((num_examples, *shape), values.dtype))
                output[(rows, slice(values.shape[1])) if self._per_position else rows] = values
        return outputs

    def predict_batches(self, arrays, batch_size, description="predicting"):
        """Predicts all examples, batch by batch.

        Yields:
          Tuple of int [n], the indices of examples, and dict of NumPy arrays [n, ...], at most as
          long as the longest.

        Raises:
          InputError: If there are no examples.
        """
        features = {name: arrays[name] for name in self._inputs}
        num_examples = len(features["input_mask"])
        if not num_examples:
            raise InputError(f"{description}: there are no examples")
        if self._cast_weights:
            self._cast_weights.refresh()
        replicas = self._strategy.num_replicas_in_sync
        batch_size = min(batch_size, -(-num_examples // replicas) * replicas)
        if replicas == 1:  # The trace of the first batch would only be valid for its length.
            self._run.get_concrete_function(batches.signature(features, batch_size, self._padding))
        order = np.argsort(batches.count_tokens(features["input_mask"]), kind="stable")
        with tqdm(
            total=num_examples,
            desc=description,
            unit="example",
            dynamic_ncols=True,
            # In terminals; if nested in another, cleared at the end.
            leave=None,
            disable=None,
        ) as progress:
            for start in range(0, num_examples, batch_size):
                rows = order[start : start + batch_size]
                filled = np.resize(rows, batch_size)  # Every replica requires rows.
                yield rows, self._predict_batch(features, filled, len(rows))
                progress.update(len(rows))

    def _predict_batch(self, features, rows, num_examples):
        """Returns the outputs for the first examples of a batch of `rows`, a dict of NumPy arrays.

        `num_examples`: int. Number of these examples.
        """

        def get_replica_part(context):
            share = HostShare(context.replica_id_in_sync_group, self._strategy.num_replicas_in_sync)
            part = batches.take_rows(features, rows, self._padding, share)
            return {name: tf.constant(values) for name, values in part.items()}

        outputs = self._run(
            self._strategy.experimental_distribute_values_from_function(get_replica_part)
        )
        return {
            name: self._strategy.gather(value, axis=0).numpy()[:num_examples]
            for name, value in outputs.items()
        }


def _cast_weights(strategy, network):
    """Creates CastWeights for a 16-bit model on one CPU. Returns None otherwise."""
    is_one_cpu = strategies.device_type(strategy) == "CPU" and strategy.num_replicas_in_sync == 1
    if not is_one_cpu or tf.as_dtype(getattr(network, "compute_dtype", tf.float32)) == tf.float32:
        return None
    return CastWeights(network)
