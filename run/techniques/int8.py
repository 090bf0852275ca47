"""Training for int8: from a given step, a model computes with the values of its LiteRT file."""

from bert_tf.errors import InputError
from bert_tf.techniques.int8 import FakeQuantization, quantize
from run.techniques.base import Technique


class Int8(Technique):
    """The technique of `quantize_from_step`.

    Args:
      from_step: int. First step in int8.
    """

    def __init__(self, from_step):
        self._from_step = from_step

    def build(self, run):
        """See Technique. A model that is not trained always computes in int8."""
        if run.num_steps is not None and self._from_step > run.num_steps:
            raise InputError(f"training ends at step {run.num_steps}; set an earlier step", "quantize_from_step",
                             self._from_step)
        is_on = None if run.num_steps is None else lambda: run.optimizer.iterations >= self._from_step
        quantize(run.model, FakeQuantization(is_on))
