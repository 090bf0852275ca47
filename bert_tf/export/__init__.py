"""Trained models as files that answer raw text, with nothing of this package needed.

    save(servable, "serving/reviews")      a SavedModel for TensorFlow Serving
    litert.convert(servable)               a LiteRT model for bert_tf.litert

A subclass of Servable for each kind of task, in bert_tf.tasks.graphs, says what goes in and what comes out.
"""

from bert_tf.export.saved_model import LITERT_FILE, save
from bert_tf.export.servable import Servable

__all__ = ["LITERT_FILE", "Servable", "save"]
