"""Models that answer raw text: `bert_tf.load` and what the scripts of inference share.

    model = load("mrpc")                                     a checkpoint of any format, a SavedModel, or a .tflite file
    model(text_a=["It rains."], text_b=["It is raining."])   dict of arrays, the outputs of serving_default
    model.rows(text_a=["It rains."], text_b=["It is wet."])  JSON objects, as run.predict writes them
    model.encode(["It rains."])                              embeddings

Importing this package does not import TensorFlow: a .tflite file does not require it.
"""

from bert_tf.serving.loading import load, open_model
from bert_tf.serving.model import LoadedModel

__all__ = ["LoadedModel", "load", "open_model"]
