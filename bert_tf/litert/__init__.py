"""Reads LiteRT models that take raw text, from a single file and without TensorFlow.

    model = LiteRTModel("served/reviews/1/model.tflite")
    model(text=["A lovely film."])["label"]

`bert_tf.export.litert` writes such files.
"""

from bert_tf.litert.model import LiteRTModel

__all__ = ["LiteRTModel"]
