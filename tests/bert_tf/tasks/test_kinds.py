"""Kinds of tasks without TensorFlow: inputs, conversion of responses, and correct predictions."""

import re

import numpy as np
import pytest
from official.nlp.tools import squad_evaluate_v2_0

from bert_tf.errors import InputError
from bert_tf.tasks import KINDS
from bert_tf.tasks.base import softmax
from bert_tf.tasks.span_labeler import normalize


@pytest.mark.parametrize(("kind", "texts", "message"), [
    ("token_classifier", ["a", "b"], "`text_b` cannot be used: a token classifier reads a single text"),
    ("span_labeler", ["a"], "`text_b` is required: a span labeler reads a question and its context"),
])
def test_texts_for_another_kind(kind, texts, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        KINDS[kind].question(*texts)


def test_probabilities_become_logits():
    logits = np.array([[1.5, -2.0, 0.25]], np.float32)
    kind = KINDS["classifier"]
    several = kind.to_logits({"probabilities": 1 / (1 + np.exp(-logits)), "has_label": 1})
    np.testing.assert_allclose(several["logits"], logits, rtol=1e-5)
    one = kind.to_logits({"probabilities": softmax(logits)})["logits"]
    np.testing.assert_allclose(one - one.max(), logits - logits.max(), rtol=1e-5)
    assert np.isfinite(kind.to_logits({"probabilities": np.array([[0.0, 1.0]])})["logits"]).all()
    assert kind.to_logits({"value": np.array([3.5])})["logits"].tolist() == [[3.5]]
    assert KINDS["span_labeler"].to_logits({"start_logits": 1, "end_logits": 2, "x": 3}) == {
        "start_logits": 1, "end_logits": 2}


@pytest.mark.parametrize(("kind", "row", "expected", "is_right"), [
    ("classifier", {"label": "no"}, "no", True),
    ("classifier", {"labels": ["no", "yes"]}, ["no"], False),
    ("token_classifier", {"tags": ["O", "B-X"]}, ["O", "B-X"], True),
    ("multiple_choice", {"choice": 2}, 1, False),
    ("span_labeler", {"answer": "The  dog."}, ("a cat", "Dog"), True),
    ("span_labeler", {"answer": "dogs"}, ("dog",), False),
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
