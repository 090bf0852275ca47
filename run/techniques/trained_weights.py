"""Selection of trained weights and their learning rates: LoRA, frozen layers, layer-wise rates."""

import os

from bert_tf.checkpoints import adapters, model_tensors
from bert_tf.optimization import layerwise_factors
from bert_tf.techniques import lora
from bert_tf.techniques.freezing import freeze
from run.techniques.base import Technique
from run.training.checkpoints import ADAPTER_FILE


class TrainedWeights(Technique):
    """The technique of TrainedWeightsSettings."""

    def __init__(self, settings):
        self._settings = settings
        self._needs = None

    def read(self, task, tokenizer):
        """See Technique."""
        self._needs = task.needs

    def build(self, build):
        """See Technique. Freezes weights, adds adapters, and sets learning rates."""
        settings, encoder = self._settings, build.model.encoder
        if build.steps is None:
            return
        if settings.lora_rank:
            lora.add_adapters(encoder, settings.lora_rank, settings.lora_alpha, build.seed,
                              settings.freeze_layers or 0)
        elif settings.freeze_layers is not None:
            freeze(encoder, settings.freeze_layers)
        if settings.layerwise_learning_rate_decay != 1.0:
            build.optimizer.set_rate_factors(layerwise_factors(
                build.model.trainable_variables, encoder.config.num_hidden_layers,
                settings.layerwise_learning_rate_decay))

    def finish(self, build, folder, is_chief):
        """See Technique. Writes the adapters, and merges them into their kernels."""
        if build.steps is None or not self._settings.lora_rank:
            return
        if is_chief:
            names = [variable.name.removesuffix(":0") for variable in build.model.trainable_variables]
            path = os.path.join(folder, ADAPTER_FILE)
            size = adapters.write(path, model_tensors(build.model), [
                name for name in names if self._needs(name) and not adapters.is_adapter(name)])
            print(f"{path}: adapters and head, {size / 1e6:.2f} MB")
        lora.merge_adapters(build.model.encoder)
