"""The task that a fine-tuned model is for, as its folder tells."""

import dataclasses

from bert_tf import model_folder
from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from bert_tf.run_state import RUN_FILE
from run.finetuning import task_metadata
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.finetuning.tasks import TASKS


def read_metadata(checkpoint):
    """The TaskMetadata of a fine-tuned model; InputError if nothing says that it is one."""
    metadata = task_metadata.read(checkpoint)
    if metadata is None or metadata.kind not in TASKS:
        raise InputError(f"`init_checkpoint`={checkpoint}: no {task_metadata.TASK_FILE} there says that it was "
                         "fine-tuned for a task")
    return metadata


def fine_tuning_settings(settings, metadata, given):
    """The FineTuningSettings with which a fine-tuned model's task is made, to evaluate.

    Args:
      settings: with the groups `model`, `tokenizer` and `data`, of DataSettings.
      metadata: TaskMetadata of the model.
      given: dict of the settings that were given and their values.
    """
    path = model_folder.find_file(settings.model.init_checkpoint, RUN_FILE)
    length = settings.tokenizer.max_seq_length
    if "max_seq_length" not in given and "max_seq_length" not in metadata.unknown:
        length = metadata.max_seq_length
    return FineTuningSettings(
        tokenizer=dataclasses.replace(settings.tokenizer, max_seq_length=length), tuning=TuningSettings(do_eval=True),
        task=settings.data.task_settings(metadata.kind, read_json_object(path) if path else {}))
