"""Keras's `compile` and `fit` for task models, with the losses of bert_tf.losses."""

from collections.abc import Mapping

import tensorflow as tf
import tf_keras

from bert_tf.errors import InputError
from bert_tf.losses import TOTAL, TotalLoss


class TrainableModel:
    """A base class of task models: their losses and metrics in `fit`."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        """Computes the loss of a batch; called by Keras.

        A TotalLoss, as in `compile(loss=bert_tf.losses.classification_loss)`, reads all outputs and
        features. On several replicas, it is the loss of the whole batch.

        Args:
          x: Dict of tensors [B, ...]. Features.
          y: Labels. For a TotalLoss, a dict of the other features that it reads, or its feature
            label_ids.
          y_pred: Dict of tensors. Outputs.
          sample_weight: Weights of the examples; None for a TotalLoss.

        Returns:
          float32 scalar.
        """
        if self.jit_compile and not self.encoder.has_static_shapes:
            raise InputError(
                "cannot be used with this encoder, whose shapes depend on the values of a "
                "batch; create the model with `fast=False`",
                "jit_compile",
            )
        if not isinstance(self.loss, TotalLoss):
            return super().compute_loss(x, y, y_pred, sample_weight)
        if sample_weight is not None:
            raise InputError(
                "`sample_weight` and `class_weight` cannot be used with a loss of bert_tf.losses; "
                "use a loss of Keras"
            )
        features = {**x, **(y if isinstance(y, Mapping) else {"label_ids": y})}
        replica = tf.distribute.get_replica_context()
        batch_size = tf.cast(tf.shape(next(iter(x.values())))[0], tf.float32)
        batch_size, *normalizers = replica.all_reduce(
            tf.distribute.ReduceOp.SUM, [batch_size, *self.loss.normalizers(features)]
        )
        partial_losses = self.loss.partial_losses(y_pred, features, normalizers)
        # Keras would count their variables among the model's.
        means = vars(self).setdefault("_loss_means", {})
        for name, partial_loss in partial_losses.items():
            if name not in means:
                means[name] = tf_keras.metrics.Mean(name)
            means[name].update_state(
                partial_loss * replica.num_replicas_in_sync, sample_weight=batch_size
            )
        return partial_losses[TOTAL]

    def compute_metrics(self, x, y, y_pred, sample_weight):
        """Returns the values of the metrics; called by Keras.

        Labels that only a TotalLoss reads have no metrics.
        """
        if isinstance(self.loss, TotalLoss) and isinstance(y, Mapping):
            return self.get_metrics_result()
        return super().compute_metrics(x, y, y_pred, sample_weight)

    @property
    def metrics(self):
        """Metrics that Keras resets after each epoch, the losses included."""
        return [*vars(self).get("_loss_means", {}).values(), *super().metrics]
