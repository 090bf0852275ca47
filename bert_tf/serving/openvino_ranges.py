"""Static int8 ranges of an OpenVINO model, which NNCF computes from examples of texts.

Only writing such a file requires nncf. Each multiplication with weights, and that of queries and
keys, gets a fixed range for its inputs. NNCF also moves a part of large activations into the
weights (SmoothQuant, Xiao et al. 2023, arXiv:2211.10438), and corrects biases.
"""

import contextlib
import logging
import math
import os
import sys

import numpy as np

from bert_tf.errors import InputError
from bert_tf.serving.model import LoadedModel
from bert_tf.serving.plain_model import PlainModel, RowBatches, fill_features
from bert_tf.tasks import KINDS

# Maximum number of examples, and of their rows: NNCF's default. The ranges are means over rows.
MAX_EXAMPLES = 300
INSTALL = "pip install 'bert-tf[calibration]'"
TELEMETRY_SWITCH = "NNCF_CI"  # If this variable is set, NNCF does not report its use to Intel.


def import_nncf():
    """Imports nncf; raises InputError if it is not installed."""
    is_set = TELEMETRY_SWITCH in os.environ
    os.environ.setdefault(TELEMETRY_SWITCH, "1")
    try:
        with contextlib.redirect_stdout(sys.stderr):  # Its messages.
            import nncf
    except ImportError as error:
        raise InputError(f"requires nncf; run {INSTALL}", "calibration_file") from error
    finally:
        if not is_set:
            del os.environ[TELEMETRY_SWITCH]
    nncf.set_log_level(logging.ERROR)
    return nncf


def list_rows(compute, described, texts):
    """Returns the rows that a model computes to answer texts, at most MAX_EXAMPLES of them.

    Args:
      compute: See RowBatches.
      described: ModelDescription.
      texts: Dict of input name -> list of texts; see LoadedModel.predict.

    Raises:
      InputError: If the texts contain no words.
    """
    recorder = _RowRecorder(compute, described.task.max_seq_length)
    LoadedModel(described.task, "", _answer_with(PlainModel(described, recorder))).predict(**texts)
    rows = recorder.rows
    if not rows:
        raise InputError("contains no words", "calibration_file")
    return rows[:: -(-len(rows) // MAX_EXAMPLES)]


def set_static_ranges(nncf, model, rows, min_inputs):
    """Returns an openvino.Model with int8 weights and static ranges.

    Args:
      nncf: The module.
      model: openvino.Model in float32.
      rows: List of Row. The examples, without padding.
      min_inputs: int. Products with weights for fewer inputs stay in float32.
    """
    examples = [fill_features([row], 1, len(row.ids)) for row in rows]
    products = [node for node in model.get_ordered_ops() if node.get_type_name() == "MatMul"]
    small = [node.get_friendly_name() for node in products if _count_inputs(node) < min_inputs]
    with contextlib.redirect_stdout(sys.stderr):  # Its progress bars.
        return nncf.quantize(
            model,
            nncf.Dataset(examples),
            model_type=nncf.ModelType.TRANSFORMER,
            preset=nncf.QuantizationPreset.MIXED,
            subset_size=len(examples),
            ignored_scope=nncf.IgnoredScope(names=small),
        )


def _count_inputs(product):
    """Returns the number of inputs of a MatMul's kernel, or infinity without a kernel."""
    shape = product.input(1).get_partial_shape()
    if shape.is_dynamic:
        return math.inf
    return shape.to_shape()[1 if product.get_attributes()["transpose_b"] else 0]


def find_largest_differences(computes, described, rows):
    """Compares the outputs of two models.

    Args:
      computes: Pair of functions; see RowBatches.
      described: ModelDescription.
      rows: List of Row.

    Returns:
      Dict of output name -> float. Maximum absolute difference at a non-padding token.
    """
    per_position = KINDS[described.task.kind].per_position
    results = [RowBatches(compute, described.task.max_seq_length).run(rows) for compute in computes]
    differences = {}
    for row, values, others in zip(rows, *results, strict=True):
        for name, value in values.items():
            if value.dtype.kind != "f":
                continue
            difference = np.abs(value - others[name])
            if name in per_position:
                difference = difference[: len(row.ids)]
            differences[name] = max(differences.get(name, 0.0), float(difference.max()))
    return differences


class _RowRecorder(RowBatches):
    """RowBatches that keep the rows that they run, in `rows`, a list of Row."""

    def __init__(self, compute, max_length):
        super().__init__(compute, max_length)
        self.rows = []

    def run(self, rows):
        """See RowBatches."""
        self.rows.extend(rows)
        return super().run(rows)


def _answer_with(model):
    """Returns the function of a dict of texts with which a LoadedModel answers."""
    return lambda texts: model(**texts)
