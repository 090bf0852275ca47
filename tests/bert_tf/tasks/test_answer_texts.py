"""Texts of token spans: the graph and plain Python find the same source, also without spaces and for other tokens."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.served_models.span_labeler import extract_span_texts, split_contexts
from bert_tf.tasks import span_labeler
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.plain_tokenizer import PlainTokenizer

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"東京大学日本国は。", "fun", "cafe", "##s", "x", "."]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return BertTokenizer(str(path)), PlainTokenizer(VOCABULARY, True, True)


@pytest.mark.parametrize(("context", "first", "last", "expected"), [
    ("東京大学日本国\u200b", 2, 3, "大学"),  # dropped by the tokenizer
    ("東京\u200b大学日本国", 2, 3, "大学"),
    ("東京は大学。東京は犬。", 6, 7, "東京"),  # a word with [UNK] elsewhere
    ("東京 大学 日本国\ufe0f", 1, 3, "京 大学"),
    ("x (Cafe\u0301s) .", 2, 3, "Cafe\u0301s"),  # an accent belongs to the token before it
    ("x  \u202f fun\n.", 0, 2, "x fun ."),
])
def test_the_source_of_a_span(tokenizers, context, first, last, expected):
    pieces = split_contexts(tokenizers[0], tf.constant(["x fun", context]))  # counts tokens over all contexts
    texts, starts, ends = extract_span_texts(
        pieces, tf.constant([1], tf.int64), *(tf.constant([2 + token], tf.int64) for token in (first, last)))
    plain = span_labeler.split(tokenizers[1], context)
    assert plain.ids == pieces.ids[1].numpy().tolist()
    found = (texts[0].numpy().decode(), int(starts[0]), int(ends[0]))
    assert found == plain.span_text(first, last)
    assert (found[0], " ".join(context[found[1] : found[2]].split())) == (expected, expected)


def test_all_spans_of_a_context(tokenizers):
    context = "東京\u200b大学は犬。 (Cafe\u0301s) fun❤\ufe0f 日本\u3000国\u202fx."
    pieces = split_contexts(tokenizers[0], tf.constant([context]))
    plain = span_labeler.split(tokenizers[1], context)
    first, last = np.triu_indices(len(plain.ids))
    found = extract_span_texts(pieces, tf.zeros([len(first)], tf.int64), tf.constant(first), tf.constant(last))
    spans = zip(*(each.numpy() for each in found), strict=True)
    assert [(text.decode(), start, end) for text, start, end in spans] == [
        plain.span_text(*span) for span in zip(first, last, strict=True)]
