"""Exports of trained models, as files that take raw text and do not require this package.

    save(servable, "serving/reviews")      a SavedModel for TensorFlow Serving
    litert.convert(servable)               a LiteRT model for bert_tf.litert

bert_tf.served_models has a Servable for each kind of task, which defines the inputs and outputs.
"""

from bert_tf.export.saved_model import LITERT_FILE, save

__all__ = ["LITERT_FILE", "save"]
