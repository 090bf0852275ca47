"""Kinds of tasks without TensorFlow: rejected inputs, and correct predictions."""

import re

import pytest
from official.nlp.tools import squad_evaluate_v2_0

from bert_tf.errors import InputError
from bert_tf.tasks import KINDS
from bert_tf.tasks.span_labeler import normalize


@pytest.mark.parametrize(("kind", "texts", "message"), [
    ("token_classifier", ["a", "b"], "`text_b` cannot be used: a token classifier reads a single text"),
    ("span_labeler", ["a"], "`text_b` is required: a span labeler reads a question and its context"),
])
def test_texts_for_another_kind(kind, texts, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        KINDS[kind].question(*texts)


@pytest.mark.parametrize(("kind", "row", "expected", "is_right"), [
    ("classifier", {"label": "no"}, "no", True),
    ("classifier", {"labels": ["no", "yes"]}, ["no"], False),
    ("token_classifier", {"tags": ["O", "B-X"]}, ["O", "B-X"], True),
    ("multiple_choice", {"choice": 2}, 1, False),
    ("span_labeler", {"answer": "The  dog."}, ("a cat", "Dog"), True),
    ("span_labeler", {"answer": ""}, (), True),
    ("span_labeler", {"answer": ""}, ("the",), True),  # articles are ignored
    ("span_labeler", {"answer": "dog"}, (), False),
])
def test_correct_predictions(kind, row, expected, is_right):
    assert KINDS[kind].is_right(row, expected) == is_right


@pytest.mark.parametrize("text", [
    "", "The an A", "the-an", "Theater, a.m.", "an\u00a0apple \t ARE\nthe\u2009end", "U.S.A. (a)",
    "\u0130an \u00e4 the\u0301"])
def test_answers_are_normalized_as_in_squad(text):
    assert normalize(text) == squad_evaluate_v2_0._normalize_answer(text)
