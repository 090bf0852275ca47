"""Freezing of the embeddings and the lowest layers."""

from bert_tf.techniques.freezing import freeze
from run.techniques.base import Technique


class Freezing(Technique):
    """Freezes the embeddings and a number of lowest layers."""

    def __init__(self, num_layers):
        self._num_layers = num_layers

    def build(self, run):
        """See Technique."""
        if run.num_steps is not None:
            freeze(run.model.encoder, self._num_layers)
