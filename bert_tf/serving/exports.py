"""Paths of exports: LiteRT files and directories of SavedModels. Does not import TensorFlow."""

import os

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.model_folder import find_config, saved_models, task_metadata

LITERT_SUFFIX = ".tflite"


def is_export(path):
    """Returns whether a path is an export rather than a checkpoint; False if it does not exist."""
    if saved_models.is_encoder(path):
        return False
    version = saved_models.find_version(path)
    # A LiteRT file in a directory is rejected when it is opened.
    return path.endswith(LITERT_SUFFIX) or bool(
        version == path or ((version or _litert_in(path)) and not find_config(path))
    )


def find_latest_version(folder, argument="model"):
    """Returns the directory that contains a saved_model.pb.

    This is the directory itself, or its subdirectory with the highest version.

    Args:
      folder: Path of the directory.
      argument: Name of the argument with this path, for error messages.
    """
    path = saved_models.find_version(folder)
    if path is None:
        litert = _litert_in(folder)
        advice = f"; for the LiteRT model, set the file {litert}" if litert else ""
        raise InputError(
            f"contains no SavedModel (expected {saved_models.SAVED_MODEL_NAME}){advice}",
            argument,
            folder,
        )
    return path


def read_metadata(folder, argument="model"):
    """Reads the TaskMetadata of a SavedModel without loading it.

    Raises InputError if export_saved_model did not write it.
    """
    path = os.path.join(find_latest_version(folder, argument), saved_models.TASK_PATH)
    if not files.at(path).is_file():
        raise InputError(
            "was not exported by export_saved_model: its SavedModel has no "
            f"{saved_models.TASK_PATH}, which describes the task",
            argument,
            folder,
        )
    return task_metadata.read_file(path)


def _litert_in(folder):
    """Returns the path of a LiteRT file in a directory; None if there is none."""
    names = files.at(folder).names_if_dir()
    return next(
        (os.path.join(folder, name) for name in sorted(names) if name.endswith(LITERT_SUFFIX)), None
    )
