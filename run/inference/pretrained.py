"""What any checkpoint can do, fine-tuned or not: encode texts; fill masks, if it was pre-trained."""

from bert_tf import export, models
from run.tasks.base import ServedTask


class Encoder(ServedTask):
    """Vectors of texts."""

    kind = "encoder"
    answers = frozenset({"sequence_output"})

    @staticmethod
    def make_model(encoder, metadata):
        return encoder

    @staticmethod
    def make_servable(model, tokenizer, metadata, options):
        return export.ServedEncoder(model, tokenizer, pairs=metadata.pairs, max_seq_length=metadata.max_seq_length,
                                    static_length=options.static_length)


class MaskedLM(ServedTask):
    """Candidates for each [MASK] of a text."""

    kind = "masked_lm"
    unused_variables = ("bert/pooler/", "cls/seq_relationship/")
    answers = frozenset({"num_masks"})

    @staticmethod
    def make_model(encoder, metadata):
        return models.BertPretrainer(encoder)

    @staticmethod
    def make_servable(model, tokenizer, metadata, options):
        return export.ServedMaskedLM(model, tokenizer, top_k=options.top_k, max_seq_length=metadata.max_seq_length,
                                     static_length=options.static_length)
