"""Folders of models that were made of others: weights, config, vocabulary, and what the task is."""

import dataclasses
import json
import os

from bert_tf import files
from bert_tf.checkpoints import FORMATS
from bert_tf.files import new_file
from bert_tf.model_folder import task_metadata
from bert_tf.run_state import RUN_FILE
from run.tasks.base import Task
from run.training.model_files import VOCAB_FILE


@dataclasses.dataclass(frozen=True)
class Origin:
    """What a model that is made of another takes over from it.

    Attributes:
      task: Task that has read its data.
      vocab_file: path of the vocabulary.
    """

    task: Task
    vocab_file: str

    def write(self, folder, tensors, config):
        """Writes a model that can be evaluated, exported and trained on by this folder alone.

        Args:
          folder: where the files go; made if missing. Files of these names are replaced.
          tensors: {canonical name: StoredTensor}.
          config: BertConfig.
        """
        files.make_dirs(folder)
        task_metadata.keep(folder, self.task.metadata)
        write_json(os.path.join(folder, RUN_FILE), self.task.kept_settings)
        with new_file(os.path.join(folder, VOCAB_FILE), "wb") as file:
            file.write(files.read_bytes(self.vocab_file))
        FORMATS["tf1"].write(folder, tensors, config)


def write_json(path, values):
    """Writes a JSON file whole."""
    with new_file(path) as file:
        json.dump(values, file, indent=2)
        file.write("\n")
