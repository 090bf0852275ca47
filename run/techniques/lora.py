"""LoRA: adapters are trained instead of the kernels of the encoder."""

import os

from bert_tf.checkpoints import adapters, model_tensors
from bert_tf.techniques import lora
from run.techniques.base import Technique
from run.training.checkpoints import ADAPTER_FILE

ALPHA = 16.0  # The output of an adapter is multiplied by this value divided by its rank.


class Lora(Technique):
    """Trains adapters, the pooler, and the head.

    Args:
      rank: int. Rank of the adapters.
      needs: Function (name of a variable) -> whether predictions depend on it.
      first_layer: int. Number of lowest layers without adapters.
    """

    def __init__(self, rank, needs, first_layer=0):
        self._rank = rank
        self._needs = needs
        self._first_layer = first_layer

    def build(self, run):
        """See Technique. Adds the adapters."""
        if run.num_steps is not None:
            lora.add_adapters(run.model.encoder, self._rank, ALPHA, run.seed, self._first_layer)

    def finish(self, run):
        """See Technique. Writes the adapters, and merges them into their kernels."""
        if run.num_steps is None:
            return
        if run.writes:
            names = [variable.name.removesuffix(":0") for variable in run.model.trainable_variables]
            path = os.path.join(run.folder, ADAPTER_FILE)
            size = adapters.write(
                path,
                model_tensors(run.model),
                [name for name in names if self._needs(name) and not adapters.is_adapter(name)],
            )
            print(f"{path}: adapters and head, {size / 1e6:.2f} MB")
        lora.merge_adapters(run.model.encoder)
