"""The encoder as a model, and as a served model that returns embeddings."""

import tensorflow as tf

from bert_tf.export.servable import Servable
from bert_tf.tasks.graphs.base import Graph


class ServedEncoder(Servable):
    """A BertEncoder that takes "text" string [B], or "text_a" and "text_b" for pairs.

    In addition to "was_cut", it returns "pooled_output" float32 [B, H], if there is a pooler; "sequence_output"
    float32 [B, S, H], valid where "input_mask" int32 [B, S] is 1; "pieces" string [B, S], the WordPiece tokens.
    """

    kind = "encoder"

    def __init__(self, model, tokenizer, *, has_pooler=True, **options):
        """Args:
          model, tokenizer, **options: See Servable.
          has_pooler: bool. Whether the pooler of the model is trained.
        """
        super().__init__(model, tokenizer, **options)
        self._has_pooler = has_pooler
        self._names = ("pooled_output", "sequence_output") if has_pooler else ("sequence_output",)

    def answer(self, features):
        encoded = self.model(features)
        return {**{name: tf.cast(encoded[name], tf.float32) for name in self._names},
                "input_mask": features["input_mask"],
                "pieces": self.tokenizer.convert_ids_to_tokens(features["input_ids"])}

    def numbers(self, features):
        encoded = self.model(features)
        return {name: encoded[name] for name in self._names}

    def litert_metadata(self):
        return super().litert_metadata(has_pooler=self._has_pooler)


class EncoderGraph(Graph):
    """See `Graph`; without a head, there is no loss."""

    def model(self, encoder, metadata):
        return encoder

    def servable(self, model, tokenizer, metadata, options):
        return ServedEncoder(model, tokenizer, pairs=metadata.pairs, max_seq_length=metadata.max_seq_length,
                             static_length=options.static_length, has_pooler=options.has_pooler)
