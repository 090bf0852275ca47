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
        self._model = (
            transformers.BertModel(transformers.BertConfig(**sizes)).to(torch.bfloat16).eval()
        )

    def answer(self, inputs):
        """Computes the output for a dict of name to int64 array [B, S]."""
        with torch.inference_mode():
            self._model(**{name: torch.from_numpy(values) for name, values in inputs.items()})
