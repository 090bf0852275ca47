"""Embeddings of texts from the outputs of their tokens, in NumPy."""

import numpy as np


def pool_tokens(sequence_output, input_mask, pooling="mean", normalize=False):
    """Pools the outputs of a text's tokens to its embedding, like sentence-transformers.

    The tokens include [CLS] and [SEP].

    Args:
      sequence_output: float32 [B, S, H]. Outputs of the last layer.
      input_mask: int [B, S]. 1 for tokens, 0 for padding.
      pooling: str. "mean", "max", or "cls", the output of [CLS].
      normalize: bool. Whether to divide embeddings [B, H] by their L2 norm.
    """
    mask = np.asarray(input_mask, np.float32)[:, :, np.newaxis]
    if pooling == "cls":
        embeddings = sequence_output[:, 0]
    elif pooling == "max":
        embeddings = np.where(mask > 0, sequence_output, -np.inf).max(axis=1)
    else:
        embeddings = (sequence_output * mask).sum(axis=1) / mask.sum(axis=1)
    if normalize:
        embeddings = embeddings / np.linalg.norm(embeddings, axis=-1, keepdims=True)
    return embeddings
