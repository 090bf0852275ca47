"""Exported models that are queried with features instead of texts, so that they are comparable to checkpoints."""

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer
from tqdm import tqdm

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.litert import LiteRTModel
from bert_tf.serving import exports, saved_model
from bert_tf.tasks import KINDS
from run.arrays.prediction import Predictor

ROWS_AT_A_TIME = 512  # Rows of a LiteRT model per step of the progress bar.


class SavedModelOfFeatures:
    """The signature "ids" of a SavedModel.

    Args:
      path: Path of the SavedModel's directory, with or without version.

    Attributes:
      kind: str. Kind of the model, a key of KINDS.

    Raises:
      InputError: If this is not a SavedModel, or was not exported by these scripts.
    """

    def __init__(self, path):
        self.kind = exports.read_metadata(path, "model").kind
        self._loaded = saved_model.load_saved_model(exports.find_latest_version(path, "model"))  # Keeps the variables.
        self._signature = self._loaded.signatures["ids"]

    def __call__(self, features, batch_size):
        """Returns the logits of the original model, dict of arrays [n, ...]. `features`: See Predictor."""
        static_length = self._static_length
        if static_length not in (None, features["input_ids"].shape[-1]):
            raise InputError(f"`max_seq_length`={features['input_ids'].shape[-1]}: the export requires {static_length}")

        def answer(features, training):
            return self._compute_outputs(features)

        predictor = Predictor(tf.distribute.get_strategy(), answer, per_position=bool(KINDS[self.kind].per_position),
                              static_shapes=static_length is not None)
        return KINDS[self.kind].to_logits(predictor(features, batch_size, "export"))

    def answer(self, features):
        """Runs a single batch without overhead, for timing; pads it if the export has a static length."""
        if self._static_length:
            missing = self._static_length - features["input_ids"].shape[-1]
            features = {name: np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])
                        for name, values in features.items()}
        return {name: value.numpy() for name, value in self._compute_outputs(features).items()}

    @property
    def _static_length(self):
        return self._signature.structured_input_signature[1]["input_ids"].shape[-1]

    def _compute_outputs(self, features):
        answer = self._signature(**{name: tf.cast(value, tf.int32) for name, value in features.items()})
        return {name: value for name, value in answer.items() if value.dtype != tf.string}


class LiteRTModelOfFeatures:
    """The graphs of a LiteRT file, which determine the batch sizes.

    Args:
      path: Path of the file.

    Attributes:
      kind: str. See SavedModelOfFeatures.

    Raises:
      InputError: If the file does not exist, or is not a LiteRT model of these scripts.
    """

    def __init__(self, path):
        if not files.at(path).is_file():
            raise InputError(f"`model`={path}: does not exist")
        with files.at(path).local_copy() as local:
            self._model = LiteRTModel(local)
        self.kind = self._model.kind

    def __call__(self, features, batch_size):
        """Returns the logits of the original model, dict of arrays [n, ...]. `features`: See Predictor."""
        shape, flat = features["input_ids"].shape, self._flat(features)  # [n, S] or [n, choices, S]
        with tqdm(total=shape[0], desc="export", unit="example", dynamic_ncols=True) as progress:
            outputs = self._model.compute_outputs(flat, ROWS_AT_A_TIME,
                                          lambda rows: progress.update(rows * shape[0] // len(flat["input_ids"])))
        if len(shape) == 3:
            return {name: values.reshape(shape[:2]) for name, values in outputs.items()}
        return outputs

    def answer(self, features):
        """Runs a single batch without overhead, for timing."""
        return self._model.compute_outputs(self._flat(features))

    def _flat(self, features):
        """Reshapes features to one row per text."""
        return {name: values.reshape([-1, values.shape[-1]]) for name, values in features.items()}


def open_export(path):
    """Opens an export: a .tflite file, or the directory of a SavedModel."""
    return (LiteRTModelOfFeatures if path.endswith(exports.LITERT_SUFFIX) else SavedModelOfFeatures)(path)
