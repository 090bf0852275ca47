"""Models that take raw text: `bert_tf.load` and shared code of the scripts for inference.

Importing this package does not import TensorFlow, which a .tflite file does not require.
"""

from bert_tf.serving.loading import load
from bert_tf.serving.model import LoadedModel

__all__ = ["LoadedModel", "load"]
