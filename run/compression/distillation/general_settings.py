"""What a distillation on pre-training records is told. Free of TensorFlow: the script defines its flags of it."""

import dataclasses

from bert_tf import files, model_folder
from bert_tf.cli import paths
from bert_tf.errors import InputError
from run.compression.distillation.settings import LossSettings, StudentSettings, check_sizes, config_of_student
from run.pretraining.settings import PretrainingSettings, ScheduleSettings
from run.settings import ModelSettings
from run.settings.model import read_config


@dataclasses.dataclass(frozen=True)
class GeneralSettings(PretrainingSettings):
    """A pre-training run of a student, and what it learns of a pre-trained teacher beside the records."""

    schedule: ScheduleSettings = dataclasses.field(default_factory=lambda: ScheduleSettings(do_train=True))
    student: StudentSettings = dataclasses.field(default_factory=StudentSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)

    def completed(self):
        """These settings with what the student starts from, and the BertConfig of the teacher.

        Raises:
          InputError: no teacher, or no config beside it or beside the student's checkpoint.
        """
        self.student.check_student()
        config = read_config(_config_beside("teacher", self.student.teacher), 1)
        student = self.student
        if student.student_layers:
            model = ModelSettings(init_checkpoint=student.teacher)
        elif student.student_config_file:
            model = ModelSettings(bert_config_file=student.student_config_file)
        else:
            model = ModelSettings(_config_beside("student_checkpoint", student.student_checkpoint),
                                  student.student_checkpoint)
        return dataclasses.replace(self, model=model), config

    def read_student(self, teacher):
        """The student's BertConfig, once all that needs no TensorFlow is checked; `teacher`: BertConfig."""
        if self.losses.replacing_rate is not None:
            raise InputError(f"`replacing_rate`={self.losses.replacing_rate}: goes with run_distillation")
        inner = next((name for name in self.losses.weights if name not in ("logits", "label")), None)
        if self.records.pack_sequences and inner:
            raise InputError(f"`pack_sequences`: not with `{inner}_weight`, whose loss takes a row for one sequence; "
                             "logits alone can be learned on packs")
        if self.records.masking == "dynamic":
            paths.check_file("vocab_file", self.records.vocab_file)
        paths.check_output_dir("output_dir", self.training.output_dir)
        self.student.check_apart("output_dir", self.training.output_dir)
        self.check_apart_from_records()
        if not files.is_remote(self.records.input_file or ""):
            paths.expand_globs("input_file", self.records.input_file, folders=True)
        config = config_of_student(self.student, self.model, teacher, self.records.max_seq_length)
        check_sizes(self.losses, config, teacher)
        if config.vocab_size != teacher.vocab_size:
            raise InputError(f"`teacher`={self.student.teacher}: has {teacher.vocab_size} vocabulary entries, the "
                             f"student {config.vocab_size}: they must have one vocabulary")
        return config


def _config_beside(argument, path):
    """The path of the config beside a checkpoint; InputError, naming the argument, without one or the checkpoint."""
    with paths.errors_of(argument):
        if not (files.exists(path) or files.exists(f"{path}.index")):
            raise InputError(f"`{argument}`={path}: no such file or folder")
        model_folder.check_no_pickle(path)
        found = model_folder.find_config(path)
    if not found:
        raise InputError(f"`{argument}`={path}: there is no config beside it")
    return found
