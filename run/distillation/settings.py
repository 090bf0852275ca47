"""Settings of distillation.

Scripts define flags from it, without TensorFlow.
"""

import dataclasses
from typing import ClassVar

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory
from bert_tf.cli import roles
from bert_tf.cli.model_files import ModelFiles
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.cli.resolution import CONFIG, VOCABULARY, read_model_config, resolve_values
from bert_tf.cli.rules import Needs, NotWith, equals
from bert_tf.cli.script import warn
from bert_tf.cli.settings import adapt, setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError, rename_argument
from bert_tf.tasks.metadata import TASK_FILE
from bert_tf.techniques.layer_maps import INNER, check_layers, map_layers, student_config
from data_prep.tasks import DATA
from run.finetuning.settings import DataSettings, FineTuningSettings
from run.pretraining.settings import PretrainingSettings
from run.techniques.settings import LossSettings, StudentSettings, Teacher
from run.training.settings import DeviceSettings

MIXED = "the student's layers are mixed with the teacher's and cannot be compared"


@dataclasses.dataclass(frozen=True)
class DistillationSettings(FineTuningSettings):
    """A distillation: a fine-tuning run of the student with a teacher in addition to labels.

    The settings of the features are as in the teacher's run.

    Attributes:
      taught_by: Teacher, once resolved. Then `model` has the student's config.
    """

    checkpoint_setting: ClassVar = "teacher"

    do_train: bool = adapt(FineTuningSettings, "do_train", default=True)
    do_eval: bool = adapt(
        FineTuningSettings,
        "do_eval",
        default=True,
        help_text="Evaluate the student on the development data, after training.",
    )
    data: DataSettings = dataclasses.field(default_factory=DataSettings)
    test_file: str | None = setting(
        None, "For token classification and multiple choice: file to predict.", role=roles.INPUT
    )
    unlabeled_file: str | None = setting(
        None,
        "File of texts whose teacher outputs replace the training data. For classifiers: one text "
        "per line, or two separated by a tab; or CSV, JSON, or Parquet with the columns of the "
        "texts. For other tasks: a file like --train_file, whose "
        "labels or answers are optional and ignored.",
        rules=[Needs(equals("label_weight", 0.0))],
        role=roles.INPUT_FILE,
    )
    student: StudentSettings = dataclasses.field(default_factory=StudentSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)
    replacing_rate: float | None = setting(
        None,
        "BERT-of-Theseus: probability of replacing each group of frozen teacher layers with its "
        "student layer, sampled at each step. Increases linearly to 1 in the first half of the "
        "steps. Requires equal hidden sizes, and excludes losses of inner layers.",
        min_value=0,
        max_value=1,
        rules=[
            *(NotWith(f"{name}_weight", advice=MIXED) for name in INNER),
            NotWith("recompute_activations"),
        ],
    )
    keep_answers: bool = setting(
        True,
        "Compute the teacher outputs once, and read them from disk in all epochs. "
        "--nokeep_answers computes them in each step.",
        changeable=True,
    )
    cache_dir: str | None = setting(
        None,
        "Directory for the outputs of one teacher, reused by later runs; each combination of data "
        "and settings has a subdirectory. Defaults to OUTPUT_DIR/answers, which the script "
        "deletes after the runs.",
        rules=[Needs(equals("keep_answers", True))],
        role=roles.CACHE_FOLDER,
    )
    taught_by: Teacher | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def splits(self):
        """See FineTuningSettings. Texts without labels replace the training data."""
        return [split for split in super().splits if not (split == "train" and self.unlabeled_file)]

    def check(self):
        """See Settings."""
        super().check()
        if self.keep_answers and self.devices.strategy_name == "multi_worker_mirrored":
            raise InputError(
                "several processes would write the teacher outputs; set `nokeep_answers`",
                "distribution_strategy",
                "multi_worker_mirrored",
            )

    def add_file_values(self):
        """See ModelJobSettings.

        Raises:
          InputError: If the teacher is not fine-tuned, if the data belong to another task, or if
            the student is invalid or has another vocabulary.
        """
        path = self.student.teacher
        directory = ModelDirectory.open(path)
        metadata = directory.task
        if metadata is None or metadata.kind not in DATA:
            reason = (
                f"its {metadata.source} says {metadata.kind}"
                if metadata
                else f"its directory has no {TASK_FILE}"
            )
            raise InputError(f"is not a fine-tuned model: {reason}", "teacher", path)
        teacher = Teacher(path, metadata, read_model_config(self.model.bert_config_file))
        return dataclasses.replace(
            self,
            taught_by=teacher,
            task_settings=DATA[metadata.kind].settings_class.from_model(
                directory.run_settings, self.values(), "teacher"
            ),
            model=build_student_settings(self.student, teacher.config, self.tokenizer.vocab_file),
            tokenizer=dataclasses.replace(
                self.tokenizer,
                max_seq_length=metadata.max_seq_length or self.tokenizer.max_seq_length,
            ),
        )

    def check_files(self):
        """See Settings. Also raises InputError if a student and a teacher cannot be compared."""
        super().check_files()
        check_sizes(
            self.losses,
            self.model.config,
            self.taught_by.config,
            self.tokenizer.max_seq_length,
            self.replacing_rate,
        )


