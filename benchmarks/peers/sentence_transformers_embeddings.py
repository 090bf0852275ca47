"""Embeddings with sentence-transformers on all cores."""

import os

import sentence_transformers
import torch

from benchmarks.peer_process import read_peak_memory

# The default is bfloat16 on some CPUs.
MODEL_OPTIONS = {"openvino": {"ov_config": {"INFERENCE_PRECISION_HINT": "f32"}}}


class Peer:
    """An encoder that takes the mean of the last layer's outputs.

    Args:
      path: Directory.
      max_seq_length: int. Length in tokens.
      backend: str. torch, onnx, or openvino. The latter two export a directory without their files,
        in memory.
    """

    def __init__(self, path, max_seq_length, backend):
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        self._model = sentence_transformers.SentenceTransformer(
            path, backend=backend, device="cpu", model_kwargs=MODEL_OPTIONS.get(backend)
        )
        self._model.max_seq_length = max_seq_length

    def save(self, path):
        """Writes the model, with the files of its backend, to a directory."""
        self._model.save_pretrained(path, create_model_card=False)

    def version(self):
        """Returns the version of sentence-transformers, which another Python can have."""
        return sentence_transformers.__version__

    def embed(self, texts, batch_size):
        """Returns the embeddings of a list of str, float32 [N, H]."""
        return self._model.encode(texts, batch_size=batch_size, show_progress_bar=False)

    def peak_memory(self):
        """Returns the largest memory of the process, in bytes."""
        return read_peak_memory()
