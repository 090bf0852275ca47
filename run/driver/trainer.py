"""One training step under a tf.distribute strategy, for orbit's loop of steps."""

import orbit
import tensorflow as tf
import tf_keras


class Trainer(orbit.StandardTrainer):
    """Runs steps: forward, loss, backward, update, on every replica.

    Args:
      strategy: under whose scope the model and the optimizer were made.
      model: maps features to outputs, `model(features, training=True)`.
      optimizer: of bert_tf.optimization.
      loss_function: (outputs, features) -> dict of scalars, the one to minimise under "loss".
      loss_names: that dict's keys.
    """

    def __init__(self, strategy, model, optimizer, loss_function, loss_names):
        super().__init__(train_dataset=None)
        self._strategy = strategy
        self._model = model
        self._optimizer = optimizer
        self._loss_function = loss_function
        with strategy.scope():
            self._means = {name: tf_keras.metrics.Mean(name) for name in loss_names}

    def set_dataset(self, dataset):
        """Takes batches from `dataset`, endless, each of the size of all replicas together."""
        self.train_dataset = self._strategy.experimental_distribute_dataset(dataset)

    def train_loop_begin(self):
        """Called by orbit before a loop of steps."""
        for mean in self._means.values():
            mean.reset_state()

    def train_step(self, iterator):
        """Called by orbit for each step, in its training function."""
        self._strategy.run(self._replica_step, args=(next(iterator),))

    def train_loop_end(self):
        """Called by orbit after a loop: the mean of each loss over its steps."""
        return {name: mean.result() for name, mean in self._means.items()}

    def _replica_step(self, features):
        with tf.GradientTape() as tape:
            losses = self._loss_function(self._model(features, training=True), features)
        variables = self._model.trainable_variables
        gradients = tape.gradient(losses["loss"], variables)
        self._optimizer.apply_gradients(zip(gradients, variables, strict=True))
        for name, mean in self._means.items():
            mean.update_state(losses[name])
