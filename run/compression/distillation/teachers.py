"""The teacher: what its folder says of it. Free of TensorFlow until it is loaded."""

import dataclasses

from bert_tf import files, model_folder
from bert_tf.cli import paths
from bert_tf.cli.resolution import read_config
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder import task_metadata
from bert_tf.run_state import RUN_FILE


@dataclasses.dataclass(frozen=True)
class Teacher:
    """A fine-tuned model to learn from.

    Attributes:
      path: folder or checkpoint.
      metadata: TaskMetadata.
      config: BertConfig.
    """

    path: str
    metadata: task_metadata.TaskMetadata
    config: BertConfig


def read_teacher(path, bert_config_file):
    """The Teacher of a checkpoint, and a dict of what its run was started with.

    Raises:
      InputError: it is no fine-tuned model.
    """
    with paths.errors_of("teacher"):
        metadata = task_metadata.read(path)
        run_file = model_folder.find_file(path, RUN_FILE)
        started_with = files.read_json_object(run_file) if run_file else {}
    if metadata is None:
        raise InputError(f"is no fine-tuned model, there is no {task_metadata.TASK_FILE} beside it", "teacher", path)
    return Teacher(path, metadata, read_config(bert_config_file, 1)), started_with
