"""Hugging Face's BertModel on PyTorch, with random weights."""

import os

import torch
import transformers


class Peer:
    """The encoder.

    Args:
      sizes: Dict of arguments of transformers.BertConfig.
      dtype: str. Type of the weights and the computations, float32 or bfloat16.
    """

    def __init__(self, sizes, dtype):
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        self._model = (
            transformers.BertModel(transformers.BertConfig(**sizes))
            .to(getattr(torch, dtype))
            .eval()
        )

    def answer(self, inputs):
        """Computes the output for a dict of name to int64 array [B, S]."""
        with torch.inference_mode():
            self._model(**{name: torch.from_numpy(values) for name, values in inputs.items()})
