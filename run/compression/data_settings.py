"""Which data a model's task has, of whichever kind it is. Free of TensorFlow."""

import dataclasses

from bert_tf.cli.settings import Settings, setting
from run.finetuning import task_settings


@dataclasses.dataclass(frozen=True)
class DataSettings(Settings):
    """The data of the task that a model was fine-tuned for."""

    task_name: str | None = setting(
        None, "Of a classifier: as run_classifier's; unset means what the run.json beside the model says.")
    data_dir: str | None = setting(None, "Of a classifier: folder of the task's files, as run_classifier's.")
    train_file: str | None = setting(None, "Of the other tasks: file to train on, as their script's.")
    dev_file: str | None = setting(None, "Of a tagger or of multiple choice: file to evaluate on.")
    predict_file: str | None = setting(None, "Of a span labeler: SQuAD JSON to evaluate on.")

    def task_settings(self, kind, kept):
        """The settings of a task of run.finetuning.task_settings; InputError for data of another task.

        Args:
          kind: of the task.
          kept: dict of what the model's run was started with; what is given here counts more.
        """
        return task_settings.of_model(kind, kept, dataclasses.asdict(self))
