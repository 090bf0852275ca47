"""Models that take raw text: `bert_tf.load` and shared code of the scripts for inference.

    model = load("mrpc")                                     a checkpoint of any format, a SavedModel, or a .tflite file
    model(text_a=["It rains."], text_b=["It is raining."])   dict of arrays, the outputs of serving_default
    model.predict(text_a=["It rains."], text_b=["It is wet."])  JSON objects, in the format of run.predict
    model.encode(["It rains."])                              embeddings

Importing this package does not import TensorFlow, which a .tflite file does not require.
"""

from bert_tf.serving.loading import load
from bert_tf.serving.model import LoadedModel

__all__ = ["LoadedModel", "load"]
