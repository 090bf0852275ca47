"""A model's answers to texts, whatever it is kept as: a LiteRT file, a SavedModel's folder or a checkpoint.

A LiteRT model answers in a moment: TensorFlow is imported for the others alone.
"""

import statistics
import time

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.litert import LiteRTModel
from run.inference.exports import LITERT_SUFFIX, newest_version
from run.inference.served_settings import LATENCY_CALLS

INPUT_ORDER = ("text", "text_a", "text_b", "question", "context", "choices")  # a SavedModel forgets that of its inputs


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


def load(settings):
    """The ServedModel that resolved settings name, AnyModelSettings.

    Raises:
      InputError: a model of another kind than `task` of the settings; as loading.load's.
    """
    name, path = settings.exported or (None, "")
    top_k = settings.top_k if settings.top_k != type(settings).top_k else None  # asked for
    if path.endswith(LITERT_SUFFIX) and name == "model":
        return _load_litert(settings.task, path, top_k)
    from run.inference import tensorflow_models

    if not settings.exported:
        return ServedModel(*tensorflow_models.load_checkpoint(settings))
    return ServedModel(*tensorflow_models.load_saved_model(settings.task, newest_version(path, name), path, top_k))


def _load_litert(kind, path, top_k):
    if not files.is_file(path):
        raise InputError("no such file", "model", path)
    with files.local_copy(path) as local:
        model = LiteRTModel(local)
    if kind not in (None, model.kind):
        raise InputError(f"is not of a {kind}, but of a {model.kind}", "model", path)
    if top_k and top_k > model.metadata.top_k:
        raise InputError(f"{path} was exported with `top_k`={model.metadata.top_k}", "top_k", top_k)
    return ServedModel(model, model.kind, model.text_inputs, path)
