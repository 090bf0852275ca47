"""LoRA: adapters are trained instead of the kernels of the encoder."""

import os

from bert_tf import files
from bert_tf.checkpoints import adapters, model_tensors, peft
from bert_tf.files import new_file, read_bytes
from bert_tf.tasks.metadata import TASK_FILE
from bert_tf.techniques import lora
from bert_tf.tokenization.token_files import TOKENIZER_CONFIG_NAME
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME
from run.techniques.base import Technique
from run.training.checkpoints import ADAPTER_FOLDER

# Files of a run that an adapter also requires.
FILES_OF_RUN = (VOCABULARY_NAME, TOKENIZER_CONFIG_NAME, TASK_FILE)
ALPHA = 16.0  # The output of an adapter is multiplied by this value divided by its rank.


class Lora(Technique):
    """Trains adapters, the pooler, and the head.

    Args:
      rank: int. Rank of the adapters.
      kind: Kind of task, which determines the variables on which predictions depend.
      base: Path of the checkpoint that training begins with, or None.
      first_layer: int. Number of lowest layers without adapters.
    """

    def __init__(self, rank, kind, base=None, first_layer=0):
        self._rank = rank
        self._kind = kind
        self._base = base
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
            needs = self._kind.needs
            path = os.path.join(run.folder, ADAPTER_FOLDER)
            size = peft.write(
                path,
                model_tensors(run.model),
                [name for name in names if needs(name) and not adapters.is_adapter(name)],
                kind=self._kind.name,
                base=self._base,
            )
            for name in FILES_OF_RUN:
                source = os.path.join(run.folder, name)
                if files.at(source).exists():
                    with new_file(os.path.join(path, name), "wb") as file:
                        file.write(read_bytes(source))
            print(f"{path}: adapters and head, {size / 1e6:.2f} MB")
        lora.merge_into_kernels(run.model.encoder)
