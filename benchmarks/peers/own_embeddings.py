"""Embeddings with this project, in a separate process like the peers."""

import bert_tf
from benchmarks.peer_process import read_peak_memory


class Peer:
    """An encoder.

    Args:
      path: Path for bert_tf.load.
      max_seq_length: int. Length in tokens; None for an export, which has its own.
    """

    def __init__(self, path, max_seq_length):
        options = {} if max_seq_length is None else {"max_seq_length": max_seq_length}
        self._model = bert_tf.load(path, kind="encoder", **options)

    def embed(self, texts, batch_size):
        """Returns the embeddings of a list of str, float32 [N, H]."""
        return self._model.encode(texts, batch_size=batch_size)

    def peak_memory(self):
        """Returns the largest memory of the process, in bytes."""
        return read_peak_memory()
