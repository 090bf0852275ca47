"""Distillation of a fine-tuned model: the fine-tuning job of the student, with one more technique."""

from run.finetuning import job
from run.tasks import TASKS
from run.techniques.distillation import TaskDistillation


def run(settings):
    """Trains, evaluates and predicts as resolved DistillationSettings say.

    Raises:
      InputError: as run.finetuning.job's; a teacher that does not suit the data; answers of another teacher.
    """
    teacher = settings.taught_by
    distillation = TaskDistillation(settings.student, settings.losses, settings.answers, teacher,
                                    settings.model.config, settings.data.unlabeled_file)
    job.run_task(TASKS[teacher.metadata.kind], settings, job.choose_techniques(settings, distillation),
                 teacher.metadata)
