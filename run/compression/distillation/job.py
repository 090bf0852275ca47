"""Distillation from settings to a student: the fine-tuning job with a task that learns from a teacher."""

from run.compression.distillation.distilled_task import distilled
from run.finetuning import job
from run.tasks import TASKS


def run(settings):
    """Trains, evaluates and predicts as resolved DistillationSettings say.

    Raises:
      InputError: as run.finetuning.job's; a teacher that does not suit the data; answers of another teacher.
    """
    teacher = settings.taught_by
    job.run_task(distilled(TASKS[teacher.metadata.kind], teacher, settings.model.config), settings)
