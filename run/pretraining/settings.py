"""Settings for pre-training. The script defines its flags from this module, so it does not import TensorFlow."""

import dataclasses

from bert_tf.cli import paths, places
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.cli.resolution import VOCABULARY
from bert_tf.cli.settings import FIXED, FIXED_IF_USED, MAY_CHANGE, Settings, setting
from bert_tf.errors import InputError
from bert_tf.files import is_remote
from data_prep.pretraining import InstanceSettings
from data_prep.pretraining.instances import OBJECTIVES
from run.pretraining import phases
from run.pretraining.recipes import RECIPES
from run.settings import DeviceSettings, OptimizerSettings, StepSettings, TrainingSettings, check_positions

MOST_POSITIONS = (1 << 16) - 1  # Maximum length of a record of create_pretraining_data.


@dataclasses.dataclass(frozen=True)
class RecordSettings(Settings):
    """The records to train and evaluate on, and the masking if they contain no masks."""

    input_file: str | None = setting(None, "Record files: comma-separated glob patterns or folders. Needed.",
                                      required=True)
    eval_input_file: str | None = setting(
        None, "Record files to evaluate on, as --input_file; unset means --input_file itself.")
    max_seq_length: int = setting(
        128, "Sequence length in tokens, with which the records were made.", lower=4, most=MOST_POSITIONS, resume=FIXED)
    max_predictions_per_seq: int = setting(
        20, "Masked positions in a record, with which the records were made.", lower=1, most=MOST_POSITIONS,
        resume=FIXED)
    masking: str = setting(
        "static", "static: the records hold masks; dynamic: they were made without, by the same flag of "
                  "create_pretraining_data, and each epoch draws new ones.", choices=("static", "dynamic"),
        resume=FIXED)
    objective: str = setting(
        "sentence_pairs", "With which the records were made: what is predicted beside masked pieces, the next sentence "
                          "of sentence_pairs, the order of sentence_order, or nothing.", choices=tuple(OBJECTIVES),
        resume=FIXED)
    pack_sequences: bool = setting(
        False, "Whether records hold several sequences each; they were made so, by the same flag of "
               "create_pretraining_data.", resume=FIXED)
    max_sequences_per_pack: int = setting(
        InstanceSettings.max_sequences_per_pack, "With --pack_sequences: most sequences of a record, with which the "
                                                 "records were made.", lower=1, upper=255, resume=FIXED)
    vocab_file: str | None = setting(
        None, "With --masking=dynamic: the vocabulary with which the records were made. Needed then, unless it lies "
              "beside --init_checkpoint.", required="masking=dynamic", place=places.INPUT_FILE, told_by=VOCABULARY,
        resume=FIXED_IF_USED)
    masked_lm_prob: float = setting(
        0.15, "With --masking=dynamic: share of a sequence's positions to predict.", lower=0, upper=1,
        needs="masking=dynamic", resume=FIXED_IF_USED)
    do_whole_word_mask: bool = setting(
        False, "With --masking=dynamic: mask all WordPieces of a word or none.", needs="masking=dynamic",
        resume=FIXED_IF_USED)

    @property
    def instances(self):
        """The InstanceSettings that such records were created with."""
        return InstanceSettings(**{field.name: getattr(self, field.name) for field in dataclasses.fields(
            InstanceSettings) if hasattr(self, field.name)})

    def check(self):
        if self.pack_sequences or self.max_sequences_per_pack != InstanceSettings.max_sequences_per_pack:
            _ = self.instances  # Checks that the two are compatible.

    def notes(self):
        """Yields a note if a full record has fewer dynamic masks than `masked_lm_prob` specifies."""
        wanted = round(self.max_seq_length * self.masked_lm_prob)
        if self.masking == "dynamic" and not self.pack_sequences and wanted > self.max_predictions_per_seq:
            yield (f"note: --max_predictions_per_seq={self.max_predictions_per_seq}: a full record has no more masks, "
                   f"fewer than the {wanted} of --masked_lm_prob={self.masked_lm_prob}")