@dataclasses.dataclass(frozen=True)
class GeneralSettings(PretrainingSettings):
    """A pre-training run of a student with a pre-trained teacher in addition to the records.

    Attributes:
      teacher_config: BertConfig of the teacher, once resolved. Then `model` has the student's
        config.
    """

    checkpoint_setting: ClassVar = "teacher"

    devices: DeviceSettings = dataclasses.field(default_factory=DeviceSettings)
    do_train: bool = adapt(PretrainingSettings, "do_train", default=True)
    do_eval: bool = adapt(
        PretrainingSettings, "do_eval", help_text="Evaluate the student, after training."
    )
    student: StudentSettings = dataclasses.field(default_factory=StudentSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)
    teacher_config: BertConfig | None = dataclasses.field(default=None, compare=False, repr=False)

    def add_file_values(self):
        """See ModelJobSettings. Also raises InputError for an invalid student."""
        settings = super().add_file_values()
        teacher = read_model_config(self.model.bert_config_file)
        return dataclasses.replace(
            settings, teacher_config=teacher, model=build_student_settings(self.student, teacher)
        )

    def check_files(self):
        """See Settings. Also raises InputError if a student and a teacher cannot be compared."""
        super().check_files()
        config = self.model.config
        teacher = self.teacher_config
        check_sizes(self.losses, config, teacher, self.num_positions)
        if config.attention != teacher.attention:
            raise InputError(
                f"has {teacher.attention} attention, but the student has {config.attention} "
                "attention; both must have the same",
                "teacher",
                self.student.teacher,
            )
        if config.vocab_size != teacher.vocab_size:
            raise InputError(
                f"has {teacher.vocab_size} vocabulary entries, but the student has "
                f"{config.vocab_size}; both must have the same vocabulary",
                "teacher",
                self.student.teacher,
            )


def build_student_settings(student, teacher, vocab_file=None):
    """Returns the ModelSettings of a student's initialization, with its config.

    Args:
      student: StudentSettings.
      teacher: BertConfig.
      vocab_file: Path of the teacher's vocabulary, which a `student_checkpoint` must have. None for
        any vocabulary.

    Raises:
      InputError: If the teacher lacks a layer, if a config is invalid, or if the vocabularies
        differ.
    """
    if student.student_layers:
        check_layers("student_layers", student.student_layers, teacher.num_hidden_layers)
        if teacher.num_hidden_groups:
            raise InputError(
                "the teacher's layers share their weights; set `student_config_file` or "
                "`student_checkpoint` instead",
                "student_layers",
                student.student_layers,
            )
        return ModelSettings(
            init_checkpoint=student.teacher, config=student_config(teacher, student.student_layers)
        )
    if student.student_config_file:
        with rename_argument(bert_config_file="student_config_file"):
            return ModelSettings(
                student.student_config_file, config=read_model_config(student.student_config_file)
            )
    path = student.student_checkpoint
    ModelDirectory.open(path, "student_checkpoint").check_loadable()
    names = {"bert_config_file": CONFIG, **({"vocab_file": VOCABULARY} if vocab_file else {})}
    existing = resolve_values(names, {}, ModelFiles({"student_checkpoint": path}), warn)
    if vocab_file and files.read_bytes(existing["vocab_file"]) != files.read_bytes(vocab_file):
        raise InputError(
            f"its vocabulary differs from the vocabulary of `teacher`={student.teacher}",
            "student_checkpoint",
            path,
        )
    return ModelSettings(
        existing["bert_config_file"], path, config=read_model_config(existing["bert_config_file"])
    )


def check_sizes(losses, config, teacher, max_seq_length=1, rate=None):
    """Raises InputError if LossSettings cannot compare a student's and a teacher's BertConfig.

    It also raises InputError if one of them does not support sequences of length `max_seq_length`,
    or if `rate`, a `replacing_rate`, is set and the student's layers cannot replace the teacher's.
    """
    weights = losses.weights
    for name, each in (("teacher", teacher), ("student", config)):
        if max_seq_length > each.max_position_embeddings:
            raise InputError(
                f"must be at most {each.max_position_embeddings}, the maximum of the {name}",
                "max_seq_length",
                max_seq_length,
            )
    if rate is not None:
        map_layers("uniform", config.num_hidden_layers, teacher.num_hidden_layers)
        if config.hidden_size != teacher.hidden_size:
            raise InputError(
                f"requires equal hidden sizes, but the student has {config.hidden_size} and the "
                f"teacher {teacher.hidden_size}",
                "replacing_rate",
                rate,
            )
        if config.num_hidden_groups:
            raise InputError(
                "the student's layers share their weights, so they cannot be replaced separately",
                "replacing_rate",
                rate,
            )
    if set(INNER) & set(weights):
        layers = map_layers(
            losses.parsed_layer_map, config.num_hidden_layers, teacher.num_hidden_layers
        )
        heads = (
            {sizes[0] for sizes in config.layer_sizes},
            {teacher.layer_sizes[layer][0] for layer in layers},
        )
        if "attention" in weights and not len(heads[0]) == len(heads[0] | heads[1]) == 1:
            counts = ["/".join(map(str, sorted(each))) for each in heads]
            raise InputError(
                f"the student has {counts[0]} heads and the teacher {counts[1]}, so their "
                "attention cannot be compared; set it to 0",
                "attention_weight",
                weights["attention"],
            )
    for name in {"attention", "cls"} & set(weights):
        if config.is_causal or teacher.is_causal:
            raise InputError(
                "compares tokens that causal attention excludes, but attention is causal in the "
                "config of the student or the teacher; set it to 0",
                f"{name}_weight",
                weights[name],
            )
    if "cls" in weights and config.num_hidden_layers < 2:
        raise InputError(
            "compares layers before the last, but the student has only one layer; set it to 0",
            "cls_weight",
            weights["cls"],
        )
