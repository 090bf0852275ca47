"""Paths of exports: LiteRT files and directories of SavedModels. Does not import TensorFlow."""

import os

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.model_folder import find_config, saved_models
from bert_tf.tasks import KINDS

LITERT_SUFFIX = ".tflite"


def is_export(path):
    """Returns whether a path is an export rather than a checkpoint; False if it does not exist."""
    if saved_models.is_encoder(path):
        return False
    return path.endswith(LITERT_SUFFIX) or bool(
        _find_version(path) or (_litert_in(path) and not find_config(path)))  # rejected when it is opened


def find_latest_version(folder, argument="saved_model"):
    """Returns the directory itself, or its subdirectory with the highest version, that contains a saved_model.pb."""
    path = _find_version(folder)
    if path is None:
        litert = _litert_in(folder)
        raise InputError(f"contains no SavedModel (expected {saved_models.SAVED_MODEL_NAME})"
                         + f"; for the LiteRT model, set the file {litert}" * bool(litert), argument, folder)
    return path


def find_kind(outputs):
    """Returns the kind of task whose serving_default has these output names; None if it is none of KINDS."""
    return next((name for name, kind in KINDS.items() if not kind.signature.isdisjoint(outputs)), None)


def read_inputs(path, argument):
    """Returns the names of an export's texts, in their order, without loading it; None if they cannot be read.

    Args:
      path: str. An export that exists.
      argument: str. Name of the argument with the path, for error messages.
    """
    if path.endswith(LITERT_SUFFIX) or files.is_remote(path):  # a LiteRT file loads fast; TensorFlow reads remote files
        return None
    folder = find_latest_version(path, argument)
    signature = saved_models.read_signature(os.path.join(folder, saved_models.SAVED_MODEL_NAME))
    inputs, outputs = signature or ((), ())
    kind = find_kind(outputs)
    return tuple(KINDS[kind].inputs("text_b" in inputs)) if kind else None


def _find_version(folder):
    names = files.names_in(folder) if files.is_dir(folder) else ()
    versions = sorted((int(name) for name in names if name.isdecimal()), reverse=True)
    for path in (folder, *(os.path.join(folder, str(version)) for version in versions)):
        if files.is_file(os.path.join(path, saved_models.SAVED_MODEL_NAME)):
            return path
    return None


def _litert_in(folder):
    """Returns the path of a LiteRT file in a directory; None if there is none."""
    names = files.names_in(folder) if files.is_dir(folder) else ()
    return next((os.path.join(folder, name) for name in sorted(names) if name.endswith(LITERT_SUFFIX)), None)
