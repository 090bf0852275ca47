"""SavedModels that this project exported, as functions of texts."""

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

from bert_tf.errors import InputError
from bert_tf.files import check_no_pattern
from bert_tf.tasks import KINDS


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
