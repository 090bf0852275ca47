"""Requests that TensorFlow Serving runs through a model when it loads it, so that no client waits for the first."""

import importlib.util
import os

import tensorflow as tf

FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")


def is_available():
    """Whether tensorflow-serving-api, whose message types these are, is installed."""
    return importlib.util.find_spec("tensorflow_serving") is not None


def write(servable, path, model_name):
    """Writes a request for each signature into the SavedModel at `path`, as a TFRecord file of PredictionLog."""
    file = os.path.join(path, FILE)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with tf.io.TFRecordWriter(file) as writer:
        for signature, inputs in example_requests(servable).items():
            writer.write(_prediction_log(model_name, signature, inputs).SerializeToString())


def example_requests(servable):
    """dict from signature name to its inputs by name, NumPy arrays or lists of str."""
    features = {name: value.numpy() for name, value in servable.example_features().items()}
    examples = [tf.train.Example(features=tf.train.Features(feature={
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=value[row].ravel()))
        for name, value in features.items()})).SerializeToString() for row in range(len(features["input_ids"]))]
    return {"serving_default": servable.example_texts, "ids": features, "tf_example": {"examples": examples}}


def _prediction_log(model_name, signature, inputs):
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model_name
    request.model_spec.signature_name = signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))
