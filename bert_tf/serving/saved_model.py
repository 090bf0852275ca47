"""SavedModels that this project exported, as functions of texts."""

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf.errors import InputError
from bert_tf.files import check_no_pattern
from bert_tf.tasks import KINDS


def load_saved_model(path):
    """Calls tf.saved_model.load.

    Raises InputError with the path if the SavedModel is corrupted or incomplete.
    """
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
    """Calls a signature, a concrete function, of a model with a TaskMetadata.

    Returns a dict of NumPy arrays.

    `texts`: Dict of input -> nested lists of str.
    """
    ranks = KINDS[metadata.kind].inputs(metadata.pairs)
    # Multiple choice requires a choice.
    empty = {name: [0, 1][:rank] for name, rank in ranks.items()}
    answer = signature(
        **{
            name: tf.constant(value, tf.string, None if value else empty[name])
            for name, value in texts.items()
        }
    )
    return {name: value.numpy() for name, value in answer.items()}
