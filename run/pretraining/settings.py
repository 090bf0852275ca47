"""Settings for pre-training.

The script defines its flags from this module, so it does not import TensorFlow.
"""

import dataclasses
import re
from typing import ClassVar

from bert_tf.checkpoints import TokenizerFiles
from bert_tf.cli import paths, roles
from bert_tf.cli.model_jobs import ModelJobSettings
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.cli.rules import Needs, Required, equals
from bert_tf.cli.settings import adapt, setting
from bert_tf.errors import InputError
from data_prep.pretraining.instances import OBJECTIVES, RecordSettings
from data_prep.pretraining.recipes import RECIPES as DATA_RECIPES
from run.pretraining import phases, vocabulary
from run.training.settings import (
    ActionSettings,
    DeviceSettings,
    OptimizerSettings,
    OriginalDeviceSettings,
    StepSettings,
    TrainingSettings,
)

IS_DYNAMIC = Needs(equals("masking", "dynamic"))  # Rule of masks that training samples.
_ORIGINAL = {
    **DATA_RECIPES["original"],
    "train_batch_size": 256,
    "learning_rate": 1e-4,
    "num_train_steps": 1_000_000,
    "num_warmup_steps": 10_000,
}

# Flags of run_pretraining. BERT: appendix A.2. RoBERTa: 125,000 steps at the learning rate of table
# 3, with the warm-up of fairseq's README, and with BERT's dropout.
RECIPES = {
    "original": {**_ORIGINAL, "phases": "128:0.9,512:0.1"},
    "original_128": _ORIGINAL,
    "roberta": {
        **DATA_RECIPES["roberta"],
        "train_batch_size": 2048,
        "learning_rate": 7e-4,
        "num_train_steps": 125_000,
        "num_warmup_steps": 10_000,
        "beta_2": 0.98,
        "clip_norm": 0.0,
    },
}


