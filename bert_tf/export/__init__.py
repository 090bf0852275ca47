"""Trained models as files that answer raw text, with nothing of this package needed.

    save(ServedClassifier(model, tokenizer, labels), "serving/reviews")      a SavedModel for TensorFlow Serving
    litert.convert(servable)                                                 a LiteRT model for bert_tf.litert

A subclass of Servable for each task says what goes in and what comes out.
"""

from bert_tf.export.classifier import ServedClassifier
from bert_tf.export.encoder import ServedEncoder
from bert_tf.export.masked_lm import ServedMaskedLM
from bert_tf.export.multiple_choice import ServedMultipleChoice
from bert_tf.export.question_answering import ServedSpanLabeler
from bert_tf.export.saved_model import LITERT_FILE, save
from bert_tf.export.servable import Servable
from bert_tf.export.tagger import ServedTagger

__all__ = ["LITERT_FILE", "Servable", "ServedClassifier", "ServedEncoder", "ServedMaskedLM", "ServedMultipleChoice",
           "ServedSpanLabeler", "ServedTagger", "save"]
