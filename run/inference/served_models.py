"""A model's answers to texts, whatever it is kept as: a LiteRT file, a SavedModel's folder or a checkpoint.

A LiteRT model answers in a moment: TensorFlow is imported for the others alone.
"""

import dataclasses
import os
import statistics
import time

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.litert import LiteRTModel
from bert_tf.model_folder import find_config
from run.inference.settings import LATENCY_CALLS, QuestionSettings
from run.settings import TokenizerSettings

LITERT_SUFFIX = ".tflite"
SAVED_MODEL_FILE = "saved_model.pb"
INPUT_ORDER = ("text", "text_a", "text_b", "question", "context", "choices")  # a SavedModel forgets that of its inputs
# What an export keeps as it was when it was made.
OF_CHECKPOINTS = {"bert_config_file", "task", *(
    field.name for group in (TokenizerSettings, QuestionSettings) for field in dataclasses.fields(group))}
PLACES = ("model", "saved_model", "init_checkpoint")  # settings that say where a model is


class ServedModel:
    """What answers texts: `model(text=["..."])`.

    Attributes:
      kind: str, what it does, as in task.json.
      text_inputs: dict from the name of each input to its shape, as Servable.text_inputs.
      limit: str, what limits the length of a text, for messages.
    """

    def __init__(self, answer, kind, text_inputs, limit):
        self._answer = answer
        self.kind, self.limit = kind, limit
        self.text_inputs = {name: text_inputs[name] for name in INPUT_ORDER if name in text_inputs}
        self._last = None

    def __call__(self, **texts):
        """Lists of str -> dict of NumPy arrays, the outputs of a SavedModel's serving_default."""
        self._last = texts
        return self._answer(**texts)

    def latency(self):
        """The median seconds of LATENCY_CALLS answers to the last request; None if there was none."""
        if self._last is None:
            return None
        seconds = []
        for _ in range(LATENCY_CALLS):
            start = time.perf_counter()
            self(**self._last)
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)


def load(kind, given):
    """The ServedModel that settings describe.

    Args:
      kind: what it has to be, a key of loading.SERVED; None for anything.
      given: dict of the settings that were given and their values: one of PLACES, and what goes with it.

    Raises:
      InputError: none or several of PLACES; a model of another kind.
    """
    places = [name for name in PLACES if given.get(name)]
    if not places:
        raise InputError("`init_checkpoint` is required, or `saved_model`, or `model`")
    if len(places) > 1:
        raise InputError(f"`{places[1]}`={given[places[1]]}: `{places[0]}` has its own weights; give one of them")
    name, path = places[0], given[places[0]]
    if name == "model":
        if path.endswith(LITERT_SUFFIX):
            _check_effect(name, path, given)
            return _load_litert(kind, path, given.get("top_k"))
        whole = _find_version(path) or (_litert_in(path) and not find_config(path))  # the latter is refused there
        name = "saved_model" if whole else "init_checkpoint"
        if name == "init_checkpoint" and not (files.exists(path) or files.exists(f"{path}.index")):
            raise InputError(f"`model`={path}: no such file or folder")
    if name == "saved_model":
        _check_effect(places[0], path, given)
    from run.inference import tensorflow_models

    if name == "saved_model":
        return ServedModel(*tensorflow_models.load_saved_model(
            kind, newest_version(path, places[0]), path, given.get("top_k")))
    try:
        return ServedModel(*tensorflow_models.load_checkpoint(kind, {**given, "init_checkpoint": path}))
    except InputError as error:
        raise InputError(str(error).replace("`init_checkpoint`", f"`{places[0]}`")) from error


def _check_effect(place, path, given):
    """Raises InputError for a setting that an export does not heed; `place` is the setting that names it."""
    other = next((name for name in given if name in OF_CHECKPOINTS), None)
    if other:
        raise InputError(f"`{other}`={given[other]}: has no effect with `{place}`={path}, which answers as it was "
                         "exported; leave it out")


def newest_version(folder, argument="saved_model"):
    """The folder itself, or that of the highest version in it, which holds a saved_model.pb; InputError without one."""
    path = _find_version(folder)
    if path is None:
        alone = _litert_in(folder)
        raise InputError(f"`{argument}`={folder}: holds no SavedModel (looked for {SAVED_MODEL_FILE})"
                         + f"; of the LiteRT model there give the file, {alone}" * bool(alone))
    return path


def _find_version(folder):
    names = files.names_in(folder) if files.is_dir(folder) else ()
    versions = sorted((int(name) for name in names if name.isdecimal()), reverse=True)
    for path in (folder, *(os.path.join(folder, str(version)) for version in versions)):
        if files.is_file(os.path.join(path, SAVED_MODEL_FILE)):
            return path
    return None


def _litert_in(folder):
    """The path of a LiteRT file in a folder; None if there is none."""
    names = files.names_in(folder) if files.is_dir(folder) else ()
    return next((os.path.join(folder, name) for name in sorted(names) if name.endswith(LITERT_SUFFIX)), None)


def _load_litert(kind, path, top_k):
    if not files.is_file(path):
        raise InputError(f"`model`={path}: no such file")
    with files.local_copy(path) as local:
        model = LiteRTModel(local)
    if kind not in (None, model.kind):
        raise InputError(f"`model`={path}: is not of a {kind}, but of a {model.kind}")
    if top_k and top_k > model.metadata.top_k:
        raise InputError(f"`top_k`={top_k}: {path} was exported with `top_k`={model.metadata.top_k}")
    return ServedModel(model, model.kind, model.text_inputs, path)
