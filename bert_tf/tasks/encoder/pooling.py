"""Embeddings of texts from the outputs of their tokens, in NumPy."""

import numpy as np

from bert_tf.tasks.metadata import POOLER_OUTPUT


def embed(outputs, input_mask, metadata):
    """Pools the outputs of a text's tokens to its embedding, like sentence-transformers.

    The tokens include [CLS] and [SEP].

    Args:
      outputs: Dict of "sequence_output" float32 [B, S, H] of the last layer, and for the pooling
        "pooler", "pooled_output" float32 [B, H].
      input_mask: int [B, S]. 1 for tokens, 0 for padding.
      metadata: TaskMetadata of an encoder, with the pooling, whether to divide embeddings by their
        L2 norm, and the number of elements to keep.

    Returns:
      float32 [B, H], or [B, truncate_dim].
    """
    mask = np.asarray(input_mask, np.float32)[:, :, np.newaxis]
    sequence_output = outputs["sequence_output"]
    pooling = metadata.sentence_pooling
    if pooling == POOLER_OUTPUT:
        embeddings = outputs["pooled_output"]
    elif pooling == "cls":
        embeddings = sequence_output[:, 0]
    elif pooling == "max":
        embeddings = np.where(mask > 0, sequence_output, -np.inf).max(axis=1)
    else:
        embeddings = (sequence_output * mask).sum(axis=1) / mask.sum(axis=1)
    if metadata.normalize:
        embeddings = embeddings / np.linalg.norm(embeddings, axis=-1, keepdims=True)
    return embeddings[:, : metadata.truncate_dim]
