"""What run_tagger does: a fine-tuned tagger, one by frozen features, or a table of all of these."""

from run.finetuning import job
from run.finetuning.frozen import table
from run.finetuning.frozen.task import FrozenTagging
from run.tasks import TokenClassifierTask


def run(settings):
    """Trains, evaluates and predicts as `settings` say.

    Args:
      settings: TaggerSettings, resolved.

    Raises:
      InputError: as run.finetuning.job's; an encoder with too few layers, or vectors that are damaged.
    """
    frozen = settings.frozen
    if frozen.all_features:
        table.run(settings)
    else:
        task_class = FrozenTagging if frozen.frozen_features else TokenClassifierTask
        job.run_task(task_class, settings.of_run(frozen.frozen_features))
