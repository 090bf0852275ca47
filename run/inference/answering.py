"""Any model that answers texts, opened by its path alone."""

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf import files
from bert_tf.errors import InputError
from run.inference import loading
from run.inference.terminal import newest_version

INPUT_ORDER = ("text", "text_a", "text_b", "question", "context", "choices")


class TextModel:
    """A signature serving_default, of a checkpoint or a SavedModel alike.

    Args:
      signature: concrete function from strings by name to tensors by name.
      kind: of the model, a key of loading.SERVED.
      text_inputs: names of its inputs.
      loaded: the SavedModel that the signature is of.

    Attributes:
      kind: as given.
      text_inputs: list of the names of the inputs, in their order.
    """

    def __init__(self, signature, kind, text_inputs, loaded=None):
        self.kind = kind
        self.text_inputs = [name for name in INPUT_ORDER if name in text_inputs]
        self._signature, self._loaded = signature, loaded

    def __call__(self, **texts):
        """Lists of str, "choices" a list of lists of one length -> dict of NumPy arrays [B, ...]."""
        answer = self._signature(**{name: tf.constant(value) for name, value in texts.items()})
        return {name: value.numpy() for name, value in answer.items()}

    def feature_model(self):
        """The SavedModel's signature "ids" as run.finetuning.prediction.Predictor takes a model."""
        return FeatureModel(self._loaded.signatures["ids"])


class FeatureModel:
    """A signature "ids", called as models are.

    Attributes:
      static_shapes: whether inputs have one length.
    """

    def __init__(self, signature):
        self._signature = signature
        inputs = signature.structured_input_signature[1]
        self.static_shapes = inputs["input_ids"].shape[-1] is not None

    def __call__(self, features, training=False):
        """features as BertEncoder's -> what the signature answers of each example, without strings."""
        answer = self._signature(**{name: tf.cast(value, tf.int32) for name, value in features.items()})
        return {name: value for name, value in answer.items() if value.dtype != tf.string}


def open_model(path, given):
    """The model at a path.

    Args:
      path: a folder of a SavedModel, with version or without; or a checkpoint, as loading.load takes it.
      given: dict of the settings that were given and their values, for a checkpoint.

    Returns:
      TextModel, or what has its attributes and call.

    Raises:
      InputError: nothing is there that answers texts.
    """
    if not path:
        raise InputError("`model` is needed")
    if is_saved_model(path):
        return open_saved_model(path)
    if not (files.exists(path) or files.exists(f"{path}.index")):
        raise InputError(f"`model`={path}: no such file or folder")
    try:
        servable, served = loading.load(path, given)
    except InputError as error:
        raise InputError(str(error).replace("`init_checkpoint`", "`model`")) from error
    return TextModel(servable.signatures()["serving_default"], served.task.kind, servable.text_inputs)


def is_saved_model(path):
    """Whether a folder holds a SavedModel, or versions of one."""
    try:
        newest_version(path)
    except InputError:
        return False
    return files.is_dir(path)


def open_saved_model(path):
    """The TextModel of a folder that export_saved_model wrote; InputError if it is another's, or none."""
    loaded = tf.saved_model.load(newest_version(path, "model"))
    signature = loaded.signatures.get("serving_default")
    outputs = signature.structured_outputs.keys() if signature else {}
    for kind, task in loading.SERVED.items():
        if task.answers & outputs:
            return TextModel(signature, kind, signature.structured_input_signature[1], loaded)
    raise InputError(f"`model`={path}: is no SavedModel of these scripts: its outputs are "
                     f"{', '.join(sorted(outputs)) or 'none'}")
