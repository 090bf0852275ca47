"""Hugging Face's BertModel in OpenVINO on all cores, with random weights."""

import os
import tempfile

import openvino

from benchmarks.peers.onnx_encoder import write_model

PRECISIONS = {"float32": "f32", "bfloat16": "bf16"}


class Peer:
    """The encoder, exported with PyTorch as ONNX.

    Args:
      sizes: Dict of arguments of transformers.BertConfig.
      dtype: str. Type of the computations, float32 or bfloat16.
    """

    def __init__(self, sizes, dtype):
        options = {
            "INFERENCE_PRECISION_HINT": PRECISIONS[dtype],
            "INFERENCE_NUM_THREADS": len(os.sched_getaffinity(0)),
            "PERFORMANCE_HINT": "LATENCY",
        }
        with tempfile.TemporaryDirectory() as folder:
            core = openvino.Core()
            model = core.read_model(write_model(sizes, folder))
            self._compiled = core.compile_model(model, "CPU", options)

    def answer(self, inputs):
        """Computes the output for a dict of name to int64 array [B, S]."""
        self._compiled(inputs)
