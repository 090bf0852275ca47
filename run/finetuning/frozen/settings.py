"""What tagging by frozen features is told. Free of TensorFlow: scripts define their flags of it."""

import dataclasses
import os

from bert_tf.cli import paths
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from run.finetuning.frozen.features import KINDS
from run.finetuning.settings import FineTuningSettings, short
from run.finetuning.task_settings import TaggingSettings

VECTORS_FOLDER = "vectors"  # of an output_dir
OF_FINE_TUNING = {  # settings of a group that mean nothing to a BiLSTM, and what there is in their place
    "optimizer": {"learning_rate": "`frozen_learning_rate`"},
    "tuning": {"num_train_epochs": "`frozen_epochs`", "keep_head": None, "quantize_from_step": None},
    "step": {"jit_compile": None, "recompute_activations": None},
    "weight_pruning": {"weight_pruning": None},
    "search": {"search": None},
}


@dataclasses.dataclass(frozen=True)
class FrozenSettings(Settings):
    """The vectors of an encoder that is not trained, and the BiLSTM that is."""

    frozen_features: str | None = setting(
        None, "Train no encoder but a two-layer BiLSTM on its vectors: those of its embeddings, of its last or its "
              "last but one layer; of its last four layers the sum, a learned mix, or all side by side; a learned mix "
              "of all layers. Needs --init_checkpoint.", choices=KINDS)
    lstm_width: int = setting(
        768, "With --frozen_features: width of each of the BiLSTM's two layers, in each direction.", lower=1)
    lstm_dropout: float = setting(
        0.3, "With --frozen_features: share of the inputs of each layer of the BiLSTM, and of the classifier's, that "
             "are 0 in training.", lower=0, upper=0.99)
    frozen_learning_rate: float = setting(
        1e-3, "With --frozen_features: peak learning rate, in place of --learning_rate.", lower=0)
    frozen_epochs: float = setting(
        10.0, "With --frozen_features: times that training goes through the data, in place of --num_train_epochs.",
        lower=0)
    vectors_dir: str | None = setting(
        None, "With --frozen_features: folder in which vectors are kept and looked for, for other runs too; unset "
              f"means OUTPUT_DIR/{VECTORS_FOLDER}.")

    @property
    def unused(self):
        """The first field that has an effect with frozen features alone and is not its default; None if all are."""
        return next((field.name for field in dataclasses.fields(self)
                     if field.name != "frozen_features" and getattr(self, field.name) != field.default), None)


@dataclasses.dataclass(frozen=True)
class FrozenTaggerSettings(FineTuningSettings):
    """A run of a tagger by frozen features; rate and epochs are those of the groups of every run."""

    task: TaggingSettings = dataclasses.field(default_factory=TaggingSettings)
    frozen: FrozenSettings = dataclasses.field(default_factory=FrozenSettings)

    @property
    def vectors_dir(self):
        """Where vectors are kept."""
        return self.frozen.vectors_dir or os.path.join(self.training.output_dir, VECTORS_FOLDER)

    def read_config(self):
        """As FineTuningSettings'; checks `vectors_dir` too."""
        config = super().read_config()
        paths.check_output_dir("vectors_dir", self.vectors_dir)
        return config


@dataclasses.dataclass(frozen=True)
class TaggerSettings(FrozenTaggerSettings):
    """What run_tagger is told: a fine-tuned tagger, or one by frozen features."""

    def check(self):
        super().check()
        frozen = self.frozen
        if not frozen.frozen_features:
            if frozen.unused:
                raise InputError(f"`{frozen.unused}`={short(getattr(frozen, frozen.unused))}: has an effect with "
                                 "`frozen_features` alone")
            return
        if not self.model.init_checkpoint:
            raise InputError(f"`frozen_features`={frozen.frozen_features}: `init_checkpoint` is needed, without "
                             "training too: the encoder whose vectors they are")
        if self.devices.strategy_name == "multi_worker_mirrored":
            raise InputError("`distribution_strategy`=multi_worker_mirrored: not with `frozen_features`, whose vectors "
                             "several processes would write")
        for group, names in OF_FINE_TUNING.items():
            for name, instead in names.items():
                value = getattr(getattr(self, group), name)
                if value != getattr(type(getattr(self, group))(), name):
                    raise InputError(f"`{name}`={short(value)}: is of fine-tuning, and has no effect with "
                                     f"`frozen_features`" + (f"; give {instead}" if instead else ""))

    @property
    def of_run(self):
        """The FrozenTaggerSettings of a run by frozen features, or the FineTuningSettings of a fine-tuned tagger."""
        groups = {field.name: getattr(self, field.name) for field in dataclasses.fields(FineTuningSettings)}
        if not self.frozen.frozen_features:
            return FineTuningSettings(**groups)
        groups["optimizer"] = dataclasses.replace(self.optimizer, learning_rate=self.frozen.frozen_learning_rate)
        groups["tuning"] = dataclasses.replace(self.tuning, num_train_epochs=self.frozen.frozen_epochs)
        return FrozenTaggerSettings(**groups, frozen=self.frozen)
