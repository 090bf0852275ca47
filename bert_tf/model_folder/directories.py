"""Directories of the files of a model.

They are next to its checkpoint, or one level up for the best weights of a run.
"""

import os

from bert_tf import files
from bert_tf.files import is_remote
from bert_tf.model_folder.saved_models import VARIABLES_FOLDER, is_encoder

BEST_FOLDER = "best"  # The directory in which a fine-tuning run keeps only its best weights.


def list_directories(checkpoint):
    """Returns the directories that can contain the files of a checkpoint, a directory or a prefix.

    These are its own, and the run's directory for the checkpoint in best/. For the variables of a
    SavedModel, it is the directory of the SavedModel.
    """
    checkpoint = os.fsdecode(checkpoint)
    folder = (
        checkpoint if files.at(checkpoint).is_dir() else os.path.dirname(checkpoint) or os.curdir
    )
    folder = folder.rstrip("/") or folder
    if os.path.basename(folder) == VARIABLES_FOLDER and is_encoder(
        os.path.dirname(folder) or os.curdir
    ):
        folder = os.path.dirname(folder) or os.curdir
    parent, name = os.path.split(folder if is_remote(folder) else os.path.abspath(folder))
    return [folder, parent] if name == BEST_FOLDER else [folder]


def list_files(checkpoint, names):
    """Returns the existing paths of `names`, in their order.

    They are in the first of `list_directories` that contains any of them.
    """
    for folder in list_directories(checkpoint):
        found = [
            path
            for path in (os.path.join(folder, name) for name in names)
            if files.at(path).exists()
        ]
        if found:
            return found
    return []


def find_file(checkpoint, *names):
    """Returns the path of the first of these files that exists next to a checkpoint.

    None if there is none.
    """
    return next(iter(list_files(checkpoint, names)), None)
