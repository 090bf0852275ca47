"""SavedModels that this project exported, as functions of texts."""

import functools

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf.errors import InputError
from bert_tf.files import PlainPath
from bert_tf.serving import exports
from bert_tf.serving.model import LoadedModel
from bert_tf.tasks import KINDS
from bert_tf.tokenization.model_inputs import FEATURES


class LoadedSavedModel(LoadedModel):
    """A SavedModel of any kind of task."""

    def __init__(self, path, kind=None, top_k=None, given=None, argument="saved_model"):
        """Loads a SavedModel.

        Args:
          path: str. Directory that contains saved_model.pb.
          kind: str or None. Required kind of task.
          top_k: int or None. Required number of candidates.
          given: str or None. Directory from the user, for error messages.
          argument: str. Name of the argument with the directory, for error messages.

        Raises:
          InputError: If it is corrupted, was not exported by this project, or does not meet the requirements.
        """
        self._loaded = load_saved_model(path)  # keeps the variables
        self._signature = self._loaded.signatures.get("serving_default")
        outputs = self._signature.structured_outputs if self._signature else {}
        found = exports.find_kind(outputs)
        if found is None:
            raise InputError("was not exported by export_saved_model", argument, given or path)
        if kind not in (None, found):
            raise InputError(f"must be of kind {kind}, but is of kind {found}", argument, given or path)
        candidates = outputs.get(KINDS[found].candidates)
        if top_k and candidates is not None and top_k > candidates.shape[-1]:
            raise InputError(f"must be at most {candidates.shape[-1]}, the `top_k` of the export {path}", "top_k",
                             top_k)
        super().__init__(found, path, pairs="text_b" in self._signature.structured_input_signature[1])

    @functools.cached_property
    def labels(self):
        """See LoadedModel; the signature "ids" returns them."""
        signature = self._loaded.signatures["ids"]
        if "labels" not in signature.structured_outputs:
            return None
        row = np.zeros([1, signature.structured_input_signature[1]["input_ids"].shape[-1] or 1], np.int32)
        names = signature(**dict.fromkeys(FEATURES, tf.constant(row)))["labels"][0].numpy()
        return tuple(name.decode() for name in names)

    def _answer(self, texts):
        return call_signature(self._signature, texts, self._ranks)


def load_saved_model(path):
    """Calls tf.saved_model.load; raises InputError with the path if the SavedModel is corrupted or incomplete."""
    plain = PlainPath(path)
    try:
        return tf.saved_model.load(plain.path)
    except (tf.errors.OpError, OSError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        reason = " ".join(str(getattr(error, "message", None) or error).split())
        raise InputError(f"{path}: is not a SavedModel, or is corrupted: {reason:.120}") from error


def call_signature(signature, texts, ranks):
    """Calls a signature; returns a dict of NumPy arrays.

    Args:
      signature: Concrete function.
      texts: Dict of input -> nested lists of str.
      ranks: Dict of input -> rank.
    """
    empty = {name: [0, 1][:rank] for name, rank in ranks.items()}  # multiple choice requires a choice
    answer = signature(**{name: tf.constant(value, tf.string, None if value else empty[name])
                          for name, value in texts.items()})
    return {name: value.numpy() for name, value in answer.items()}
