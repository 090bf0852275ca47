"""Loads a model in any format. Imports TensorFlow only if it is required."""

import os
import warnings

from bert_tf import files
from bert_tf.cli import resolution
from bert_tf.errors import InputError
from bert_tf.litert import LiteRTModel
from bert_tf.model_folder.model_files import ModelFiles
from bert_tf.serving.exports import LITERT_SUFFIX, find_latest_version
from bert_tf.serving.model import LoadedModel
from bert_tf.serving.settings import LoadSettings


def load(place, **options):
    """See `bert_tf.load`."""
    settings = LoadSettings(model=os.fspath(place))
    options = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}
    if unknown := options.keys() - settings.values().keys():
        raise InputError(f"unknown option {min(unknown)}; must be one of {', '.join(sorted(settings.values()))}")
    for name, value in options.items():
        default = settings.values()[name]
        if isinstance(default, int | float) and (isinstance(default, bool) != isinstance(value, bool)
                                                 or not isinstance(value, int | type(default))):
            raise InputError(f"must be of type {type(default).__name__}", name, value)
    settings = settings.replace_values(options)
    model_files = ModelFiles(resolution.find_checkpoints(settings))
    return open_model(resolution.resolve(settings, options, model_files, warnings.warn))


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
