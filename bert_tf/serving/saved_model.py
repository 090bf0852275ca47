"""Servables as SavedModels, in the directory layout of TensorFlow Serving.

With all signatures, the SavedModel takes raw text. With the signature "ids" only, it is one that
other runtimes and their converters read: numbers in, numbers out, as serving_default.

The SavedModel contains the weights, the tokenizer, vocab.txt, bert_config.json, and task.json,
which describes it for `bert_tf.load`. It does not require this package. For raw text, it requires
the kernels of TensorFlow Text (`import tensorflow_text`; TensorFlow Serving includes them). It also
contains requests that TensorFlow Serving runs when it loads the model, so that the first client
does not have to wait. Their message types come from the optional tensorflow-serving-api, which is
imported on use.
"""

import json
import os
import shutil
import tempfile

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf import files
from bert_tf.checkpoints import original, task_metadata
from bert_tf.checkpoints.saved_models import EXTRA_FOLDER
from bert_tf.errors import InputError
from bert_tf.files import check_no_pattern
from bert_tf.serving import weight_storage
from bert_tf.tasks import KINDS
from bert_tf.tokenization.token_files import DECODER, TOKENIZER_CONFIG_NAME, to_decoder

# File name that TensorFlow Serving uses if LiteRT models are preferred.
LITERT_FILE = "model.tflite"
ALL_SIGNATURES = "all"
IDS_ONLY = "ids"
DEFAULT = "serving_default"
WARMUP_FILE = os.path.join(EXTRA_FOLDER, "tf_serving_warmup_requests")


def save(
    servable, directory, *, version=None, weights="float32", litert=None, signatures=ALL_SIGNATURES
):
    """Writes `directory`/`version`, which appears there only when it is complete.

    If remote, saved_model.pb is last.

    Args:
      servable: Servable.
      directory: Directory of the model; created if it does not exist.
      version: int; None for the number after the highest existing one.
      weights: str. Storage type of matrices, float32, bfloat16, or int8. All are float32 once
        loaded.
      litert: bytes of a LiteRT model to write to LITERT_FILE next to saved_model.pb; None for none.
      signatures: str. ALL_SIGNATURES for those of `Servable`, or IDS_ONLY for one,
        serving_default, that computes `Servable.compute_numbers` of IDs without strings or
        assertions. Its weights must be float32, and its encoder must not remove padding.

    Returns:
      Tuple `(path, has_warmup)`: path of the SavedModel; bool, whether it contains warm-up
      requests, for which tensorflow-serving-api must be installed.

    Raises:
      InputError: If the version exists.
    """
    path = _find_new_version(directory, version)
    # The module contains variables, not the model itself: Keras would add its own functions for
    # every layer.
    module = tf.Module()
    # TensorFlow Serving ignores the name of the partial folder.
    with (
        weight_storage.use_stored_weights(servable.model, weights, module),
        tempfile.TemporaryDirectory() as folder,
        files.new_folder(path) as partial,
    ):
        described = _write_description(servable, folder)
        if signatures == IDS_ONLY:
            compute = servable.trace_numbers()
            functions = {DEFAULT: compute}
            module.serve = _take_dict(compute)
        else:
            functions = servable.signatures()
            module.tokenizer = servable.tokenizer
            module.assets = [tf.saved_model.Asset(each) for each in described]
        # There is nothing to convert, and AutoGraph would write files for converted code.
        save_traced = tf.autograph.experimental.do_not_convert(tf.saved_model.save)
        save_traced(module, partial, signatures=functions)
        extra = os.path.join(partial, EXTRA_FOLDER)
        os.mkdir(extra)
        task_metadata.keep(extra, servable.metadata)
        if signatures == IDS_ONLY:
            for each in described:
                shutil.copy(each, extra)
        if litert:
            with open(os.path.join(partial, LITERT_FILE), "wb") as file:
                file.write(litert)
        requests = example_requests(servable, signatures)
        has_warmup = _write_warmup(requests, partial, os.path.basename(os.path.normpath(directory)))
    return path, has_warmup


