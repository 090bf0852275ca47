"""Paths of exports: files of models, and directories of SavedModels. Imports no TensorFlow."""

import os

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory, saved_models
from bert_tf.errors import InputError
from bert_tf.files import read_json
from bert_tf.serving import onnx, openvino
from bert_tf.tasks.metadata import TaskMetadata

LITERT_SUFFIX = ".tflite"
FILE_SUFFIXES = (LITERT_SUFFIX, onnx.SUFFIX, openvino.SUFFIX)  # For models that are files.


def is_export(path):
    """Returns whether a path is an export rather than a checkpoint; False if it does not exist.

    `path`: str, or a ModelDirectory.
    """
    directory = ModelDirectory.open(path)
    version = directory.saved_model
    if is_model_file(directory):
        return True
    if version is directory.folder:
        return not directory.is_garden_encoder
    # A model file in a directory is rejected when it is opened.
    return bool(version or _find_file(directory)) and not directory.config_path


def is_model_file(directory):
    """Returns whether a ModelDirectory is a model in a single file.

    The file need not exist. A directory can have such a name, too.
    """
    return directory.name is not None and directory.path.endswith(FILE_SUFFIXES)


def list_model_paths(path):
    """Returns the paths of the files of a model in a file: OpenVINO's weights have their own."""
    if not path.endswith(openvino.SUFFIX):
        return [path]
    return [path, path.removesuffix(openvino.SUFFIX) + openvino.WEIGHTS_SUFFIX]


def find_latest_version(folder, argument="model"):
    """Returns the directory that contains a saved_model.pb.

    This is the directory itself, or its subdirectory with the highest version.

    Args:
      folder: Path of the directory, or its ModelDirectory.
      argument: Name of the argument with this path, for error messages.
    """
    directory = ModelDirectory.open(folder)
    if directory.saved_model is None:
        file = _find_file(directory)
        advice = f"; for the model in a file, set {file}" if file else ""
        raise InputError(
            f"contains no SavedModel (expected {saved_models.SAVED_MODEL_NAME}){advice}",
            argument,
            directory.path,
        )
    return directory.saved_model.path


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
            ModelDirectory.open(folder).path,
        )
    return TaskMetadata.from_dict(read_json(path), path)


def _find_file(directory):
    """Returns the path of a model that is a file in a ModelDirectory; None if there is none."""
    folder = directory.folder
    names = folder.names if directory.name is None else ()
    return next((folder.join(name) for name in names if name.endswith(FILE_SUFFIXES)), None)