@dataclasses.dataclass(frozen=True)
class PretrainingSettings(RecordSettings, ActionSettings, ModelJobSettings):
    """A pre-training run: its records, with the masking if they contain no masks, and its schedule.

    Attributes:
      tokenizer: TokenizerFiles to save with the model, once resolved.
    """

    replaced: ClassVar = dict.fromkeys(("max_seq_length", "max_predictions_per_seq"), "phases")

    recipe: str | None = setting(
        None,
        "Published pre-training recipe: a set of flags, which the script prints. Explicit flags "
        "take precedence. original: BERT, 90% of the steps with 128 tokens, the rest with 512. "
        "original_128: BERT, only with 128 tokens. roberta: RoBERTa with 125,000 steps.",
        recipes=RECIPES,
        changeable=True,
    )
    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=OriginalDeviceSettings)
    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    step_settings: StepSettings = dataclasses.field(default_factory=StepSettings)
    optimizer: OptimizerSettings = dataclasses.field(default_factory=OptimizerSettings)
    input_file: str | None = setting(
        None,
        "Record files: comma-separated glob patterns or directories. Required.",
        rules=[Required()],
        changeable=True,
    )
    eval_input_file: str | None = setting(
        None, "Record files to evaluate on. Defaults to --input_file.", changeable=True
    )
    vocab_file: str | None = setting(
        None,
        "Vocabulary that the records were created with, to save in --output_dir. Defaults to the "
        "one in their run.json if it still exists unchanged, otherwise to the one in the "
        "directory of the checkpoint. Required if there is none, with --masking=dynamic.",
        role=roles.INPUT_FILE,
    )
    masked_lm_prob: float = adapt(RecordSettings, "masked_lm_prob", rules=[IS_DYNAMIC])
    do_whole_word_mask: bool = adapt(RecordSettings, "do_whole_word_mask", rules=[IS_DYNAMIC])
    mask_fraction: float = adapt(RecordSettings, "mask_fraction", rules=[IS_DYNAMIC])
    random_fraction: float = adapt(RecordSettings, "random_fraction", rules=[IS_DYNAMIC])
    num_train_steps: int = setting(
        100000, "Step at which training ends.", min_value=1, changeable=True
    )
    num_warmup_steps: int = setting(
        10000,
        "Number of steps over which the learning rate increases from 0. If it exceeds "
        "--num_train_steps, the learning rate never reaches its peak.",
        min_value=0,
        changeable=True,
    )
    max_eval_steps: int = setting(
        100, "Maximum number of batches to evaluate.", min_value=1, changeable=True
    )
    eval_steps: int | None = setting(
        None,
        "Number of training steps between evaluations, whose results go to eval_log.csv and "
        "loss.png.",
        min_value=1,
        rules=[Needs("do_train"), Needs("do_eval")],
        changeable=True,
    )
    profile_steps: str | None = setting(
        None,
        "Steps FROM:TO, 1-based, to record in a TensorBoard profile in --output_dir. For example, "
        "11:12 records two steps after the first ten.",
        rules=[Needs("do_train")],
        changeable=True,
    )
    phases: str | None = setting(
        None,
        "Phases of different sequence lengths, instead of `max_seq_length` and "
        "`max_predictions_per_seq`. 128:0.9,512:0.1 trains 90% of the steps on records of 128 "
        "tokens, then the rest on 512. LENGTH:FRACTION:BATCH:PREDICTIONS also sets the batch size "
        "and the number of masked tokens; they default to `train_batch_size` and to "
        "`masked_lm_prob` times LENGTH, rounded up. In --input_file, {length} is replaced by the "
        "length of each phase.",
    )
    tokenizer: TokenizerFiles = dataclasses.field(
        default=TokenizerFiles(), compare=False, repr=False
    )

    def check(self):
        """See Settings. Also raises InputError for invalid steps of a profile, or phases."""
        super().check()
        _ = self.profiled_steps
        if self.phases:
            _ = phases.get_phases(self)

    @property
    def profiled_steps(self):
        """First and last step of `profile_steps`, two ints, or None.

        Raises InputError if it is invalid.
        """
        if self.profile_steps is None:
            return None
        found = re.fullmatch(r"(\d{1,18}):(\d{1,18})", self.profile_steps)
        first, last = map(int, found.groups()) if found else (0, 0)
        if not 1 <= first <= last:
            raise InputError(
                "must be FROM:TO with 1 <= FROM <= TO, such as 11:12",
                "profile_steps",
                self.profile_steps,
            )
        return first, last

    @property
    def num_positions(self):
        """See ModelJobSettings."""
        return max(phase.settings.max_seq_length for phase in phases.get_phases(self))

    def add_file_values(self):
        """See ModelJobSettings.

        Raises InputError if records belong to another vocabulary; see `vocabulary.find_tokenizer`.
        """
        tokenizer = vocabulary.find_tokenizer(self)
        return dataclasses.replace(self, tokenizer=tokenizer).replace_values(
            {"vocab_file": tokenizer.vocab_file}
        )

    def check_files(self):
        """See Settings.

        Also raises InputError if there is nothing to do, or if the objective does not fit the
        config.
        """
        if not (self.do_train or self.do_eval):
            raise InputError("nothing to do; set `do_train`, `do_eval`, or both")
        if self.masking == "dynamic" and not self.vocab_file:
            raise InputError(
                "is required with `masking`=dynamic, since neither a run.json of the records nor a "
                "directory of a checkpoint names it",
                "vocab_file",
            )
        check_objective(self.model.config, self.objective)
        for phase in phases.get_phases(self):
            patterns = {
                name: getattr(phase.settings, name) for name in ("input_file", "eval_input_file")
            }
            paths.check_not_read("output_dir", self.training.output_dir, patterns, is_folder=True)

    def notes(self):
        """Yields notes about the learning rate and the records to evaluate on."""
        if self.do_train and self.num_warmup_steps >= self.num_train_steps:
            yield (
                f"--num_warmup_steps={self.num_warmup_steps}: the learning rate never "
                f"reaches its peak within --num_train_steps={self.num_train_steps}"
            )
        if self.do_eval and not self.eval_input_file:
            yield (
                "evaluations use the records of --input_file; for held-out records, set "
                "--eval_input_file"
            )


def check_objective(config, objective):
    """Raises InputError if a model with a BertConfig cannot be pre-trained with an objective.

    `objective`: Key of OBJECTIVES.
    """
    if config.is_causal != OBJECTIVES[objective].predicts_next:
        if config.is_causal:
            raise InputError(
                "requires bidirectional attention, but attention is causal in the BERT config; set "
                "`objective`=left_to_right, or use another config",
                "objective",
                objective,
            )
        raise InputError(
            'requires causal attention; set "attention": "causal" in the BERT config',
            "objective",
            objective,
        )
    if config.bilstm_head:
        raise InputError(
            "bilstm_head is true in the BERT config, but only fine-tuned models have a BiLSTM; "
            "use the config of a pre-trained model"
        )
