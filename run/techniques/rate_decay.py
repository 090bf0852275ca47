"""Learning rates that decay from layer to layer."""

from bert_tf.optimization import layerwise_factors
from run.techniques.base import Technique


class RateDecay(Technique):
    """Multiplies the learning rate by `factor` from each layer to the layer below it."""

    def __init__(self, factor):
        self._factor = factor

    def build(self, run):
        """See Technique. It comes after the techniques that select the trained variables."""
        if run.num_steps is not None:
            factors = layerwise_factors(
                run.model.trainable_variables,
                run.model.encoder.config.num_hidden_layers,
                self._factor,
            )
            run.optimizer.set_rate_factors(factors)
