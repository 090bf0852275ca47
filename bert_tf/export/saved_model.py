"""Writes a Servable as a SavedModel in the layout that TensorFlow Serving watches.

The file holds the weights, the tokenizer, vocab.txt and bert_config.json, and needs nothing of this package to run;
TensorFlow Text must be there for its kernels (`import tensorflow_text`; TensorFlow Serving links it). Beside them lie
requests that TensorFlow Serving runs through the model when it loads it, so that no client waits for the first; their
message types come from tensorflow-serving-api, which need not be installed and is imported where it is used.
"""

import importlib.util
import os
import tempfile

import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints import tensorflow_file
from bert_tf.errors import InputError
from bert_tf.export import weight_storage

LITERT_FILE = "model.tflite"  # where TensorFlow Serving looks when told to prefer it
WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")


def save(servable, directory, *, version=None, weights="float32", litert=None):
    """Writes `directory`/`version`, which appears there only when it is whole; a remote one saved_model.pb last.

    Args:
      servable: Servable.
      directory: the model's folder; made if missing.
      version: int; None takes the number after the highest there.
      weights: how matrices are stored, one of weight_storage.KINDS. All are float32 once loaded.
      litert: bytes of a LiteRT model that becomes LITERT_FILE beside saved_model.pb; None for none.

    Returns:
      (path, has_warmup): path of the SavedModel; bool, whether it holds requests to warm up with, for which the package
      tensorflow-serving-api must be installed.

    Raises:
      InputError: a version that exists, or an unknown kind of weights.
    """
    files.make_dirs(directory)
    if version is None:
        names = files.names_in(directory) if files.is_dir(directory) else ()
        version = 1 + max((int(name) for name in names if name.isdecimal()), default=0)
    path = os.path.join(directory, str(version))
    if files.exists(path):
        raise InputError(f"{path}: exists; choose another version")
    # The module holds variables, not the model itself: Keras would add its own functions for every layer.
    module = tf.Module()
    module.tokenizer = servable.tokenizer
    module.vocabulary = tf.saved_model.Asset(servable.tokenizer.vocab_file)
    with (weight_storage.attached(servable.model, weights, module), tempfile.TemporaryDirectory() as folder,
          files.new_folder(path) as partial):  # under a name that TensorFlow Serving ignores
        tensorflow_file.write_config(folder, servable.config)
        module.config = tf.saved_model.Asset(os.path.join(folder, tensorflow_file.CONFIG_NAME))
        # There is nothing to convert, and AutoGraph would write files for what it converts.
        save_traced = tf.autograph.experimental.do_not_convert(tf.saved_model.save)
        save_traced(module, partial, signatures=servable.signatures())
        if litert:
            with open(os.path.join(partial, LITERT_FILE), "wb") as file:
                file.write(litert)
        has_warmup = can_write_warmup()
        if has_warmup:
            _write_warmup(servable, partial, os.path.basename(os.path.normpath(directory)))
    return path, has_warmup


def can_write_warmup():
    """Whether tensorflow-serving-api, whose message types these are, is installed."""
    return importlib.util.find_spec("tensorflow_serving") is not None


def _write_warmup(servable, path, model_name):
    """Writes a request for each signature into the SavedModel at `path`, as a TFRecord file of PredictionLog."""
    file = os.path.join(path, WARMUP_FILE)
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