@dataclasses.dataclass(frozen=True)
class ScheduleSettings(Settings):
    """Steps to run, and training schedule."""

    do_train: bool = setting(False, "Whether to train.")
    do_eval: bool = setting(False, "Whether to evaluate, after training if there is any.")
    num_train_steps: int = setting(100000, "Step at which training ends.", lower=1, resume=MAY_CHANGE)
    num_warmup_steps: int = setting(
        10000, "Steps over which the learning rate rises from 0; with more than --num_train_steps it never reaches its "
               "peak.", lower=0, resume=MAY_CHANGE)
    phases: str | None = setting(
        None, "Phases of other lengths, in place of `max_seq_length` and `max_predictions_per_seq`: 128:0.9,512:0.1 is "
              "nine tenths of the steps on records of 128 ids, then the rest on 512; LENGTH:SHARE:BATCH:PREDICTIONS "
              "gives a phase its batch size and its masked positions, else `train_batch_size` and `masked_lm_prob` of "
              "LENGTH, rounded up. In --input_file, {length} stands for each phase's.", resume=FIXED)
    max_eval_steps: int = setting(100, "Batches to evaluate at most.", lower=1)
    eval_steps: int | None = setting(
        None, "Evaluate also during training, every so many steps, into eval_log.csv and loss.png. Needs --do_train "
              "and --do_eval.", lower=1, needs=("do_train", "do_eval"))


@dataclasses.dataclass(frozen=True)
class PretrainingSettings(Settings):
    """A pre-training run."""

    recipe: str | None = setting(
        None, "A published way to pre-train, as a set of flags, which is printed; a flag that is given counts before "
              "it. original: BERT's, at one length. roberta: RoBERTa's of 125,000 steps.", recipes=RECIPES)
    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    records: RecordSettings = dataclasses.field(default_factory=RecordSettings)
    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    schedule: ScheduleSettings = dataclasses.field(default_factory=ScheduleSettings)
    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    step: StepSettings = dataclasses.field(default_factory=StepSettings)
    optimizer: OptimizerSettings = dataclasses.field(default_factory=OptimizerSettings)

    def check(self):
        if self.schedule.phases:
            _ = phases.phases_of(self)
            return
        for name in ("train_batch_size", "eval_batch_size"):
            check_positions(name, getattr(self.training, name), self.records.max_seq_length)

    @property
    def longest_sequence(self):
        """See Settings."""
        return max(phase.settings.records.max_seq_length for phase in phases.phases_of(self))

    def check_files(self):
        """See Settings. Also raises InputError if there is nothing to do."""
        if not (self.schedule.do_train or self.schedule.do_eval):
            raise InputError("nothing to do: give `do_train`, `do_eval` or both")
        self.check_apart_from_records()
        for name in ("input_file", "eval_input_file"):
            for phase in phases.phases_of(self):
                patterns = getattr(phase.settings.records, name)
                if not is_remote(patterns or "") and (patterns or name == "input_file"):
                    paths.expand_globs(name, patterns, folders=True)

    def check_apart_from_records(self):
        """Raises InputError if the record patterns match files in the output directory."""
        for phase in phases.phases_of(self):
            paths.check_not_found("output_dir", self.training.output_dir, {
                name: getattr(phase.settings.records, name) for name in ("input_file", "eval_input_file")},
                is_folder=True)

    def notes(self):
        """Yields notes for the user about these settings."""
        yield from self.devices.notes()
        schedule = self.schedule
        if schedule.do_train and schedule.num_warmup_steps >= schedule.num_train_steps:
            yield (f"note: --num_warmup_steps={schedule.num_warmup_steps}: the learning rate never reaches its peak "
                   f"within --num_train_steps={schedule.num_train_steps}")
        for phase in phases.phases_of(self):
            yield from phase.settings.records.notes()
