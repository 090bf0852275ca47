"""Finds the run and the latest TensorFlow checkpoint of a directory. Does not import TensorFlow.

TensorFlow relies on the file `checkpoint`, which names the latest one. Here, a directory without
this file, or in which the file names a checkpoint that does not exist, is searched for names such
as ckpt-1000 and model.ckpt-1000.
"""

import os
import re

from bert_tf import files
from bert_tf.errors import InputError

STATE_FILE = "checkpoint"
RUN_FILE = "run.json"  # Settings of a run and its finished parts.
TRIAL_FILE = "trial.json"  # Settings and results of a trial of a search.
RUN_NAME = "ckpt"  # Name of the checkpoints of these scripts before the step.
_LATEST = re.compile(rb'^\s*model_checkpoint_path\s*:\s*"(.+?)"', re.MULTILINE)
_NUMBERED_INDEX = re.compile(r"((.+)-(\d+))\.index")
# An incomplete index lacks these last bytes.
_INDEX_END = (0xDB4775248B80FB57).to_bytes(8, "little")


def find_latest_checkpoint(folder, name=None):
    """Finds the latest checkpoint of a directory.

    Args:
      folder: Path of the directory, which does not have to exist.
      name: str. Name before the step of the checkpoints to search for; None for any name.

    Returns:
      str. Prefix of the checkpoint that the file `checkpoint` names, or, if that does not exist, of
      the complete checkpoint with the highest step in its name, or, for any name, of the only one.
      None if there is none.

    Raises:
      InputError: If the file `checkpoint` is corrupted.
    """
    named = _read_state(os.path.join(folder, STATE_FILE))
    if named and files.at(os.path.join(folder, f"{named}.index")).exists():
        return os.path.join(folder, named)
    prefixes = reversed(list_checkpoints(folder, name))
    latest = next((prefix for prefix in prefixes if _is_complete(f"{prefix}.index")), None)
    return latest or (_find_only_checkpoint(folder) if name is None else None)


def has_run(folder):
    """Returns whether a directory contains checkpoints of a run or results of a search's trial."""
    return any(
        files.at(os.path.join(folder, name)).exists() for name in (STATE_FILE, TRIAL_FILE)
    ) or (find_latest_checkpoint(folder, RUN_NAME) is not None)


def list_checkpoints(folder, name=None):
    """Returns the prefixes of all checkpoints with a step in their names, ordered by step.

    Incomplete checkpoints are included.
    """
    matches = map(_NUMBERED_INDEX.fullmatch, files.at(folder).names_if_dir())
    found = sorted(
        (int(match[3]), match[1]) for match in matches if match and name in (None, match[2])
    )
    return [os.path.join(folder, prefix) for _, prefix in found]


def _find_only_checkpoint(folder):
    """Returns the prefix of a directory's only checkpoint, such as biobert_model.ckpt.

    None for none or several.
    """
    names = files.at(folder).names_if_dir()
    indices = [os.path.join(folder, name) for name in names if name.endswith(".index")]
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


def _read_state(path):
    """Returns the checkpoint that a file `checkpoint` names, or None without the file."""
    if not files.at(path).exists():
        return None
    match = _LATEST.search(files.read_bytes(path))
    if match is None:
        raise create_state_error(path)
    return match[1].decode(errors="replace")


def _is_complete(index):
    place = files.at(index)
    with place.open() as file:
        file.seek(max(0, place.size() - len(_INDEX_END)))
        return file.read() == _INDEX_END
