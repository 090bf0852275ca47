"""What run_tagger does: a fine-tuned tagger, or one by frozen features."""

from run.finetuning import job
from run.finetuning.frozen.task import FrozenTagging
from run.finetuning.tasks import Tagging


def run(settings, config):
    """Trains, evaluates and predicts as `settings` say.

    Args:
      settings: TaggerSettings, completed.
      config: BertConfig, of their `read_config`.

    Raises:
      InputError: as run.finetuning.job's; an encoder with too few layers, or vectors that are damaged.
    """
    job.run(FrozenTagging if settings.frozen.frozen_features else Tagging, settings.of_run, config)
