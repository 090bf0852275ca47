"""Hugging Face's BertModel in ONNX Runtime on all cores, with random weights."""

import os
import tempfile

import onnxruntime
import onnxruntime.quantization
import torch
import transformers
from onnxruntime.transformers import optimizer

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


class Peer:
    """The encoder, exported with PyTorch, and changed by ONNX Runtime's tools.

    Args:
      sizes: Dict of arguments of transformers.BertConfig.
      dtype: str. int8 for dynamic quantization, or float32, with fused operations.
    """

    def __init__(self, sizes, dtype="int8"):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        write = write_int8_model if dtype == "int8" else write_fused_model
        with tempfile.TemporaryDirectory() as folder:
            self._session = onnxruntime.InferenceSession(write(sizes, folder), options)

    def answer(self, inputs):
        """Computes the output for a dict of name to int64 array [B, S]."""
        self._session.run(None, inputs)


def write_fused_model(sizes, folder):
    """Writes the model, whose attention, normalization, and GELU are fused; returns the path."""
    path = os.path.join(folder, "fused.onnx")
    optimizer.optimize_model(
        write_model(sizes, folder),
        model_type="bert",
        num_heads=sizes["num_attention_heads"],
        hidden_size=sizes["hidden_size"],
    ).save_model_to_file(path)
    return path


def write_int8_model(sizes, folder):
    """Writes the model into a directory; returns the path of the ONNX file."""
    path = os.path.join(folder, "int8.onnx")
    onnxruntime.quantization.quantize_dynamic(
        write_model(sizes, folder), path, weight_type=onnxruntime.quantization.QuantType.QInt8
    )
    return path


def write_model(sizes, folder):
    """Writes the model in float32 into a directory; returns the path of the ONNX file."""
    model = transformers.BertModel(
        transformers.BertConfig(**sizes, attn_implementation="eager")
    ).eval()
    path = os.path.join(folder, "float32.onnx")
    dynamic_axes = {name: {0: "batch", 1: "length"} for name in INPUTS}
    torch.onnx.export(
        PooledOutput(model),
        (torch.ones([2, 16], dtype=torch.long),) * 3,
        path,
        input_names=INPUTS,
        output_names=["pooled"],
        dynamo=False,
        opset_version=17,
        dynamic_axes={"pooled": {0: "batch"}, **dynamic_axes},
    )
    return path


class PooledOutput(torch.nn.Module):
    """A model that takes three positional inputs and returns the pooled output."""

    def __init__(self, model):
        super().__init__()
        self.model = model  # As a submodule, so that its weights are parameters.

    def forward(self, *features):
        """Maps the values of INPUTS to the pooled output."""
        return self.model(**dict(zip(INPUTS, features, strict=True))).pooler_output
