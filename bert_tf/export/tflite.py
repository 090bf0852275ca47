"""A served model's signature "ids" as a LiteRT (TensorFlow Lite) model, for phones and other small devices.

Inputs are "input_ids", "input_mask" and "segment_ids", int32 [1, max_seq_length], of multiple choice [1, 4,
max_seq_length]. Outputs are those of the signature that are numbers, since names of labels and pieces are strings. Text
has to be tokenized before.

The interpreter, ai-edge-litert, is imported where a converted model is run: converting needs TensorFlow alone.
"""

import numpy as np
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.tokenization.model_inputs import FEATURES

KINDS = ("float32", "float16", "int8")


def convert(servable, weights="float32"):
    """Converts a Servable made with static_length.

    Args:
      servable: Servable whose encoder keeps padding.
      weights: how they are stored, one of KINDS; with int8, "dynamic range", matrix products are computed in integers
        too and activations quantized on the way.

    Returns:
      bytes of the .tflite file.

    Raises:
      InputError: another kind of weights, or a servable with dynamic lengths.
    """
    if weights not in KINDS:
        raise InputError(f"`weights`={weights}: it must be one of {', '.join(KINDS)}")
    if not servable.static_length:
        raise InputError("a LiteRT model has one length: make the servable with `static_length`")
    module = tf.Module()
    module.weights = servable.model.variables
    converter = tf.lite.TFLiteConverter.from_concrete_functions([_numbers_of_ids(servable)], module)
    if weights != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if weights == "float16":
        converter.target_spec.supported_types = [tf.float16]
    return converter.convert()


def largest_difference(servable, content):
    """How far the answer of a converted model is from the servable's own on its example; needs ai-edge-litert.

    Args:
      servable: Servable that was converted.
      content: bytes of the .tflite file.

    Returns:
      float, the largest absolute difference of any floating-point output.
    """
    from ai_edge_litert.interpreter import Interpreter

    features = servable.example_features()
    expected = servable.answer(features)
    answer = Interpreter(model_content=content).get_signature_runner()(
        **{name: value.numpy() for name, value in features.items()})
    return max(float(np.abs(value - expected[name]).max()) for name, value in answer.items()
               if np.issubdtype(value.dtype, np.floating))


def _numbers_of_ids(servable):
    specs = [tf.TensorSpec(value.shape, value.dtype, name) for name, value in servable.example_features().items()]

    @tf.autograph.experimental.do_not_convert
    def answer(*features):
        answer = servable.answer(dict(zip(FEATURES, features, strict=True)))
        return {name: value for name, value in answer.items() if value.dtype != tf.string}

    return tf.function(answer, autograph=False).get_concrete_function(*specs)
