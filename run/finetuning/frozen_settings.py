"""Settings for training on frozen features. Scripts define flags from it; does not import TensorFlow."""

import dataclasses
import os
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.settings import FIXED, Settings, setting
from bert_tf.errors import InputError
from run.finetuning.settings import FineTuningSettings

LAST_FOUR = 4
# Combination of the embeddings of several layers, for each kind of frozen features (table 7 of the paper).
SINGLE, SUM, MIX, CONCATENATION = "alone", "sum", "mix", "side by side"
COMBINATIONS = {"embeddings": SINGLE, "last": SINGLE, "second_to_last": SINGLE, "sum_last_four": SUM,
                "weighted_sum_last_four": MIX, "concat_last_four": CONCATENATION, "weighted_sum_all": MIX}
KINDS = tuple(COMBINATIONS)
VECTORS_FOLDER = "vectors"  # Within output_dir.
TABLE_FILE, TABLE_SETTINGS_FILE = "table.tsv", "table.json"
EITHER = "frozen_features or all_features"
ONE_PROCESS = "distribution_strategy=multi_worker_mirrored; only one process can write the features"
RUNS = 5  # Runs per row of the table, as in the paper.
FINE_TUNING_ONLY = {  # Settings of a group that do not apply to frozen features -> their replacement, or None.
    "optimizer": {"learning_rate": "`frozen_learning_rate`"},
    "tuning": {"num_train_epochs": "`frozen_epochs`", "bilstm_head": None, "keep_head": None},
    "step": {"jit_compile": None, "recompute_activations": None},
    "trained_weights": {"freeze_layers": None, "layerwise_learning_rate_decay": None, "lora_rank": None},
    "int8": {"quantize_from_step": None},
    "search": {"search": None},
    "task": {"long_texts": None},
}


@dataclasses.dataclass(frozen=True)
class FrozenSettings(Settings):
    """The embeddings of a frozen encoder, and the trained BiLSTM."""

    outer_settings: ClassVar = ("init_checkpoint", "do_train", "do_eval", "do_predict", "num_runs",
                                "distribution_strategy")

    frozen_features: str | None = setting(
        None, "Train a two-layer BiLSTM on frozen features of the encoder instead of the encoder: its embeddings; its "
              "second-to-last or last layer; the sum, a learned mix, or the concatenation of its last four layers; or "
              "a learned mix of all layers. Requires --init_checkpoint.", choices=KINDS, needs="init_checkpoint",
        not_with=ONE_PROCESS, resume=FIXED)
    lstm_width: int = setting(768, "With --frozen_features: hidden size of each layer of the BiLSTM, per direction.",
                              lower=1, needs=EITHER, resume=FIXED)
    lstm_dropout: float = setting(
        0.3, "With --frozen_features: dropout rate of the inputs of each BiLSTM layer and of the last layer.", lower=0,
        upper=0.99, needs=EITHER, resume=FIXED)
    frozen_learning_rate: float = setting(
        1e-3, "With --frozen_features: peak learning rate, instead of --learning_rate.", lower=0, needs=EITHER)
    frozen_epochs: float = setting(
        10.0, "With --frozen_features: number of training epochs, instead of --num_train_epochs.", lower=0,
        needs=EITHER)
    vectors_dir: str | None = setting(
        None, "With --frozen_features: directory for storing the features and for reusing those of other runs. "
              f"Defaults to OUTPUT_DIR/{VECTORS_FOLDER}.", needs=EITHER, role=roles.CACHE_FOLDER)
    all_features: bool = setting(
        False, "Train and evaluate a fine-tuned model and one model per kind of --frozen_features, each with "
               "several seeds, in subdirectories of OUTPUT_DIR. Writes means and standard deviations to "
               f"OUTPUT_DIR/{TABLE_FILE} (table 7 of the paper). Requires --do_train and --do_eval.",
        needs=("do_train", "do_eval", "init_checkpoint"),
        not_with=("frozen_features", "do_predict", "num_runs; set `runs_per_row`", ONE_PROCESS))
    runs_per_row: int = setting(
        RUNS, "With --all_features: number of runs per kind, with seeds --random_seed, --random_seed + 1, ...", lower=1,
        needs="all_features")

    @property
    def is_used(self):
        """True if frozen features are used."""
        return self.all_features or self.frozen_features is not None


