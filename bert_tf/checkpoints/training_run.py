"""Directories of this project's training runs: task.json, run.json, and their latest checkpoint.

Does not import TensorFlow. TensorFlow relies on the file `checkpoint`, which names the latest one.
Here, a directory without this file, or in which the file names a checkpoint that does not exist, is
searched for names such as ckpt-1000 and model.ckpt-1000. Only training rejects a file that names a
missing checkpoint, because to resume from an earlier one would discard steps.
"""

import os
import re

from bert_tf import files, variables
from bert_tf.checkpoints.adapters import SCALE, merge_adapters
from bert_tf.checkpoints.folder import Folder
from bert_tf.checkpoints.huggingface_tokenizer import get_casing
from bert_tf.checkpoints.origin import Origin, open_tensorflow_file
from bert_tf.checkpoints.tensors import Checkpoint, original_tensors
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata

FORMAT_NAME = "training checkpoint"
STATE_FILE = "checkpoint"
RUN_FILE = "run.json"  # Settings of a run and its finished parts.
TRIAL_FILE = "trial.json"  # Settings and results of a trial of a search.
RUN_NAME = "ckpt"  # Name of the checkpoints of these scripts before the step.
BEST_FOLDER = "best"  # The directory in which a fine-tuning run keeps only its best weights.
_LATEST = re.compile(rb'^\s*model_checkpoint_path\s*:\s*"(.+?)"', re.MULTILINE)
_MODEL = "model/"  # The name under which the training loop saves the model, next to its optimizer.
_DROPOUT_STATE = "/dropout_generator/"  # BertEncoder's
_NUMBERED_INDEX = re.compile(r"((.+)-(\d+))\.index")
# The magic number of the format, which an index that a killed run has not finished lacks.
_INDEX_END = (0xDB4775248B80FB57).to_bytes(8, "little")


def find_latest_checkpoint(folder, name=None):
    """Finds the latest checkpoint of a directory.

    Args:
      folder: Path of the directory, which does not have to exist, or its Folder.
      name: str. Name before the step of the checkpoints to search for; None for any name.

    Returns:
      str. Prefix of the checkpoint that the file `checkpoint` names, or, if that does not exist, of
      the complete checkpoint with the highest step in its name, or, for any name, of the only one.
      None if there is none.

    Raises:
      InputError: If the file `checkpoint` is corrupted.
    """
    folder = _list_folder(folder)
    named = _read_state(folder)
    if named:
        path = folder.join(named)
        is_inside = os.path.basename(named) == named
        if folder.exists(f"{named}.index") if is_inside else files.at(f"{path}.index").exists():
            return path
    prefixes = reversed(list_checkpoints(folder, name))
    latest = next((prefix for prefix in prefixes if _is_complete(f"{prefix}.index")), None)
    return latest or (_find_only_checkpoint(folder) if name is None else None)


def has_run(folder):
    """Returns whether a directory contains checkpoints of a run or results of a search's trial.

    `folder`: See `find_latest_checkpoint`.
    """
    folder = _list_folder(folder)
    return (
        folder.exists(STATE_FILE)
        or folder.exists(TRIAL_FILE)
        or find_latest_checkpoint(folder, RUN_NAME) is not None
    )


def list_checkpoints(folder, name=None):
    """Returns the prefixes of all checkpoints with a step in their names, ordered by step.

    Incomplete checkpoints are included. `folder`: See `find_latest_checkpoint`.
    """
    folder = _list_folder(folder)
    matches = map(_NUMBERED_INDEX.fullmatch, folder.names)
    found = sorted(
        (int(match[3]), match[1]) for match in matches if match and name in (None, match[2])
    )
    return [folder.join(prefix) for _, prefix in found]


def _list_folder(folder):
    """Returns the Folder of a path, which does not have to exist."""
    if isinstance(folder, Folder):
        return folder
    path = os.fspath(folder)
    return Folder.read(path) or Folder(path)


def _find_only_checkpoint(folder):
    """Returns the prefix of a directory's only checkpoint, such as biobert_model.ckpt.

    None for none or several.
    """
    indices = [folder.join(name) for name in folder.names if name.endswith(".index")]
    return (
        indices[0].removesuffix(".index")
        if len(indices) == 1 and _is_complete(indices[0])
        else None
    )


def create_state_error(path):
    """Creates the InputError about a corrupted file `checkpoint`."""
    return InputError(
        f"{path}: is corrupted; delete the file to use the checkpoint with the highest step next "
        "to it"
    )


def _read_state(folder):
    """Returns the checkpoint that a file `checkpoint` names, or None without the file."""
    if not folder.exists(STATE_FILE):
        return None
    path = folder.join(STATE_FILE)
    match = _LATEST.search(files.read_bytes(path))
    if match is None:
        raise create_state_error(path)
    return match[1].decode(errors="replace")


def _is_complete(index):
    index_file = files.at(index)
    with index_file.open() as file:
        file.seek(max(0, index_file.size() - len(_INDEX_END)))
        return file.read() == _INDEX_END


class TrainingRun(Origin):
    """The runs of this project's scripts, and the models of `save_pretrained`.

    Their config and vocabulary have the names of the original BERT.
    """

    def find_outer_folder(self, directory, folder):
        """Returns the directory of the run for its best/."""
        path = folder.path if files.is_remote(folder.path) else os.path.abspath(folder.path)
        parent, name = os.path.split(path)
        return Folder.read(parent) if name == BEST_FOLDER else None

    def read_casings(self, directory):
        """Yields the casing in task.json."""
        path = directory.find(TASK_FILE)
        if path:
            yield get_casing(path, directory.read_json_object(path))

    def read_task(self, directory):
        """Reads task.json."""
        path = directory.find(TASK_FILE)
        return TaskMetadata.from_dict(directory.read_json(path), path) if path else None

    def read_weights(self, directory, path):
        """Reads the model that the training loop saved, by variable name; merges adapters."""
        file = directory.read(open_tensorflow_file, path)
        if variables.WORD_EMBEDDINGS not in file.variable_names.values():
            return None
        if not any(key.startswith(_MODEL) for key in file.variable_names):
            raise InputError(
                f"{file.prefix}: was not written by these scripts (save_weights of Keras, for "
                "example); load it into the model, and save that with "
                "tf.train.Checkpoint(model=model).write(PREFIX)"
            )
        tensors = {}
        for key, name in file.variable_names.items():
            if key.startswith(_MODEL) and _DROPOUT_STATE not in key:
                tensors |= original_tensors(name, file.tensor(key))
        return Checkpoint(
            file.prefix, FORMAT_NAME, merge_adapters(tensors), has_adapters=SCALE in tensors
        )


TRAINING_RUN = TrainingRun()
