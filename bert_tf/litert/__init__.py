"""Reads LiteRT models that take raw text, from a single file and without TensorFlow.

    model = LiteRTModel("served/reviews/1/model.tflite")
    model(text=["A lovely film."])["label"]

`bert_tf.export.litert` writes such files. Modules are imported on first access to one of their names (PEP 562), since
writing a file does not require the interpreter.
"""

import importlib

_MODULES = {"LiteRTModel": "model", "Metadata": "metadata"}

__all__ = ["LiteRTModel", "Metadata"]


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__():
    return sorted({*globals(), *__all__})
