"""Settings for training on frozen embeddings.

The script defines its flags from it; does not import TensorFlow.
"""

import dataclasses
import os
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.model_jobs import ModelJobSettings
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.cli.rules import Needs, NotWith, Required, equals
from bert_tf.cli.settings import adapt, check_rules, setting
from bert_tf.errors import InputError
from data_prep.tasks import classifier, token_classifier
from data_prep.tasks.classifier import ColumnSettings
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.training.settings import (
    DeviceSettings,
    PrecisionSettings,
    ScheduleSettings,
    TrainingSettings,
)

# Combination of the embeddings of several layers, for each choice of features (table 7 of the
# paper).
SINGLE = "alone"
SUM = "sum"
MIX = "mix"
CONCATENATION = "side by side"
COMBINATIONS = {
    "embeddings": SINGLE,
    "last": SINGLE,
    "second_to_last": SINGLE,
    "sum_last_four": SUM,
    "weighted_sum_last_four": MIX,
    "concat_last_four": CONCATENATION,
    "weighted_sum_all": MIX,
}
ALL = "all"
EMBEDDINGS_FOLDER = "stored_embeddings"  # Within output_dir.


@dataclasses.dataclass(frozen=True)
class TableColumnSettings(ColumnSettings):
    """Columns of your own data, or of the words of a tagger."""

    label_column: str | None = setting(
        None,
        "With --task_name=custom: same as for run_classifier. For taggers: 0-based column of "
        "the label; negative values count from the last column, by default -1.",
    )


@dataclasses.dataclass(frozen=True)
class FeatureBasedSettings(ModelJobSettings):
    """Training of BiLSTMs on the embeddings of a frozen encoder.

    The data is the same as for a classifier or a regression if `task_name` is set, otherwise of a
    tagger.
    """

    always_required: ClassVar = ("init_checkpoint",)
    written: ClassVar = FineTuningSettings.written
    fixed_groups: ClassVar = ("schedule", "precision")  # Finished runs are not trained again.

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    precision: PrecisionSettings = dataclasses.field(default_factory=PrecisionSettings)
    columns: TableColumnSettings = dataclasses.field(default_factory=TableColumnSettings)
    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    schedule: ScheduleSettings = dataclasses.field(
        default_factory=lambda: ScheduleSettings(learning_rate=1e-3, num_train_epochs=10.0)
    )
    task_name: str | None = setting(None, "For texts and pairs: same as for run_classifier.")
    data_dir: str | None = setting(
        None,
        "With --task_name: directory of the task's files, as for run_classifier.",
        rules=[Needs("task_name"), Required(when="task_name")],
        role=roles.INPUT_FOLDER,
    )
    train_file: str | None = setting(
        None,
        "For taggers: file to train on, as for run_tagger.",
        rules=[NotWith("task_name"), Required(unless="task_name")],
        role=roles.INPUT_FILE,
    )
    dev_file: str | None = setting(
        None,
        "For taggers: file to evaluate on, as for run_tagger.",
        rules=[NotWith("task_name"), Required(unless="task_name")],
        role=roles.INPUT_FILE,
    )
    test_file: str | None = setting(
        None,
        "For taggers: file to predict, as for run_tagger.",
        rules=[Needs("do_predict"), NotWith("task_name")],
        role=roles.INPUT_FILE,
    )
    document_context: bool = setting(
        False, "For taggers: same as for run_tagger.", rules=[NotWith("task_name")]
    )
    do_predict: bool = adapt(
        FineTuningSettings,
        "do_predict",
        help_text="Write predictions for the test data, with the best run.",
        rules=[NotWith(equals("features", "all"))],
    )
    features: str = setting(
        "weighted_sum_all",
        "Features of the encoder: its embeddings; its second-to-last or last layer; the sum, a "
        "learned mix, or the concatenation of its last four layers; or a learned mix of all "
        f"layers. {ALL} trains a model for each of these, in subdirectories of OUTPUT_DIR, and "
        "writes a table of their scores.",
        choices=(*COMBINATIONS, ALL),
    )
    lstm_width: int = setting(
        768, "Hidden size of each layer of the BiLSTM, per direction.", min_value=1
    )
    num_runs: int = setting(
        1,
        "Number of runs per choice of features, with seeds --random_seed, --random_seed + 1, "
        "..., in subdirectories. Reports means and standard deviations.",
        min_value=1,
    )
    cache_dir: str | None = setting(
        None,
        "Directory for storing the embeddings and for reusing those of other runs. Defaults to "
        f"OUTPUT_DIR/{EMBEDDINGS_FOLDER}.",
        role=roles.CACHE_FOLDER,
    )

    def check(self):
        """See Settings."""
        if self.devices.strategy_name == "multi_worker_mirrored":
            raise InputError(
                "only one process can write the embeddings",
                "distribution_strategy",
                "multi_worker_mirrored",
            )

    def check_files(self):
        """See Settings. Also raises InputError if the encoder has too few layers."""
        for features in self.choices:
            select_layers(features, self.model.config.num_hidden_layers)

    @property
    def task_settings(self):
        """The settings of run_classifier's or run_tagger's task."""
        task_settings = self._make_task()
        check_rules(task_settings)
        return task_settings

    def _make_task(self):
        """Returns the settings of `task_settings`, whose rules are not checked."""
        values = {name: value for name, value in self.values().items() if value is not None}
        if self.task_name:
            return classifier.ClassifierSettings().replace_values(values)
        label_column = self.columns.label_column
        if label_column is not None:
            try:
                values["label_column"] = int(label_column)
            except ValueError:
                raise InputError("must be a number", "label_column", label_column) from None
        return token_classifier.TokenClassifierSettings().replace_values(values)

    @property
    def choices(self):
        """List of the choices of features to train."""
        return list(COMBINATIONS) if self.features == ALL else [self.features]

    @property
    def fine_tuning(self):
        """The FineTuningSettings with the same data and schedule, for a Task."""
        return FineTuningSettings(
            model=dataclasses.replace(self.model, init_checkpoint=None),  # Of the encoder.
            tokenizer=self.tokenizer,
            devices=self.devices,
            training=self.training,
            do_train=True,
            do_eval=True,
            do_predict=self.do_predict,
            task_settings=self.task_settings,
            tuning=TuningSettings(**self.schedule.values()),
        )

    def make_run(self, features, number):
        """Returns the settings of run `number`, 0-based, with a choice of features.

        The run has its own directory.
        """
        parts = [
            *([features] if self.features == ALL else []),
            *([f"run_{number + 1}"] if self.num_runs > 1 else []),
        ]
        training = dataclasses.replace(
            self.training,
            output_dir=os.path.join(self.training.output_dir, *parts),
            random_seed=self.training.random_seed + number,
        )
        return dataclasses.replace(self, training=training, features=features)


def select_layers(features, num_layers):
    """Returns the layers of a choice of features in a model with `num_layers`, tuple of int.

    Layer 0 is the embeddings.

    Raises:
      InputError: If the model has too few layers.
    """
    if features == "embeddings":
        return (0,)
    if features == "weighted_sum_all":
        return tuple(range(1, num_layers + 1))
    # Counted from the last layer.
    first, last = {"last": (1, 1), "second_to_last": (2, 2)}.get(features, (4, 1))
    if num_layers < first:
        raise InputError(
            f"requires at least {first} layers, but the model has {num_layers}",
            "features",
            features,
        )
    return tuple(range(num_layers - first + 1, num_layers - last + 2))
