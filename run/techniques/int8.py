"""Training with matrices rounded to int8."""

from bert_tf.techniques.int8 import FakeQuantization, quantize
from run.techniques.base import Technique


class Int8(Technique):
    """Rounds weights and inputs of matrix multiplications from a step.

    A model that is not trained always computes in int8.
    """

    def __init__(self, first_step):
        self._first_step = first_step

    def build(self, run):
        """See Technique."""
        is_on = None
        if run.num_steps is not None:

            def is_on():
                return run.optimizer.iterations >= self._first_step

        quantize(run.model, FakeQuantization(is_on))
