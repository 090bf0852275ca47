"""Settings for fine-tuning, and for jobs that use a fine-tuned model and the data of its task.

Scripts define their flags from this module, so it does not import TensorFlow.
"""

import dataclasses
import itertools
import os
from typing import ClassVar

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory
from bert_tf.checkpoints.tokenizers import add_tokens, read_full_vocabulary
from bert_tf.checkpoints.training_run import has_run
from bert_tf.cli import roles
from bert_tf.cli.model_jobs import ModelJobSettings
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.cli.resolution import has_runs
from bert_tf.cli.rules import Needs, NotWith
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata
from bert_tf.tokenization.token_files import read_token_list
from bert_tf.tokenization.vocabulary import count_ids
from data_prep.tasks import DATA
from run.techniques.settings import TrainedWeightsSettings
from run.training.settings import (
    ActionSettings,
    DeviceSettings,
    OptimizerSettings,
    ScheduleSettings,
    StepSettings,
    TrainingSettings,
)

SEARCH_FOLDER = "search"  # Within output_dir, with one directory per trial of a search.
SEARCH_VALUES = ("search_batch_sizes", "search_learning_rates", "search_epochs")  # Settings.


@dataclasses.dataclass(frozen=True)
class TuningSettings(ScheduleSettings):
    """Schedule, evaluation, and prediction."""

    outer_settings: ClassVar = ("do_eval",)

    predict_batch_size: int = setting(
        8, "Batch size for prediction.", min_value=1, changeable=True, rare=True
    )
    eval_steps: int | None = setting(
        None,
        "Number of training steps between evaluations. The weights with the best score go to "
        "OUTPUT_DIR/best, and are used to evaluate and predict.",
        min_value=1,
        rules=[Needs("do_eval")],
        changeable=True,
    )
    early_stopping_evals: int | None = setting(
        None,
        "Number of evaluations without improvement after which to stop training.",
        min_value=1,
        rules=[Needs("eval_steps")],
        changeable=True,
    )
    num_runs: int = setting(
        1,
        "Number of training runs, with seeds --random_seed, --random_seed + 1, ..., in "
        "OUTPUT_DIR/run_1, ... Reports means and standard deviations; predictions are from the "
        "best run.",
        min_value=1,
        changeable=True,
    )
    group_by_length: bool = setting(
        True,
        "Batch texts of similar length, pad them to the longest text of the batch, and skip the "
        "computation of padding. Several times faster for short texts. Has no effect on TPUs.",
        rare=True,
    )


