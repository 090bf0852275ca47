"""Served models: a model of each kind of task and its tokenizer, as functions from texts to predictions.

    served = SERVED_MODELS[metadata.kind]
    servable = served(served.create_model(BertEncoder(config), metadata), tokenizer, metadata)
    export.save(servable, "serving/reviews")
"""

from bert_tf.served_models.base import Servable
from bert_tf.served_models.classifier import ServedClassifier
from bert_tf.served_models.encoder import ServedEncoder
from bert_tf.served_models.masked_lm import ServedMaskedLM
from bert_tf.served_models.multiple_choice import ServedMultipleChoice
from bert_tf.served_models.span_labeler import ServedSpanLabeler
from bert_tf.served_models.token_classifier import ServedTokenClassifier

SERVED_MODELS = {served.kind: served for served in (
    ServedClassifier,
    ServedTokenClassifier,
    ServedSpanLabeler,
    ServedMultipleChoice,
    ServedEncoder,
    ServedMaskedLM,
)}

__all__ = ["SERVED_MODELS", "Servable", "ServedClassifier", "ServedEncoder", "ServedMaskedLM",
           "ServedMultipleChoice", "ServedSpanLabeler", "ServedTokenClassifier"]
