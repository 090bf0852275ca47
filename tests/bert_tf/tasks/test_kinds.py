"""Kinds of tasks without TensorFlow: inputs, conversion of responses, and correct predictions."""

import re

import numpy as np
import pytest
from official.nlp.tools import squad_evaluate_v2_0

from bert_tf.errors import InputError
from bert_tf.served_models import SERVED_MODELS
from bert_tf.tasks import KINDS, UNTRAINED_KINDS
from bert_tf.tasks.base import softmax
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tasks.span_labeler import normalize
from bert_tf.tokenization import rows


def test_registries_name_the_same_kinds():
    assert set(KINDS) == set(SERVED_MODELS)
    assert {name: kind.name for name, kind in KINDS.items()} == {name: name for name in KINDS}
    assert UNTRAINED_KINDS == ("encoder", "masked_lm")


def test_metadata_has_the_fields_of_every_kind():
    fields = set(TaskMetadata.__dataclass_fields__)
    assert all(kind.fields.keys() <= fields for kind in KINDS.values())
    assert [name for name, kind in KINDS.items() if kind.has_labels] == ["classifier", "token_classifier"]


@pytest.mark.parametrize(("kind", "texts", "question"), [
    ("classifier", ["a"], {"text": "a"}),
    ("classifier", ["a", "b"], {"text_a": "a", "text_b": "b"}),
    ("encoder", ["a", "b"], {"text_a": "a", "text_b": "b"}),
    ("token_classifier", ["a"], {"text": "a"}),
    ("span_labeler", ["a", ""], {"question": "a", "context": ""}),
    ("multiple_choice", ["a", None, ("b", "c")], {"text_a": "a", "choices": ("b", "c")}),
])
def test_texts_become_inputs(kind, texts, question):
    assert KINDS[kind].question(*texts) == question
    assert list(question) == list(KINDS[kind].inputs("text_b" in question))


@pytest.mark.parametrize(("kind", "texts", "message"), [
    ("token_classifier", ["a", "b"], "`text_b` cannot be used: a token classifier reads a single text"),
    ("span_labeler", ["a"], "`text_b` is required: a span labeler reads a question and its context"),
])
def test_texts_for_another_kind(kind, texts, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        KINDS[kind].question(*texts)


@pytest.mark.parametrize(("kind", "request_", "message"), [
    ("encoder", {}, "inputs none: a model of kind encoder requires text"),
    ("encoder", {"text_a": ["a"]}, "inputs text_a: a model of kind encoder requires text"),
    ("encoder", {"text": "a"}, "`text` must be a list of texts, not str"),
    ("encoder", {"text": ["a", 3]}, "`text` must contain texts, not int"),
    ("span_labeler", {"question": ["a", "b"], "context": ["c"]}, "`context` must contain as many examples as `que"),
    ("multiple_choice", {"text_a": ["a", "b"], "choices": [["c"], ["d", "e"]]}, "`choices` must contain the same"),
    ("multiple_choice", {"text_a": ["a"], "choices": ["b"]}, "`choices` must be a list of texts, not str"),
])
def test_invalid_requests(kind, request_, message):
    with pytest.raises(InputError, match=f"^{message}"):
        rows.check_request(kind, KINDS[kind].inputs(), request_)


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
