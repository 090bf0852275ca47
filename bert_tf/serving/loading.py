"""Loads a model in any format. Imports TensorFlow only if it is required."""

import contextlib
import os
import typing
import warnings

from bert_tf import files
from bert_tf.cli import resolution
from bert_tf.cli.task_resolution import is_length_known
from bert_tf.errors import InputError, rename_argument
from bert_tf.litert import LiteRTModel
from bert_tf.model_folder.model_files import ModelFiles
from bert_tf.serving.exports import LITERT_SUFFIX, find_latest_version
from bert_tf.serving.model import LoadedModel
from bert_tf.serving.settings import LoadSettings
from bert_tf.tasks import KINDS


def load(path=None, **options):
    """See `bert_tf.load`; `options` are only the values that are set."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError("must be the path of a model", "path", path)
    renaming = contextlib.nullcontext()
    if "kind" in options:
        if "task" in options:
            raise InputError("cannot be combined with `kind`, which means the same; omit it", "task", options["task"])
        options["task"], renaming = options.pop("kind"), rename_argument(task="kind")
    with renaming:
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
    name, path = settings.exported_model or (None, "")
    top_k = settings.top_k if settings.top_k != type(settings).top_k else None
    if path.endswith(LITERT_SUFFIX) and name == "model":
        return LoadedLiteRT(path, settings.task, top_k)
    if settings.exported_model:
        from bert_tf.serving.saved_model import LoadedSavedModel

        return LoadedSavedModel(find_latest_version(path, name), settings.task, top_k, path, name)
    from bert_tf.serving.checkpoint import LoadedCheckpoint

    return LoadedCheckpoint(settings)


class LoadedLiteRT(LoadedModel):
    """A .tflite file that export_saved_model wrote."""

    def __init__(self, path, kind=None, top_k=None):
        """Opens a file.

        Args:
          path: str. Local or remote.
          kind: str or None. Required kind of task.
          top_k: int or None. Required number of candidates.

        Raises:
          InputError: If the file does not exist, or does not meet the requirements.
        """
        if not files.is_file(path):
            raise InputError("does not exist", "model", path)
        with files.local_copy(path) as local:
            self._model = LiteRTModel(local)
        metadata = self._model.metadata
        if kind not in (None, metadata.kind):
            raise InputError(f"must be of kind {kind}, but is of kind {metadata.kind}", "model", path)
        if top_k and top_k > metadata.top_k:
            raise InputError(f"must be at most {metadata.top_k}, the `top_k` of the export {path}", "top_k", top_k)
        super().__init__(metadata.kind, path, pairs=metadata.pairs, limit=metadata.max_seq_length)
        self.labels = metadata.labels or None

    def _answer(self, texts):
        return self._model(**texts)
