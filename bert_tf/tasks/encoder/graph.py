"""The served model of an encoder, which returns embeddings."""

import tensorflow as tf

from bert_tf.tasks.servable import Servable


class ServedEncoder(Servable):
    """A BertEncoder that takes "text" string [B], or "text_a" and "text_b" for pairs.

    In addition to "was_cut", it returns "pooled_output" float32 [B, H], if there is a pooler;
    "sequence_output" float32 [B, S, H], valid where "token_mask" int32 [B, S] is 1; "pieces" string
    [B, S], the WordPiece tokens. A model of sentence-transformers also returns "sentence_embedding"
    float32 [B, H].
    """

    kind = "encoder"

    @classmethod
    def create_model(cls, encoder, metadata):
        del metadata
        return encoder

    @property
    def _names(self):
        """Names of the encoder's outputs that depend on trained weights."""
        if self.metadata.has_pooler:
            return ("pooled_output", "sequence_output")
        return ("sequence_output",)

    def answer(self, features):
        encoded = self.model(features)
        outputs = {name: tf.cast(encoded[name], tf.float32) for name in self._names}
        if self.metadata.sentence_pooling:
            outputs["sentence_embedding"] = pool_tokens(
                outputs["sequence_output"],
                features["input_mask"],
                self.metadata.sentence_pooling,
                self.metadata.normalize,
            )[:, : self.metadata.truncate_dim]
        return {
            **outputs,
            "token_mask": features["input_mask"],
            "pieces": self.tokenizer.convert_ids_to_tokens(features["input_ids"]),
        }

    def compute_outputs(self, features):
        encoded = self.model(features)
        return {name: encoded[name] for name in self._names}


def pool_tokens(sequence_output, input_mask, pooling, normalize):
    """Pools token outputs in TensorFlow, like `bert_tf.tasks.encoder.pooling` in NumPy."""
    mask = tf.cast(input_mask, tf.float32)[:, :, tf.newaxis]
    if pooling == "cls":
        embeddings = sequence_output[:, 0]
    elif pooling == "max":
        embeddings = tf.reduce_max(
            tf.where(mask > 0, sequence_output, sequence_output.dtype.min), axis=1
        )
    else:
        embeddings = tf.math.divide_no_nan(
            tf.reduce_sum(sequence_output * mask, axis=1), tf.reduce_sum(mask, axis=1)
        )
    return tf.math.l2_normalize(embeddings, axis=-1) if normalize else embeddings
