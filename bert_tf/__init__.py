"""BERT on TensorFlow 2: encoder, task models, tokenizer, losses, optimizer, checkpoints, export.

    import bert_tf

    model = bert_tf.load("mrpc")
    print(model.predict(text_a=["It rains."], text_b=["It is raining."]))

The names of `__all__` are imported on first access (PEP 562), so that `import bert_tf` takes no
time.
"""

from bert_tf.lazy_names import make_importer

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

__getattr__ = make_importer(__name__, _MODULES)


def __dir__():
    return sorted({*globals(), *__all__})
