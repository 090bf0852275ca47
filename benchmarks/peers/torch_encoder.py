"""Hugging Face's BertModel on PyTorch, in bfloat16, with random weights."""

import os

import torch
import transformers


class Peer:
    """The encoder.

    Args:
      sizes: Dict of arguments of transformers.BertConfig.
    """

    def __init__(self, sizes):
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        self._model = transformers.BertModel(transformers.BertConfig(**sizes)).to(torch.bfloat16).eval()
        self._inputs = {}

    def prepare(self, inputs):
        """Stores the inputs of `answer`: dict of name to int array [B, S]."""
        self._inputs = {name: torch.from_numpy(values).long() for name, values in inputs.items()}

    def answer(self):
        """Computes the output of the inputs."""
        with torch.inference_mode():
            self._model(**self._inputs)
