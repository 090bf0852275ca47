"""Hugging Face's BertModel, exported to ONNX with PyTorch and quantized to int8 with ONNX Runtime."""

import os

import onnxruntime.quantization
import torch
import transformers

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


class Peer:
    """The exporter."""

    def write(self, sizes, path):
        """Writes the int8 model with random weights to a file; sizes: dict of arguments of transformers.BertConfig."""
        model = transformers.BertModel(transformers.BertConfig(**sizes, attn_implementation="eager")).eval()
        float_path = f"{path}.float"
        torch.onnx.export(
            PooledOutput(model), (torch.ones([2, 16], dtype=torch.long),) * 3, float_path, input_names=INPUTS,
            output_names=["pooled"], dynamo=False, opset_version=17,
            dynamic_axes={"pooled": {0: "batch"}} | {name: {0: "batch", 1: "length"} for name in INPUTS})
        onnxruntime.quantization.quantize_dynamic(
            float_path, path, weight_type=onnxruntime.quantization.QuantType.QInt8)
        os.remove(float_path)


class PooledOutput(torch.nn.Module):
    """A model that takes three positional inputs and returns the pooled output."""

    def __init__(self, model):
        super().__init__()
        self.model = model  # As a submodule, so that its weights are parameters.

    def forward(self, *features):
        """Maps the values of INPUTS to the pooled output."""
        return self.model(**dict(zip(INPUTS, features, strict=True))).pooler_output
