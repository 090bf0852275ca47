"""Hugging Face's BertModel in ONNX Runtime on all cores, in float32, with random weights.

The optimizer for BERT of ONNX Runtime fuses attention, normalization, and GELU.
"""

import os
import tempfile

import onnxruntime
from onnxruntime.transformers import optimizer

from benchmarks.peers.onnx_encoder import write_model


class Peer:
    """The encoder, exported with PyTorch.

    Args:
      sizes: Dict of arguments of transformers.BertConfig.
      dtype: str. float32.
    """

    def __init__(self, sizes, dtype):
        assert dtype == "float32"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "fused.onnx")
            optimizer.optimize_model(
                write_model(sizes, folder),
                model_type="bert",
                num_heads=sizes["num_attention_heads"],
                hidden_size=sizes["hidden_size"],
            ).save_model_to_file(path)
            self._session = onnxruntime.InferenceSession(path, options)

    def answer(self, inputs):
        """Computes the output for a dict of name to int64 array [B, S]."""
        self._session.run(None, inputs)