@dataclasses.dataclass(frozen=True)
class FineTuningSettings(ActionSettings, ModelJobSettings):
    """Steps, and several runs. `task_settings` contains those of the task, from data_prep.tasks."""

    replaced: ClassVar = dict.fromkeys(
        ("train_batch_size", "learning_rate", "num_train_epochs"), "search"
    )
    # Files of all tasks, except for names that no data file would have.
    written: ClassVar = (
        r"(task|run|predictions|nbest_predictions|null_odds)\.json|"
        r"(eval_results|eval_report|test_predictions)\.txt|test_predictions\.conllu|"
        r"test_results\.tsv|(training|eval)_log\.csv|train\.tf_record|table\.tsv|feature_based\.json"
    )

    do_predict: bool = setting(False, "Write predictions for the test data.", changeable=None)
    task_settings: Settings = dataclasses.field(default_factory=Settings)
    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    step_settings: StepSettings = dataclasses.field(default_factory=StepSettings)
    tuning: TuningSettings = dataclasses.field(default_factory=TuningSettings)
    trained_weights: TrainedWeightsSettings = dataclasses.field(
        default_factory=TrainedWeightsSettings
    )
    ensemble: tuple[str, ...] = setting(
        (),
        "Output directories of finished runs, comma-separated, such as mrpc/run_1,mrpc/run_2. "
        "Evaluates and predicts with the mean of their probabilities, or of their numbers in "
        "regression.",
        rules=[NotWith("do_train"), NotWith("num_runs"), NotWith("init_checkpoint")],
        changeable=True,
        rare=True,
    )
    added_tokens_file: str | None = setting(
        None,
        "Text file with tokens to add to the vocabulary, one per line, such as entity markers or "
        "domain words. They are not split, and get new rows at the end of the word embeddings, "
        "with random initial values. To resume or evaluate the run, set this flag again.",
        rules=[
            NotWith("lora_rank", advice="adapters do not train the new rows"),
            NotWith("freeze_layers", advice="frozen word embeddings do not train the new rows"),
        ],
        role=roles.INPUT_FILE,
    )
    keep_head: bool | None = setting(
        None,
        "With --do_train and --init_checkpoint: load the task head (the last layer) of the "
        "checkpoint, or fail if it does not fit; --nokeep_head initializes a new head. By "
        "default, loads the head if it fits and was trained for the same labels.",
        rules=[Needs("do_train"), Needs("init_checkpoint")],
        rare=True,
    )
    search: bool = setting(
        False,
        "Train with every combination of --search_batch_sizes, --search_learning_rates, and "
        "--search_epochs, in OUTPUT_DIR/search/batch16_lr5e-05_epochs2, ... Copies the weights "
        "with the best score on the development data to OUTPUT_DIR, and writes a table of all "
        "combinations to OUTPUT_DIR/search.",
        rules=[
            Needs("do_train"),
            Needs("do_eval"),
            NotWith(
                "num_runs",
                advice="run the search first, then set `num_runs` with the best settings",
            ),
            NotWith("train_batch_size", advice="set `search_batch_sizes`"),
            NotWith("learning_rate", advice="set `search_learning_rates`"),
            NotWith("num_train_epochs", advice="set `search_epochs`"),
        ],
    )
    search_batch_sizes: tuple[int, ...] = setting(
        (16, 32),
        "With --search: values of --train_batch_size to try.",
        min_value=1,
        rules=[Needs("search")],
        rare=True,
    )
    search_learning_rates: tuple[float, ...] = setting(
        (5e-5, 3e-5, 2e-5),
        "With --search: values of --learning_rate to try.",
        min_value=0,
        rules=[Needs("search")],
        rare=True,
    )
    search_epochs: tuple[float, ...] = setting(
        (2.0, 3.0, 4.0),
        "With --search: values of --num_train_epochs to try.",
        min_value=0,
        rules=[Needs("search")],
        rare=True,
    )

    @property
    def model_source(self):
        """See ModelJobSettings.

        The first run of an ensemble supplies unset values; raises InputError unless all runs exist.
        """
        if not self.ensemble:
            return super().model_source
        for folder in self.ensemble:
            if not has_run(folder):
                raise InputError(
                    "contains no finished run; name directories such as mrpc/run_1",
                    "ensemble",
                    folder,
                )
        return "ensemble", self.ensemble[0]

    def add_dependent_values(self):
        """See ModelJobSettings. Adds the tokens of `added_tokens_file`."""
        if not self.added_tokens_file:
            return self
        vocab_file = add_tokens(self.tokenizer.vocab_file, read_token_list(self.added_tokens_file))
        config = self.model.config
        size = max(config.vocab_size, count_ids(read_full_vocabulary(vocab_file)))
        return self.replace_values(
            {"vocab_file": vocab_file, "config": dataclasses.replace(config, vocab_size=size)}
        )

    def check_files(self):
        """See Settings. Also raises InputError if there is nothing to do."""
        if not self.splits:
            raise InputError("nothing to do; set `do_train`, `do_eval`, or `do_predict`")
        output_dir = self.training.output_dir
        if self.ensemble and has_runs(output_dir):
            raise InputError(
                "contains a run; choose another directory for the results of `ensemble`",
                "output_dir",
                output_dir,
            )
        self.trained_weights.check_model(self.model.config)
        if (
            self.do_train
            and not self.search
            and files.at(os.path.join(output_dir, SEARCH_FOLDER)).exists()
        ):
            raise InputError(
                "contains a search; set `search` to resume it, or choose another directory",
                "output_dir",
                output_dir,
            )

    @property
    def splits(self):
        """The splits to read for the requested steps, a list of "train", "dev", and "test"."""
        selected = {
            "train": self.do_train,
            "dev": self.do_eval,
            "test": self.do_predict,
        }
        return [split for split, is_selected in selected.items() if is_selected]

    @property
    def optimizer(self):
        """The OptimizerSettings: as in the original BERT, except for the learning rate."""
        return OptimizerSettings(learning_rate=self.tuning.learning_rate)

    @property
    def runs(self):
        """List of FineTuningSettings, one per run.

        The runs are the settings themselves, one per seed, the trials of a search, or an ensemble.
        """
        if self.ensemble:
            return [
                dataclasses.replace(
                    self, training=dataclasses.replace(self.training, output_dir=folder)
                )
                for folder in self.ensemble
            ]
        if self.search:
            return [
                self._make_trial(*values)
                for values in itertools.product(
                    *(dict.fromkeys(getattr(self, name)) for name in SEARCH_VALUES)
                )
            ]
        if self.tuning.num_runs == 1:
            return [self]
        return [self._make_run(number) for number in range(self.tuning.num_runs)]

    def _make_run(self, number):
        """Returns the settings of run `number`, 0-based, of the runs over seeds."""
        training = dataclasses.replace(
            self.training,
            output_dir=os.path.join(self.training.output_dir, f"run_{number + 1}"),
            random_seed=self.training.random_seed + number,
        )
        return dataclasses.replace(
            self, training=training, tuning=dataclasses.replace(self.tuning, num_runs=1)
        )

    def _make_trial(self, batch_size, learning_rate, num_epochs):
        """Returns the settings of a trial of the search, with `search` disabled."""
        name = (
            f"batch{batch_size}_lr{format_number(learning_rate)}_epochs{format_number(num_epochs)}"
        )
        training = dataclasses.replace(
            self.training,
            output_dir=os.path.join(self.training.output_dir, SEARCH_FOLDER, name),
            train_batch_size=batch_size,
        )
        return dataclasses.replace(
            self,
            training=training,
            search=False,
            **{name: getattr(FineTuningSettings, name) for name in SEARCH_VALUES},
            tuning=dataclasses.replace(
                self.tuning, learning_rate=learning_rate, num_train_epochs=num_epochs
            ),
        )

    def num_train_steps(self, num_examples):
        """Returns the steps in `num_train_epochs`, as in the original BERT.

        Raises InputError if 0.
        """
        batch_size = self.training.train_batch_size
        num_epochs = self.tuning.num_train_epochs
        steps = int(num_examples / batch_size * num_epochs)
        if steps < 1:
            raise InputError(
                f"{num_epochs} epochs of {num_examples} examples do not fill one batch; set a "
                "smaller batch size",
                "train_batch_size",
                batch_size,
            )
        return steps


