"""What run_tagger does: a fine-tuned tagger, one by frozen features, or a table of all of these."""

from run.finetuning import job
from run.finetuning.frozen import table
from run.finetuning.frozen.task import TECHNIQUES, FrozenTokenClassifierTask


def run(settings):
    """Trains, evaluates and predicts as `settings` say.

    Args:
      settings: TaggerSettings, resolved.

    Raises:
      InputError: as run.finetuning.job's; an encoder with too few layers, or vectors that are damaged.
    """
    kind = settings.frozen.frozen_features
    if settings.frozen.all_features:
        table.run(settings)
    elif kind:
        job.run_task(FrozenTokenClassifierTask, settings.of_run(kind), TECHNIQUES)
    else:
        job.run(settings.of_run())
