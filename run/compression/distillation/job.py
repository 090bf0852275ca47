"""Distillation of a fine-tuned model: the fine-tuning job of the student, with one more technique."""

import dataclasses

from run.compression.distillation import unlabeled
from run.finetuning import job
from run.tasks import TASKS
from run.techniques.distillation import TaskDistillation


def run(settings):
    """Trains, evaluates and predicts as resolved DistillationSettings say.

    Raises:
      InputError: as run.finetuning.job's; a teacher that does not suit the data; answers of another teacher.
    """
    teacher, path = settings.taught_by, settings.data.unlabeled_file

    def read_unlabeled(task, tokenizer):
        metadata = dataclasses.replace(teacher.metadata, max_seq_length=settings.tokenizer.max_seq_length)
        return unlabeled.read(path, settings.task, metadata, tokenizer)

    distillation = TaskDistillation(settings.student, settings.losses, settings.answers, teacher,
                                    settings.model.config, path, read_unlabeled)
    job.run_task(TASKS[teacher.metadata.kind], settings, job.choose_techniques(settings, distillation),
                 teacher.metadata)