def format_number(number):
    """Formats a number unambiguously and without a trailing .0: 2, 0.5, 5e-05."""
    return str(number).removesuffix(".0")


@dataclasses.dataclass(frozen=True)
class EvaluationDataSettings(Settings):
    """Development data of the task that a model was fine-tuned for."""

    task_name: str | None = setting(
        None,
        "For classifiers: same as for run_classifier. Defaults to the task in the model's "
        "run.json.",
    )
    data_dir: str | None = setting(
        None,
        "For classifiers: directory of the task's files, as for run_classifier.",
        role=roles.INPUT,
    )
    data_file: str | None = setting(
        None, "For classifiers: file of your own data, as for run_classifier.", role=roles.INPUT
    )
    dev_file: str | None = setting(
        None, "For token classification and multiple choice: file to evaluate on.", role=roles.INPUT
    )
    predict_file: str | None = setting(
        None, "For question answering: SQuAD JSON to evaluate on.", role=roles.INPUT
    )


@dataclasses.dataclass(frozen=True)
class DataSettings(EvaluationDataSettings):
    """Training and development data of the task that a model was fine-tuned for."""

    train_file: str | None = setting(
        None, "For other tasks: file to train on, as for the task's script.", role=roles.INPUT
    )


@dataclasses.dataclass(frozen=True)
class FineTunedSettings(ModelJobSettings):
    """A fine-tuned model, and the data of its task. See run.finetuning.fine_tuned_model.

    Attributes:
      metadata: TaskMetadata of the model, once resolved. None if it has none and `needs_task` is
        False.
      task_settings: TaskSettings, once resolved.
      actions: ActionSettings, once resolved. They select the data to read.
      tuning: TuningSettings of the training of a derived model, once resolved.
      do_train: bool. Whether the job reads the training data.
    """

    always_required: ClassVar = ("init_checkpoint",)
    needs_task = True
    do_train = False
    do_eval = True

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    data: DataSettings = dataclasses.field(default_factory=DataSettings)
    metadata: TaskMetadata | None = dataclasses.field(
        default=None, compare=False, repr=False, kw_only=True
    )
    task_settings: Settings | None = dataclasses.field(default=None, kw_only=True)
    actions: Settings | None = dataclasses.field(default=None, kw_only=True)
    tuning: Settings | None = dataclasses.field(default=None, kw_only=True)

    @classmethod
    def from_served(cls, settings, **data):
        """Returns the settings of the model that a job serves.

        Args:
          settings: Resolved settings of the job, with `served_task`.
          **data: Values of DataSettings.
        """
        values = settings.values() | data | {"config": settings.config}
        opened = cls().replace_values(values).add_file_values()
        opened = opened.replace_values({"max_seq_length": settings.served_task.max_seq_length})
        roles.check_roles(opened.task_settings, opened.actions)
        return opened

    def add_file_values(self):
        """See ModelJobSettings.

        Raises InputError if the model was not fine-tuned, or for data of another task.
        """
        model_path = self.model.init_checkpoint
        directory = ModelDirectory.open(model_path)
        metadata = directory.task
        settings = dataclasses.replace(self, metadata=metadata)
        if metadata and metadata.max_seq_length:
            settings = settings.replace_values({"max_seq_length": metadata.max_seq_length})
        if not self.needs_task:
            return settings
        if metadata is None or metadata.kind not in DATA:
            raise InputError(
                f"must be a fine-tuned model, with a {TASK_FILE} that names its task",
                "init_checkpoint",
                model_path,
            )
        task_settings = DATA[metadata.kind].settings_class.from_model(
            directory.run_settings, self.data.values()
        )
        return dataclasses.replace(
            settings,
            task_settings=task_settings,
            actions=ActionSettings(do_eval=self.do_eval),
            tuning=self.choose_tuning(),
        )

    def choose_tuning(self):
        """Returns the TuningSettings. See `tuning`."""
        return TuningSettings()
