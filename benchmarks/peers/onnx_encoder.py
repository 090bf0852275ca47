"""Hugging Face's BertModel in ONNX Runtime on all cores, in int8, with random weights."""

import os
import tempfile

import onnxruntime
import onnxruntime.quantization
import torch
import transformers

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


class Peer:
    """The encoder, exported with PyTorch and quantized with ONNX Runtime.

    Args:
      sizes: Dict of arguments of transformers.BertConfig.
    """

    def __init__(self, sizes):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder:
            self._session = onnxruntime.InferenceSession(write_int8_model(sizes, folder), options)

    def answer(self, inputs):
        """Computes the output for a dict of name to int64 array [B, S]."""
        self._session.run(None, inputs)


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
