"""LiteRT models that answer raw text, from one file, without TensorFlow: reading them and asking them.

    model = LiteRTModel("served/reviews/1/model.tflite")
    model(text=["A lovely film."])["label"]

`bert_tf.export.litert` writes such files. A name's module is imported when the name is asked for (PEP 562): what
writes a file needs no interpreter.
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
