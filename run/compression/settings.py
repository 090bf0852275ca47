"""Settings for jobs that compress and compare models. Scripts define flags from it; does not import TensorFlow."""

import dataclasses
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.latest_checkpoint import has_run
from run.finetuning.settings import EvaluationDataSettings, FineTunedSettings, TuningSettings
from run.settings.training import DTYPE_POLICIES, StepSettings, TrainingSettings
from run.techniques.settings import LossSettings

UNITS = "keep_heads or keep_neurons"  # Condition: heads or neurons are pruned.


@dataclasses.dataclass(frozen=True)
class PruneModelSettings(FineTunedSettings):
    """A pruning: the model, its data, the parts to prune, and the fine-tuning."""

    needs_of_groups: ClassVar = {"losses": "distill"}
    do_train = True

    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)
    keep_heads: float = setting(
        1.0, "Fraction of attention heads to keep, the most important ones; each layer keeps at least one.", lower=0,
        upper=1)
    keep_neurons: float = setting(
        1.0, "Fraction of feed-forward neurons to keep, the most important ones; each layer keeps at least one.",
        lower=0, upper=1)
    embedding_size: int | None = setting(
        None, "Factorize the word embeddings into two matrices with this inner dimension, as in ALBERT; less than the "
              "model's hidden_size.", lower=1)
    prune_vocabulary: tuple[str, ...] = setting(
        (), "UTF-8 text files, such as the training data. The vocabulary keeps the tokens that occur in them, special "
            "tokens, and their single characters.")
    importance_examples: int = setting(2048, "Number of training examples for measuring importance, before each round.",
                                       lower=1, needs=UNITS)
    rounds: int = setting(1, "Number of equal pruning steps, each with a new measurement of importance.", lower=1,
                          needs=UNITS)
    num_train_epochs: float = setting(0.0, "Number of epochs of fine-tuning after each round; 0 for none.", lower=0)
    distill: bool = setting(
        False, "With --num_train_epochs: the model before pruning is the teacher, with the losses of "
               "run_distillation.", needs="num_train_epochs",
        not_with="prune_vocabulary; prune the vocabulary first, then prune the resulting model")
    learning_rate: float = setting(5e-5, "Peak learning rate, at the end of the warmup.", lower=0,
                                   needs="num_train_epochs")
    mixed_precision: str = setting(
        "float32", "Type of the computations of fine-tuning, as for run_classifier.", choices=DTYPE_POLICIES,
        needs="num_train_epochs")
    warmup_proportion: float = setting(
        0.1, "Fraction of the training steps of a round over which the learning rate increases from 0.", lower=0,
        upper=1, needs="num_train_epochs")

    @property
    def prunes_units(self):
        """True if heads or neurons are pruned."""
        return min(self.keep_heads, self.keep_neurons) < 1

    @property
    def step(self):
        """StepSettings of the fine-tuning."""
        return StepSettings(mixed_precision=self.mixed_precision)

    def check_files(self):
        """See Settings. Also raises InputError if nothing is pruned, or if output_dir contains a model or a run."""
        if not (self.prunes_units or self.embedding_size or self.prune_vocabulary):
            raise InputError("nothing to prune; set `keep_heads`, `keep_neurons`, `embedding_size`, or "
                             "`prune_vocabulary`")
        output_dir = self.training.output_dir
        if has_run(output_dir):
            raise InputError("contains a training run; choose another directory", "output_dir", output_dir)

    def choose_tuning(self):
        """See FineTunedSettings."""
        return TuningSettings(
            do_eval=True, learning_rate=self.learning_rate, warmup_proportion=self.warmup_proportion,
            num_train_epochs=self.num_train_epochs or TuningSettings().num_train_epochs)


@dataclasses.dataclass(frozen=True)
class ModelEvaluationSettings(Settings):
    """Models of one task, and the development data to evaluate them on."""

    data: EvaluationDataSettings = dataclasses.field(default_factory=EvaluationDataSettings)
    models: tuple[str, ...] = setting(
        (), "Models of one task: directories of fine-tuning runs or other checkpoints, SavedModels, and .tflite files. "
            "The first must be a checkpoint; an export gets the features of the checkpoint before it. Required.",
        required=True, role=roles.INPUT)
    max_seq_length: int | None = setting(
        None, "Maximum sequence length in tokens. Defaults to the length in each checkpoint's task.json.", lower=4)
    eval_batch_size: int = setting(32, "Batch size for evaluation.", lower=1)
    int8_matrices: bool = setting(
        False, "Also evaluate the first model with each matrix rounded to int8 separately, and with all of them, as in "
               "a LiteRT file with int8 weights.")
    output_file: str | None = setting(None, "JSON file for the printed results.", role=roles.OUTPUT_FILE)

    def check(self):
        """See Settings."""
        for path in self.models:
            if self.models.count(path) > 1:
                raise InputError("is listed twice", "models", path)
