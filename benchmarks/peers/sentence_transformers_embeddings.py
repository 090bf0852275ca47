"""Embeddings with sentence-transformers on all cores."""

import os
import resource

import sentence_transformers
import torch


class Peer:
    """An encoder that takes the mean of the last layer's outputs.

    Args:
      path: Directory.
      max_seq_length: int. Length in tokens.
      backend: str. torch, onnx, or openvino.
    """

    def __init__(self, path, max_seq_length, backend):
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        self._model = sentence_transformers.SentenceTransformer(path, backend=backend, device="cpu")
        self._model.max_seq_length = max_seq_length

    def embed(self, texts, batch_size):
        """Returns the embeddings of a list of str, float32 [N, H]."""
        return self._model.encode(texts, batch_size=batch_size, show_progress_bar=False)

    def peak_memory(self):
        """Returns the largest memory of the process, in bytes."""
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
