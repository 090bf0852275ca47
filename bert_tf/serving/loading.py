"""Loads a model in any format. Imports TensorFlow only if it is required."""

import os
import typing
import warnings

from bert_tf import files
from bert_tf.cli import resolution
from bert_tf.cli.task_resolution import is_length_known
from bert_tf.errors import InputError, rename_argument
from bert_tf.litert import LiteRTModel
from bert_tf.model_folder.model_files import ModelFiles
from bert_tf.serving import exports
from bert_tf.serving.exports import LITERT_SUFFIX
from bert_tf.serving.model import LoadedModel
from bert_tf.serving.settings import LoadSettings
from bert_tf.tasks import KINDS


def load(path, *, kind=None, **options):
    """See `bert_tf.load`; `options` are only the values that are set."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError("must be the path of a model", "path", path)
    if kind is not None:
        options["task"] = kind
    with rename_argument(task="kind"):
        settings, notes = _resolve(os.fspath(path), options)
        for note in notes:
            warnings.warn(note, stacklevel=3)  # The line that calls `bert_tf.load`.
        return open_model(settings)


def _resolve(path, options):
    """Returns the resolved LoadSettings of a model with options, and the notes about them, list of str."""
    settings, notes = LoadSettings(model=path), []
    fields = {field.name: field for field, _ in settings.fields()}
    options = {name: _check_option(fields[name], value) for name, value in options.items()}
    settings = settings.replace_values(options)
    model_files = ModelFiles(resolution.find_checkpoints(settings))
    settings = resolution.resolve(settings, options, model_files, notes.append)
    task = settings.served_task
    if task and not (is_length_known(options, model_files) or KINDS[task.kind].is_fine_tuned):
        settings = resolution.limit_length(settings, settings.config.max_position_embeddings)
    return settings, notes


def _check_option(field, value):
    """Returns the value of a setting, with a path as str; raises InputError if it has another type or is empty."""
    required = next(iter(typing.get_args(field.type)), field.type)  # str of `str | None`
    if required is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if (not isinstance(value, int | float if required is float else required)
            or (isinstance(value, bool) and required is not bool)):
        raise InputError(f"must be of type {required.__name__}", field.name, value)
    if value == "":
        raise InputError("must not be empty; omit it to use its default", field.name, value)
    return value


def open_model(settings):
    """Opens the model of a job.

    Args:
      settings: Resolved AnyModelSettings.

    Returns:
      LoadedModel.

    Raises:
      InputError: If the kind of the model differs from the settings' `task`, if it was exported with fewer candidates
        than `top_k`, or if it is corrupted; see bert_tf.serving.checkpoint.load.
    """
    if not settings.exported_model:
        from bert_tf.serving.checkpoint import open_checkpoint_model

        return open_checkpoint_model(settings)
    name, path = settings.exported_model
    is_litert = path.endswith(LITERT_SUFFIX) and name == "model"
    if is_litert:
        model = open_litert(path)
        metadata, version = model.metadata, path
    else:
        metadata, version = exports.read_metadata(path, name), exports.find_latest_version(path, name)
    if settings.task not in (None, metadata.kind):
        raise InputError(f"must be of kind {settings.task}, but is of kind {metadata.kind}", name, path)
    if metadata.top_k and settings.top_k > metadata.top_k and settings.top_k != type(settings).top_k:
        raise InputError(f"must be at most {metadata.top_k}, the `top_k` of the export {version}", "top_k",
                         settings.top_k)
    if is_litert:
        return model
    from bert_tf.serving.saved_model import open_saved_model

    return open_saved_model(version, metadata)


def open_litert(path):
    """Opens a .tflite file, local or remote, as LoadedModel; raises InputError if it does not exist or is corrupted."""
    if not files.is_file(path):
        raise InputError("does not exist", "model", path)
    with files.local_copy(path) as local:
        model = LiteRTModel(local)
    return LoadedModel(model.metadata, path, lambda texts: model(**texts))
