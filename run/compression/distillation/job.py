"""Distillation from settings to a student: the fine-tuning job with a task that learns from a teacher."""

from run.compression.distillation.distilled_task import distilled
from run.finetuning import job
from run.finetuning.tasks import TASKS


def run(settings, teacher):
    """Trains, evaluates and predicts as `settings` say.

    Args:
      settings: DistillationSettings, completed.
      teacher: Teacher of them.

    Raises:
      InputError: as run.finetuning.job's; a teacher that does not suit the data; answers of another teacher.
    """
    config, _ = settings.read_configs(teacher)
    job.run_task(distilled(TASKS[teacher.metadata.kind], teacher, config), settings.with_values({"config": config}))
