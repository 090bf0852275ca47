"""Where the files of a model lie: beside its checkpoint; those of a run's best weights one folder further up."""

import os

from bert_tf.files import exists, is_dir, is_remote

BEST_FOLDER = "best"  # in which a fine-tuning run keeps its best weights, and nothing else
TASK_FILE = "task.json"  # what a fine-tuning run of this project says of its model


def folders_of(checkpoint):
    """The folders where the files of a checkpoint, a folder or a prefix, may lie: its own, and of best/ the run's.

    Of a symbolic link to best/ too.
    """
    checkpoint = os.fsdecode(checkpoint)
    folder = checkpoint if is_dir(checkpoint) else os.path.dirname(checkpoint) or os.curdir
    folder = folder.rstrip("/") or folder
    ways = [folder] if is_remote(folder) else [os.path.abspath(folder), os.path.realpath(folder)]
    best = next((way for way in ways if os.path.basename(way) == BEST_FOLDER), None)
    return [folder, os.path.dirname(best)] if best else [folder]


def files_there(checkpoint, names):
    """The paths of the files of these names in the first of `folders_of` that has any of them, in their order."""
    for folder in folders_of(checkpoint):
        found = [path for path in (os.path.join(folder, name) for name in names) if exists(path)]
        if found:
            return found
    return []


def find_file(checkpoint, *names):
    """The path of the first of these files that lies with a checkpoint; None if there is none."""
    return next(iter(files_there(checkpoint, names)), None)
