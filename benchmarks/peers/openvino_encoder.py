"""Hugging Face's BertModel in OpenVINO on all cores, with random weights."""

import os
import tempfile

import numpy as np
import openvino

from benchmarks.peers.onnx_encoder import INPUTS, write_model

# Types of the computations -> OpenVINO's names. With int8, OpenVINO chooses the type of the
# computations that are not in int8.
PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "int8": None}
# Sizes of the batches that determine the ranges of int8.
NUM_CALIBRATION_BATCHES = 30
CALIBRATION_LENGTH = 64


class Peer:
    """The encoder, exported with PyTorch as ONNX.

    Args:
      sizes: Dict of arguments of transformers.BertConfig.
      dtype: str. Type of the computations, float32, bfloat16, or int8, with the static ranges of
        NNCF.
    """

    def __init__(self, sizes, dtype):
        options = {
            "INFERENCE_NUM_THREADS": len(os.sched_getaffinity(0)),
            "PERFORMANCE_HINT": "LATENCY",
        }
        if PRECISIONS[dtype]:
            options["INFERENCE_PRECISION_HINT"] = PRECISIONS[dtype]
        with tempfile.TemporaryDirectory() as folder:
            core = openvino.Core()
            model = core.read_model(write_model(sizes, folder))
            if dtype == "int8":
                model = quantize(model, sizes["vocab_size"])
            self._compiled = core.compile_model(model, "CPU", options)

    def answer(self, inputs):
        """Computes the output for a dict of name to int64 array [B, S]."""
        self._compiled(inputs)


def quantize(model, vocab_size):
    """Returns an openvino.Model with ranges from random IDs."""
    import nncf

    generator = np.random.default_rng(0)
    batches = []
    for _ in range(NUM_CALIBRATION_BATCHES):
        ids = generator.integers(vocab_size, size=[1, CALIBRATION_LENGTH])
        batches.append(dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True)))
    return nncf.quantize(
        model,
        nncf.Dataset(batches),
        model_type=nncf.ModelType.TRANSFORMER,
        preset=nncf.QuantizationPreset.MIXED,
        subset_size=NUM_CALIBRATION_BATCHES,
    )
