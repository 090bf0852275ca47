"""Settings of pruning.

Scripts define flags from it, without TensorFlow.
"""

import dataclasses
from typing import ClassVar

from bert_tf.checkpoints.training_run import has_run
from bert_tf.cli.rules import Needs, NotWith, any_of
from bert_tf.cli.settings import adapt, setting
from bert_tf.errors import InputError
from run.finetuning.settings import (
    FineTunedSettings,
    TuningSettings,
)
from run.techniques.settings import LossSettings
from run.training.settings import (
    PrecisionSettings,
    ScheduleSettings,
    StepSettings,
    TrainingSettings,
)

UNITS = any_of("keep_heads", "keep_neurons")  # Condition: heads or neurons are pruned.


@dataclasses.dataclass(frozen=True)
class RoundSettings(ScheduleSettings):
    """Fine-tuning after each round."""

    num_train_epochs: float = adapt(
        ScheduleSettings,
        "num_train_epochs",
        default=0.0,
        help_text="Number of epochs of fine-tuning after each round; 0 for none.",
    )


@dataclasses.dataclass(frozen=True)
class PruneModelSettings(FineTunedSettings):
    """A pruning: the model, its data, the parts to prune, and the fine-tuning."""

    needs_of_groups: ClassVar = {
        "losses": "distill",
        "schedule": "num_train_epochs",
        "precision": "num_train_epochs",
    }
    fixed_groups: ClassVar = ("schedule", "precision")  # Finished rounds are not trained again.
    do_train = True

    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    schedule: RoundSettings = dataclasses.field(default_factory=RoundSettings)
    precision: PrecisionSettings = dataclasses.field(default_factory=PrecisionSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)
    keep_heads: float = setting(
        1.0,
        "Fraction of attention heads to keep, the most important ones; each layer keeps at least "
        "one.",
        min_value=0,
        max_value=1,
    )
    keep_neurons: float = setting(
        1.0,
        "Fraction of feed-forward neurons to keep, the most important ones; each layer keeps at "
        "least one.",
        min_value=0,
        max_value=1,
    )
    embedding_size: int | None = setting(
        None,
        "Factorize the word embeddings into two matrices with this inner dimension, as in ALBERT; "
        "less than the model's hidden_size.",
        min_value=1,
    )
    prune_vocabulary: tuple[str, ...] = setting(
        (),
        "Files of texts, such as the training data: lines, CSV, TSV, JSON, or Parquet; also "
        "compressed with gzip. The vocabulary keeps the tokens that occur "
        "in them, special tokens, and their single characters.",
    )
    importance_examples: int = setting(
        2048,
        "Number of training examples for measuring importance, before each round.",
        min_value=1,
        rules=[Needs(UNITS)],
    )
    rounds: int = setting(
        1,
        "Number of equal pruning steps, each with a new measurement of importance.",
        min_value=1,
        rules=[Needs(UNITS)],
    )
    distill: bool = setting(
        False,
        "With --num_train_epochs: the model before pruning is the teacher, with the losses of "
        "run_distillation.",
        rules=[
            Needs("num_train_epochs"),
            NotWith(
                "prune_vocabulary",
                advice="prune the vocabulary first, then prune the resulting model",
            ),
        ],
    )

    @property
    def prunes_units(self):
        """True if heads or neurons are pruned."""
        return min(self.keep_heads, self.keep_neurons) < 1

    @property
    def step(self):
        """StepSettings of the fine-tuning."""
        return StepSettings(**self.precision.values())

    def check_files(self):
        """See Settings.

        Also raises InputError for nothing to prune, an `embedding_size`, or an output_dir in use.
        """
        if not (self.prunes_units or self.embedding_size or self.prune_vocabulary):
            raise InputError(
                "nothing to prune; set `keep_heads`, `keep_neurons`, `embedding_size`, or "
                "`prune_vocabulary`"
            )
        if self.embedding_size and self.embedding_size >= self.model.config.hidden_size:
            raise InputError(
                f"must be less than {self.model.config.hidden_size}, the hidden size of the model",
                "embedding_size",
                self.embedding_size,
            )
        output_dir = self.training.output_dir
        if has_run(output_dir):
            raise InputError(
                "contains a training run; choose another directory", "output_dir", output_dir
            )

    def choose_tuning(self):
        """See FineTunedSettings."""
        return TuningSettings(
            learning_rate=self.schedule.learning_rate,
            warmup_proportion=self.schedule.warmup_proportion,
            num_train_epochs=self.schedule.num_train_epochs or TuningSettings.num_train_epochs,
        )
