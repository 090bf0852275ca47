"""The served model of an encoder, which returns embeddings."""

import tensorflow as tf

from bert_tf.tasks.metadata import POOLER_OUTPUT
from bert_tf.tasks.servable import Servable


class ServedEncoder(Servable):
    """A BertEncoder that takes "text" string [B], or "text_a" and "text_b" for pairs.

    In addition to "was_cut", it returns "sentence_embedding" float32 [B, H], or [B, truncate_dim];
    "sequence_output" float32 [B, S, H], valid where "token_mask" int32 [B, S] is 1; "pieces" string
    [B, S], the WordPiece tokens.
    """

    kind = "encoder"

    @classmethod
    def create_model(cls, encoder, metadata):
        """See Servable."""
        del metadata
        return encoder

    def answer(self, features):
        """See Servable."""
        all_outputs = self.model(features)
        return {
            "sentence_embedding": embed(all_outputs, features["input_mask"], self.metadata),
            "sequence_output": tf.cast(all_outputs["sequence_output"], tf.float32),
            "token_mask": features["input_mask"],
            "pieces": self.tokenizer.convert_ids_to_tokens(features["input_ids"]),
        }

    def compute_outputs(self, features):
        """See Servable."""
        all_outputs = self.model(features)
        names = ["sequence_output"]
        if self.metadata.sentence_pooling == POOLER_OUTPUT:
            names.append("pooled_output")
        return {name: all_outputs[name] for name in names}


def embed(all_outputs, input_mask, metadata):
    """Computes embeddings in TensorFlow, like `bert_tf.tasks.encoder.pooling` in NumPy.

    Args:
      all_outputs: Dict of the encoder's outputs.
      input_mask: int32 [B, S]. 1 for tokens, 0 for padding.
      metadata: TaskMetadata of any kind.

    Returns:
      float32 [B, H], or [B, truncate_dim].
    """
    mask = tf.cast(input_mask, tf.float32)[:, :, tf.newaxis]
    sequence_output = tf.cast(all_outputs["sequence_output"], tf.float32)
    pooling = metadata.sentence_pooling
    if pooling == POOLER_OUTPUT:
        embeddings = tf.cast(all_outputs["pooled_output"], tf.float32)
    elif pooling == "cls":
        embeddings = sequence_output[:, 0]
    elif pooling == "max":
        embeddings = tf.reduce_max(
            tf.where(mask > 0, sequence_output, sequence_output.dtype.min), axis=1
        )
    else:
        embeddings = tf.math.divide_no_nan(
            tf.reduce_sum(sequence_output * mask, axis=1), tf.reduce_sum(mask, axis=1)
        )
    if metadata.normalize:
        embeddings = tf.math.l2_normalize(embeddings, axis=-1)
    return embeddings[:, : metadata.truncate_dim]
