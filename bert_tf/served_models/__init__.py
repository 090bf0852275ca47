"""Served models: a model and its tokenizer as functions from texts to predictions.

Each kind of task has a class:

    served = SERVED_MODELS[metadata.kind]
    servable = served(served.create_model(BertEncoder(config), metadata), tokenizer, metadata)
    export.save(servable, "serving/reviews")
"""

from bert_tf.served_models.base import Servable
from bert_tf.tasks.base import KindClasses

SERVED_MODELS = KindClasses(
    __name__,
    {
        "classifier": "ServedClassifier",
        "token_classifier": "ServedTokenClassifier",
        "span_labeler": "ServedSpanLabeler",
        "multiple_choice": "ServedMultipleChoice",
        "encoder": "ServedEncoder",
        "masked_lm": "ServedMaskedLM",
    },
)

__all__ = [
    "SERVED_MODELS",
    "Servable",
    "ServedClassifier",
    "ServedEncoder",
    "ServedMaskedLM",
    "ServedMultipleChoice",
    "ServedSpanLabeler",
    "ServedTokenClassifier",
]
__getattr__ = SERVED_MODELS.find
