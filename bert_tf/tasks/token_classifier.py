"""A label per word of a text."""

from typing import ClassVar

import numpy as np

from bert_tf.errors import InputError
from bert_tf.tasks import numbers
from bert_tf.tasks.base import Kind
from bert_tf.tokenization.rows import encode_strings, pack, were_cut


class TokenClassifier(Kind):
    """Token classification (section 5.3 of the paper: NER)."""

    name = "token_classifier"
    hugging_face = ("BertForTokenClassification", "DistilBertForTokenClassification", "ElectraForTokenClassification")
    card_fields = frozenset({"labels"})
    unused_variables = ("bert/pooler/",)
    per_position: ClassVar = {"logits": -2}
    signature = frozenset({"tags"})

    def question(self, text_a, text_b=None, choices=(), argument="`text_b`"):
        if text_b is not None:
            raise InputError(f"{argument} cannot be used: a token classifier reads a single text")
        return super().question(text_a)

    def answer(self, card, tokenizer, buckets, *texts):
        """See `Kind`."""
        # Like TensorFlow, bytes.split() only recognizes ASCII white space.
        words = [[word.decode() for word in text.encode().split()] for text in texts[0]]
        pieces = [[tokenizer.ids(word) or [tokenizer.unk_id] for word in row] for row in words]
        rows = [pack(tokenizer, [id_ for word in row for id_ in word], None, card.max_seq_length) for row in pieces]
        tags, scores = [], np.zeros([len(rows), max([1, *map(len, words)])], np.float32)
        for place, (row, output) in enumerate(zip(pieces, buckets.run(rows), strict=True)):
            probabilities = numbers.softmax(output["logits"])  # [S, L]
            firsts = 1 + np.cumsum([0, *map(len, row)])[:-1]  # 1 for [CLS]
            firsts = firsts[firsts < card.max_seq_length - 1]
            tags.append([card.labels[number] for number in probabilities[firsts].argmax(axis=-1)])
            scores[place, : len(firsts)] = probabilities[firsts].max(axis=-1)
        width = scores.shape[1]
        return {"words": encode_strings(words, width), "tags": encode_strings(tags, width), "scores": scores,
                "num_words": np.array(list(map(len, words)), np.int32), "was_cut": were_cut(rows)}

    def json_rows(self, outputs):
        """{"words": [...], "tags": [...], "scores": [...]}."""
        return [{"words": [word.decode() for word in words[:count]], "tags": [tag.decode() for tag in tags[:count]],
                 "scores": numbers.to_json_numbers(scores[:count])}
                for words, tags, scores, count in zip(*map(outputs.get, (
                    "words", "tags", "scores", "num_words")), strict=True)]

    def is_right(self, row, expected):
        """See `Kind`; `expected` is the list of all labels."""
        return row["tags"] == expected
