"""Fine-tuning of the task whose settings are given."""

from run.finetuning.job import run_task
from run.finetuning.tasks import TASKS


def run(settings):
    """Trains, evaluates, and predicts as resolved FineTuningSettings say; see run.finetuning.job."""
    run_task(TASKS[settings.task.kind], settings)
