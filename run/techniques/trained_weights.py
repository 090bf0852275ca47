"""Trained weights, their learning rates, and their rounding: LoRA, frozen layers, int8."""

import os

from bert_tf import files
from bert_tf.checkpoints import adapters, model_tensors, peft
from bert_tf.checkpoints.original import VOCABULARY_NAME
from bert_tf.files import new_file, read_bytes
from bert_tf.optimization import layerwise_factors
from bert_tf.tasks.metadata import TASK_FILE
from bert_tf.techniques import lora
from bert_tf.techniques.freezing import freeze
from bert_tf.techniques.int8 import FakeQuantization, quantize
from bert_tf.tokenization.token_files import TOKENIZER_CONFIG_NAME
from run.techniques.base import Technique
from run.training.checkpoints import ADAPTER_FOLDER

# Files of a run that an adapter also requires.
FILES_OF_RUN = (VOCABULARY_NAME, TOKENIZER_CONFIG_NAME, TASK_FILE)
LORA_ALPHA = 16.0  # The output of an adapter is multiplied by this value divided by its rank.


class TrainedWeights(Technique):
    """The technique of TrainedWeightsSettings.

    Args:
      settings: TrainedWeightsSettings.
      kind: Kind of task, which determines the variables on which predictions depend.
      base: Path of the checkpoint that training begins with, or None.
    """

    def __init__(self, settings, kind, base):
        self._settings = settings
        self._kind = kind
        self._base = base

    def build(self, run):
        """See Technique. Freezes weights, adds adapters, sets learning rates, and rounds to int8.

        A model that is not trained always computes in int8.
        """
        if (first_step := self._settings.quantize_from_step) is not None:
            is_on = (
                None if run.num_steps is None else lambda: run.optimizer.iterations >= first_step
            )
            quantize(run.model, FakeQuantization(is_on))
        settings = self._settings
        encoder = run.model.encoder
        if run.num_steps is None:
            return
        if settings.lora_rank:
            lora.add_adapters(
                encoder, settings.lora_rank, LORA_ALPHA, run.seed, settings.freeze_layers or 0
            )
        elif settings.freeze_layers is not None:
            freeze(encoder, settings.freeze_layers)
        if settings.layerwise_learning_rate_decay != 1.0:
            run.optimizer.set_rate_factors(
                layerwise_factors(
                    run.model.trainable_variables,
                    encoder.config.num_hidden_layers,
                    settings.layerwise_learning_rate_decay,
                )
            )

    def finish(self, run):
        """See Technique. Writes the adapters, and merges them into their kernels."""
        if run.num_steps is None or not self._settings.lora_rank:
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
        lora.merge_adapters(run.model.encoder)
