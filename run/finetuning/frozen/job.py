"""What run_tagger does: a fine-tuned tagger, one by frozen features, or a table of all of these."""

from run.finetuning import job
from run.finetuning.frozen import table
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
    frozen = settings.frozen
    if frozen.all_features:
        table.run(settings, config)
    else:
        job.run(FrozenTagging if frozen.frozen_features else Tagging, settings.of_run(frozen.frozen_features), config)
