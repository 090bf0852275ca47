"""Settings for jobs that compress and compare models. Scripts define flags from it; does not import TensorFlow."""

import dataclasses
import os
from typing import ClassVar

from bert_tf import files
from bert_tf.cli import paths, places
from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from run.finetuning.settings import FineTunedSettings, TuningSettings
from run.settings import OptimizerSettings, StepSettings, TrainingSettings
from run.techniques.settings import AnswerSettings, LossSettings

FORMATS = ("saved_model", "litert_float32", "litert_float16", "litert_int8")  # Formats of a comparison.


@dataclasses.dataclass(frozen=True)
class PruningSettings(Settings):
    """Parts to prune, criteria, and subsequent fine-tuning."""

    keep_heads: float = setting(
        1.0, "Share of the model's attention heads that stay, the most important; a layer keeps one at least.",
        lower=0, upper=1)
    keep_neurons: float = setting(
        1.0, "Share of the feed-forward neurons that stay, the most important; a layer keeps one at least.",
        lower=0, upper=1)
    keep_flops: float | None = setting(
        None, "In place of --keep_heads and --keep_neurons: keep as large a share of both as the encoder can have with "
              "so many floating point operations for a text of --max_seq_length; up to 1, that share of what it takes "
              "now.", lower=0, not_with=("keep_heads", "keep_neurons"))
    drop_layers: tuple[int, ...] = setting(
        (), "Numbers of layers, from 0, to take out as a whole before anything else.")
    embedding_size: int | None = setting(
        None, "Factorise the word table into two matrices with so many columns and rows, as ALBERT's; less than the "
              "model's hidden_size.", lower=1)
    prune_vocabulary: tuple[str, ...] = setting(
        (), "UTF-8 text files, such as the training data: the vocabulary keeps the pieces that they use, special ones "
            "and their single characters.")
    prune_across: str = setting(
        "model", "model: the least important heads and neurons of all layers together go; layer: the same share of "
                 "each layer.", choices=("model", "layer"))
    importance_examples: int = setting(
        2048, "Training examples over which importance is measured, before each round.", lower=1)
    rounds: int = setting(
        1, "Prune in so many equal steps, and measure importance anew before each.", lower=1)
    num_train_epochs: float = setting(
        0.0, "After each round, fine-tune for so many epochs; 0 for not at all.", lower=0)
    distill: bool = setting(
        False, "With --num_train_epochs: the model learns from what it was before anything was taken out, by the "
               "losses of run_distillation.", needs="num_train_epochs", not_with=(
            "prune_vocabulary; prune the vocabulary first, by itself, and then what comes out"))
    warmup_proportion: float = setting(
        0.1, "Share of the training steps of a round over which the learning rate rises from 0.", lower=0, upper=1)
    least_score: float | None = setting(
        None, "Stop when the score on the development data, the task's first metric, falls below this; the model "
              "before is what comes out.")

    @property
    def takes_out_units(self):
        """True if heads or neurons are pruned."""
        return self.keep_flops is not None or min(self.keep_heads, self.keep_neurons) < 1


@dataclasses.dataclass(frozen=True)
class PruneModelSettings(FineTunedSettings):
    """A pruning: the model, its data, the parts to prune, and the fine-tuning."""

    needs_of_groups: ClassVar = {"losses": "distill", "answers": "distill"}

    pruning: PruningSettings = dataclasses.field(default_factory=PruningSettings)
    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    step: StepSettings = dataclasses.field(default_factory=StepSettings)
    optimizer: OptimizerSettings = dataclasses.field(default_factory=OptimizerSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)
    answers: AnswerSettings = dataclasses.field(default_factory=AnswerSettings)

    def check(self):
        """See Settings."""
        if self.losses.replacing_rate is not None:
            raise InputError("is of run_distillation alone", "replacing_rate", self.losses.replacing_rate)

    def check_files(self):
        """See Settings. Also raises InputError if output_dir is the model's directory, or contains a training run."""
        output_dir = self.training.output_dir
        paths.check_apart("output_dir", output_dir, {"init_checkpoint": self.model.init_checkpoint})
        if files.exists(os.path.join(output_dir, "checkpoint")):
            raise InputError("holds a training run; choose another folder", "output_dir", output_dir)

    def choose_tuning(self):
        """See FineTunedSettings."""
        return TuningSettings(
            do_train=True, do_eval=True, warmup_proportion=self.pruning.warmup_proportion,
            num_train_epochs=self.pruning.num_train_epochs or TuningSettings().num_train_epochs)


@dataclasses.dataclass(frozen=True)
class QuantizationSettings(FineTunedSettings):
    """A fine-tuned model, its development data, and the output file."""

    eval_batch_size: int = setting(32, "Examples in an evaluation step.", lower=1)
    output_file: str | None = setting(None, "TSV file for the table that is printed.", place=places.OUTPUT_FILE)


@dataclasses.dataclass(frozen=True)
class ComparisonSettings(Settings):
    """Fine-tuned models of one task, and the development data to evaluate them on."""

    models: tuple[str, ...] = setting(
        (), "Folders or checkpoints of fine-tuned models of one task, as --init_checkpoint of the other scripts; what "
            "all others are compared with comes first. Needed.", required=True, place=places.CHECKPOINT)
    formats: tuple[str, ...] = setting(
        ("saved_model", "litert_int8"), f"What each is exported as: {', '.join(FORMATS)}.", required=True)
    output_dir: str | None = setting(
        None, "Folder for comparison.txt, comparison.tsv and comparison.png; made if missing. Needed.", required=True,
        place=places.SHARED_FOLDER)
    max_seq_length: int | None = setting(
        None, "Longest sequence in WordPiece tokens; unset means that of each model's task.json.", lower=4)
    task_name: str | None = setting(
        None, "Of classifiers: as run_classifier's; unset means what each model's run.json says.")
    data_dir: str | None = setting(None, "Of classifiers: folder of the task's files, as run_classifier's.")
    dev_file: str | None = setting(None, "Of taggers or of multiple choice: file to evaluate on.")
    predict_file: str | None = setting(None, "Of span labelers: SQuAD JSON to evaluate on.")
    eval_batch_size: int = setting(32, "Examples that go through a model together when it is scored.", lower=1)
    timed_texts: int = setting(
        64, "Texts of the development data, drawn by chance, that the models are timed with.", lower=8)
    random_seed: int = setting(12345, "Fixes which texts these are.", most=LARGEST_SEED)

    def check(self):
        """See Settings."""
        for each in self.formats:
            if each not in FORMATS:
                raise InputError(f"it must be among {', '.join(FORMATS)}", "formats", each)
        for path in self.models:
            if self.models.count(path) > 1:
                raise InputError("is named twice", "models", path)

    @property
    def data(self):
        """Dict of the values of DataSettings."""
        return {name: getattr(self, name) for name in ("task_name", "data_dir", "dev_file", "predict_file")}

    @property
    def names(self):
        """Short unique names of the models: as many final path components as necessary."""
        parts = [os.path.normpath(path).split(os.sep) for path in self.models]
        for count in range(1, max(map(len, parts)) + 1):
            names = ["/".join(each[-count:]) for each in parts]
            if len(set(names)) == len(names):
                return names
        return list(self.models)
