"""What a fine-tuning run is told. Free of TensorFlow: scripts define their flags of it."""

import dataclasses
import os

from bert_tf.cli import paths
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from run.settings import (
    DeviceSettings,
    ModelSettings,
    OptimizerSettings,
    StepSettings,
    TokenizerSettings,
    TrainingSettings,
)


@dataclasses.dataclass(frozen=True)
class TuningSettings(Settings):
    """What to do, for how long, how often; and how batches are made."""

    do_train: bool = setting(False, "Whether to train.")
    do_eval: bool = setting(False, "Whether to evaluate on the development data.")
    do_predict: bool = setting(False, "Whether to write predictions for the test data.")
    predict_batch_size: int = setting(8, "Examples in a prediction step.", lower=1)
    num_train_epochs: float = setting(3.0, "Times that training goes through the data.", lower=0)
    warmup_proportion: float = setting(
        0.1, "Share of the training steps over which the learning rate rises from 0.", lower=0, upper=1)
    eval_steps: int | None = setting(
        None, "Evaluate every so many training steps, and keep the weights with the best score in OUTPUT_DIR/best: "
              "these evaluate and predict. Needs --do_eval.", lower=1)
    early_stopping_evals: int | None = setting(
        None, "Stop training when the score has not risen for so many evaluations. Needs --eval_steps.", lower=1)
    num_runs: int = setting(
        1, "Train so many times, with seeds --random_seed, --random_seed + 1, ..., in OUTPUT_DIR/run_1, ...; results "
           "are means and standard deviations, predictions the best run's.", lower=1)
    group_by_length: bool = setting(
        True, "Make batches of texts of similar length, padded to the longest of the batch, and do not compute "
              "padding: several times faster on short texts. Never on TPU.")

    def check(self):
        if self.eval_steps and not self.do_eval:
            raise InputError(f"`eval_steps`={self.eval_steps}: evaluates during training, give `do_eval` too")
        if self.early_stopping_evals and not self.eval_steps:
            raise InputError(f"`early_stopping_evals`={self.early_stopping_evals}: say with `eval_steps` how often to "
                             "evaluate")

    @property
    def splits(self):
        """The data that is read: "train", "dev" and "test", as far as there is something to do with them."""
        wanted = {"train": self.do_train, "dev": self.do_eval, "test": self.do_predict}
        return [split for split, is_wanted in wanted.items() if is_wanted]


@dataclasses.dataclass(frozen=True)
class FineTuningSettings(Settings):
    """A fine-tuning run; `task` holds the settings of its task, of run.finetuning.task_settings."""

    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = dataclasses.field(default_factory=TokenizerSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    step: StepSettings = dataclasses.field(default_factory=StepSettings)
    optimizer: OptimizerSettings = dataclasses.field(default_factory=OptimizerSettings)
    tuning: TuningSettings = dataclasses.field(default_factory=TuningSettings)
    task: Settings = dataclasses.field(default_factory=Settings)

    def read_config(self):
        """The BertConfig, once all that needs no TensorFlow is checked; InputError for what is wrong or missing."""
        if not self.tuning.splits:
            raise InputError("nothing to do: give `do_train`, `do_eval` or `do_predict`")
        self.task.check_files(self.tuning.splits)
        config = self.model.read_config(self.tokenizer.max_seq_length)
        paths.check_output_dir("output_dir", self.training.output_dir)
        paths.check_file("vocab_file", self.tokenizer.vocab_file)
        return config

    @property
    def run_folders(self):
        """The folder of each run."""
        output_dir, num_runs = self.training.output_dir, self.tuning.num_runs
        if num_runs == 1:
            return [output_dir]
        return [os.path.join(output_dir, f"run_{number}") for number in range(1, num_runs + 1)]

    def num_train_steps(self, num_examples):
        """Steps that make up `num_train_epochs`, as in the original; InputError if they are none."""
        batch_size, num_epochs = self.training.train_batch_size, self.tuning.num_train_epochs
        steps = int(num_examples / batch_size * num_epochs)
        if steps < 1:
            raise InputError(f"`train_batch_size`={batch_size}: {num_epochs} epochs of {num_examples} examples do not "
                             "fill one batch")
        return steps