@dataclasses.dataclass(frozen=True)
class FrozenRunSettings(FineTuningSettings):
    """A run on frozen features. The usual groups contain its learning rate and number of epochs.

    Attributes:
      computes_all_layers: bool. If True and a layer is missing, computes all layers, for later runs.
    """

    frozen: FrozenSettings = dataclasses.field(default_factory=FrozenSettings)
    computes_all_layers: bool = dataclasses.field(default=False, kw_only=True)

    @property
    def vectors_dir(self):
        """Path of the directory for embeddings."""
        return self.frozen.vectors_dir or os.path.join(self.training.output_dir, VECTORS_FOLDER)


@dataclasses.dataclass(frozen=True)
class TransferSettings(FrozenRunSettings):
    """Settings for scripts that transfer an encoder to a task by fine-tuning or by frozen features."""

    replaced: ClassVar = FineTuningSettings.replaced | dict.fromkeys(
        ("learning_rate", "num_train_epochs"), "search or frozen_features")

    def check(self):
        """See Settings. Raises InputError if frozen features are combined with settings of fine-tuning."""
        super().check()
        if not self.frozen.is_used:
            return
        is_table = self.frozen.all_features
        used = "`all_features`" if is_table else "`frozen_features`"
        for group, names in FINE_TUNING_ONLY.items():
            settings = getattr(self, group)
            for name, instead in names.items():
                value = getattr(settings, name, None)
                if value != getattr(type(settings)(), name, None) and not (is_table and instead):
                    raise InputError(f"cannot be combined with {used}{f'; set {instead}' if instead else ''}",
                                     name, value)

    def build_run_settings(self, kind=None):
        """Returns FrozenRunSettings for a kind of features, or FineTuningSettings without one."""
        groups = {field.name: getattr(self, field.name) for field in dataclasses.fields(FineTuningSettings)}
        if kind is None:
            return FineTuningSettings(**groups)
        groups["optimizer"] = dataclasses.replace(self.optimizer, learning_rate=self.frozen.frozen_learning_rate)
        groups["tuning"] = dataclasses.replace(self.tuning, num_train_epochs=self.frozen.frozen_epochs)
        return FrozenRunSettings(**groups, computes_all_layers=self.frozen.all_features, frozen=dataclasses.replace(
            self.frozen, frozen_features=kind, vectors_dir=self.vectors_dir, all_features=False, runs_per_row=RUNS))

    def build_row_settings(self, kind, folder):
        """Returns the settings of a row of the table in its own directory. See `build_run_settings`."""
        run_settings = self.build_run_settings(kind)
        return dataclasses.replace(
            run_settings, training=dataclasses.replace(self.training, output_dir=folder, keep_checkpoint_max=1),
            tuning=dataclasses.replace(run_settings.tuning, num_runs=self.frozen.runs_per_row))


def select_layers(kind, num_layers):
    """Returns the layers of one of KINDS in a model with `num_layers`: tuple of int, where 0 is the embeddings.

    Raises:
      InputError: If the model has too few layers.
    """
    required_layers = {"second_to_last": 2}.get(kind, LAST_FOUR if kind.endswith("last_four") else 1)
    if num_layers < required_layers:
        raise InputError(f"`frozen_features`={kind}: requires at least {required_layers} layers, but the model has "
                         f"{num_layers}")
    if kind == "embeddings":
        return (0,)
    if kind.endswith("last_four"):
        return tuple(range(num_layers - LAST_FOUR + 1, num_layers + 1))
    if kind == "weighted_sum_all":
        return tuple(range(1, num_layers + 1))
    return (num_layers - (kind == "second_to_last"),)