def _find_new_version(directory, version):
    """Returns the path of a version in `directory`, which it creates; see `save`."""
    files.at(directory).make_dirs()
    if version is None:
        names = files.at(directory).names_if_dir()
        version = 1 + max((int(name) for name in names if name.isdecimal()), default=0)
    path = os.path.join(directory, str(version))
    if files.at(path).exists():
        raise InputError(f"{path}: already exists; choose another version")
    return path


def _take_dict(compute):
    """Returns `compute` as a tf.function of a dict of features, which Keras 3's TFSMLayer calls."""
    specs = {spec.name: spec for spec in compute.structured_input_signature[0]}

    @tf.autograph.experimental.do_not_convert
    def serve(features):
        return compute(**features)

    return tf.function(serve, [specs], autograph=False)


def _write_description(servable, folder):
    """Returns the paths of vocab.txt, and of the config and added tokens, written to `folder`."""
    original.write_config(folder, servable.config)
    paths = [servable.tokenizer.vocab_file, os.path.join(folder, original.BERT_CONFIG_NAME)]
    if servable.tokenizer.added_tokens:
        paths.append(os.path.join(folder, TOKENIZER_CONFIG_NAME))
        with open(paths[-1], "w", encoding="utf-8") as file:
            json.dump({DECODER: to_decoder(servable.tokenizer.added_tokens)}, file)
    return paths


def _write_warmup(requests, path, model_name):
    """Writes the requests of `example_requests` to the SavedModel at `path`, for warming up.

    They are a TFRecord file of PredictionLog.

    Returns:
      bool. Whether it wrote them: this requires tensorflow-serving-api, which defines the message
      types.
    """
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
    except ImportError:
        return False
    with tf.io.TFRecordWriter(os.path.join(path, WARMUP_FILE)) as writer:
        for signature, inputs in requests.items():
            request = predict_pb2.PredictRequest()
            request.model_spec.name = model_name
            request.model_spec.signature_name = signature
            for name, value in inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
            log = prediction_log_pb2.PredictionLog(
                predict_log=prediction_log_pb2.PredictLog(request=request)
            )
            writer.write(log.SerializeToString())
    return True


def example_requests(servable, signatures=ALL_SIGNATURES):
    """Returns a dict of signature name to its inputs by name, NumPy arrays or lists of str."""
    features = {name: value.numpy() for name, value in servable.example_features().items()}
    if signatures == IDS_ONLY:
        rows = {name: value.reshape([-1, value.shape[-1]]) for name, value in features.items()}
        return {DEFAULT: rows}
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    name: tf.train.Feature(int64_list=tf.train.Int64List(value=value[row].ravel()))
                    for name, value in features.items()
                }
            )
        ).SerializeToString()
        for row in range(len(features["input_ids"]))
    ]
    return {
        DEFAULT: servable.example_texts,
        "ids": features,
        "tf_example": {"examples": examples},
    }


def load_saved_model(path):
    """Loads a SavedModel; raises InputError with the path if it is corrupted or incomplete."""
    check_no_pattern(path)
    try:
        return tf.saved_model.load(path)
    except (
        tf.errors.OpError,
        OSError,
        ValueError,
        KeyError,
        IndexError,
        AttributeError,
        TypeError,
    ) as error:
        reason = " ".join(str(getattr(error, "message", None) or error).split())
        raise InputError(f"{path}: is not a SavedModel, or is corrupted: {reason:.120}") from error


def call_signature(signature, texts, metadata):
    """Calls a signature of a model.

    Args:
      signature: Concrete function.
      texts: Dict of input -> nested lists of str.
      metadata: TaskMetadata of the model.

    Returns:
      Dict of output name -> NumPy array.
    """
    ranks = KINDS[metadata.kind].inputs(metadata.pairs)
    # The shapes of inputs without examples; multiple choice requires a choice.
    empty = {name: [0, 1][:rank] for name, rank in ranks.items()}
    answer = signature(
        **{
            name: tf.constant(value, tf.string, None if value else empty[name])
            for name, value in texts.items()
        }
    )
    return {name: value.numpy() for name, value in answer.items()}
