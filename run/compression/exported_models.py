"""Exported models that are queried with features instead of texts, so that they are comparable to checkpoints."""

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer
from tqdm import tqdm

from bert_tf.errors import InputError
from bert_tf.serving import exports, loading, saved_model
from bert_tf.tasks import KINDS
from run.arrays.prediction import Predictor

ROWS_AT_A_TIME = 512  # Rows of a LiteRT model per step of the progress bar.


def open_export(path):
    """Opens an export: a .tflite file, or the directory of a SavedModel, with or without version.

    Returns:
      Tuple of the kind of the model, a key of KINDS; and two functions, see
      run.compression.model_evaluation.EvaluatedModel: `predict`, which returns the logits of the original model, and
      `answer`.

    Raises:
      InputError: If the export does not exist, or was not exported by these scripts.
    """
    return (_open_litert if path.endswith(exports.LITERT_SUFFIX) else _open_saved_model)(path)


def _open_saved_model(path):
    """Opens the signature "ids". See `open_export`."""
    kind = KINDS[exports.read_metadata(path, "model").kind]
    loaded = saved_model.load_saved_model(exports.find_latest_version(path, "model"))
    static_length = loaded.signatures["ids"].structured_input_signature[1]["input_ids"].shape[-1]

    def compute(features, training=False):
        del training
        outputs = loaded.signatures["ids"](**{name: tf.cast(value, tf.int32) for name, value in features.items()})
        return {name: value for name, value in outputs.items() if value.dtype != tf.string}

    predictor = Predictor(tf.distribute.get_strategy(), compute, per_position=bool(kind.per_position),
                          static_shapes=static_length is not None)

    def predict(features, batch_size):
        length = features["input_ids"].shape[-1]
        if static_length not in (None, length):
            raise InputError(f"`max_seq_length`={length}: the export requires {static_length}")
        return kind.to_logits(predictor(features, batch_size, "export"))

    def answer(features):
        missing = static_length - features["input_ids"].shape[-1] if static_length else 0
        padded = {name: np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])
                  for name, values in features.items()}
        return {name: value.numpy() for name, value in compute(padded).items()}

    return kind.name, predict, answer


def _open_litert(path):
    """Opens the graphs of a LiteRT file, which determine the batch sizes. See `open_export`."""
    model = loading.open_litert(path)

    def answer(features):
        return model.compute_outputs({name: values.reshape([-1, values.shape[-1]])
                                      for name, values in features.items()})

    def predict(features, _):
        shape, parts = features["input_ids"].shape, []  # [n, S] or [n, choices, S]
        with tqdm(total=shape[0], desc="export", unit="example", dynamic_ncols=True) as progress:
            for start in range(0, shape[0], ROWS_AT_A_TIME):
                part = {name: values[start : start + ROWS_AT_A_TIME] for name, values in features.items()}
                parts.append(answer(part))
                progress.update(len(part["input_ids"]))
        outputs = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {name: values.reshape(shape[:2]) for name, values in outputs.items()} if len(shape) == 3 else outputs

    return model.kind, predict, answer
