"""Models that answer by TensorFlow: a SavedModel's signature, or a checkpoint's Servable.

Each function returns the arguments of served_models.ServedModel, which imports this module when it is needed.
"""

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf.errors import InputError
from bert_tf.tasks import KINDS
from run.inference import loading


def load_checkpoint(settings):
    """A checkpoint's; settings as served_models.load's."""
    servable, served = loading.load(settings)
    return (_call(servable.signatures()["serving_default"]), servable.kind, servable.text_inputs,
            f"--max_seq_length={served.metadata.max_seq_length}")


def load_saved_model(kind, path, folder, top_k):
    """That of the SavedModel at `path`, to which `folder`, as it was given, leads."""
    signature = load_whole(path).signatures.get("serving_default")
    outputs = signature.structured_outputs if signature else {}
    found = loading.kind_of(outputs)
    if found is None or kind not in (None, found):
        raise InputError(f"`saved_model`={folder}: is not of a {kind or 'model of these scripts'}")
    candidates = outputs.get(KINDS[found].candidates)
    if top_k and candidates is not None and top_k > candidates.shape[-1]:
        raise InputError(f"`top_k`={top_k}: {path} was exported with `top_k`={candidates.shape[-1]}")
    inputs = {name: spec.shape.as_list() for name, spec in signature.structured_input_signature[1].items()}
    return _call(signature), found, inputs, path


def load_whole(path):
    """What tf.saved_model.load gives; InputError naming the path for a SavedModel that is damaged or not whole."""
    try:
        return tf.saved_model.load(path)
    except (tf.errors.OpError, OSError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        reason = " ".join(str(getattr(error, "message", None) or error).split())
        raise InputError(f"{path}: is no SavedModel that can be loaded, or a damaged one: {reason:.120}") from error


def _call(signature):
    """A signature as a function from lists of str to a dict of NumPy arrays."""
    def answer(**texts):
        answer = signature(**{name: tf.constant(value) for name, value in texts.items()})
        return {name: value.numpy() for name, value in answer.items()}
    return answer
