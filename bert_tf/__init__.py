"""BERT on TensorFlow 2: encoder, task models, tokenizer, losses, optimizer, checkpoints, export.

    import bert_tf

    model = bert_tf.load("mrpc")
    print(model.predict(text_a=["It rains."], text_b=["It is raining."]))

The names of `__all__` are imported on first access (PEP 562), so that `import bert_tf` takes no
time.
"""

import importlib

_MODULES = {
    "BertClassifier": "models",
    "BertConfig": "config",
    "BertEncoder": "models",
    "BertLongTextClassifier": "models",
    "BertMultipleChoice": "models",
    "BertPretrainer": "models",
    "BertSpanLabeler": "models",
    "BertTokenClassifier": "models",
    "BertTokenizer": "tokenization",
    "create_optimizer": "optimization",
    "load": "serving.loading",
}

__all__ = [
    "BertClassifier",
    "BertConfig",
    "BertEncoder",
    "BertLongTextClassifier",
    "BertMultipleChoice",
    "BertPretrainer",
    "BertSpanLabeler",
    "BertTokenClassifier",
    "BertTokenizer",
    "create_optimizer",
    "load",
]


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__():
    return sorted({*globals(), *__all__})
