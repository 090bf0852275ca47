"""What a distillation on pre-training records is told. Free of TensorFlow: the script defines its flags of it."""

import dataclasses
from typing import ClassVar

from bert_tf.cli.resolution import read_config
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from run.compression.distillation.settings import check_sizes, start_of
from run.pretraining.settings import PretrainingSettings, ScheduleSettings
from run.techniques.settings import LossSettings, StudentSettings


@dataclasses.dataclass(frozen=True)
class GeneralSettings(PretrainingSettings):
    """A pre-training run of a student, and what it learns of a pre-trained teacher beside the records.

    Attributes:
      teacher_config: BertConfig of the teacher, once resolved; `model` has the student's then.
    """

    told_from: ClassVar = "teacher"

    schedule: ScheduleSettings = dataclasses.field(default_factory=lambda: ScheduleSettings(do_train=True))
    student: StudentSettings = dataclasses.field(default_factory=StudentSettings)
    losses: LossSettings = dataclasses.field(default_factory=LossSettings)
    teacher_config: BertConfig | None = dataclasses.field(default=None, compare=False, repr=False)

    def check(self):
        """See Settings."""
        super().check()
        if self.losses.replacing_rate is not None:
            raise InputError("goes with run_distillation", "replacing_rate", self.losses.replacing_rate)

    def completed(self):
        """See Settings; InputError for a student that cannot be made."""
        teacher = read_config(self.model.bert_config_file, 1)
        return dataclasses.replace(self, teacher_config=teacher, model=start_of(self.student, teacher))

    def check_files(self):
        """See Settings; InputError too for a student and a teacher that cannot be compared."""
        super().check_files()
        config, teacher = self.model.config, self.teacher_config
        check_sizes(self.losses, config, teacher, self.longest_sequence)
        if config.vocab_size != teacher.vocab_size:
            raise InputError(f"has {teacher.vocab_size} vocabulary entries, the student {config.vocab_size}: they must "
                             "have one vocabulary", "teacher", self.student.teacher)
