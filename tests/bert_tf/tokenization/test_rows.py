"""Checks of the inputs of a request."""

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.tokenization.rows import check_request

TEXT, CHOICES = {"text": 1}, {"text_a": 1, "choices": 2}


@pytest.mark.parametrize(("values", "problem"), [
    ("a", "must be a list of texts, not str"),
    (None, "must be a list of texts, not NoneType"),
    ({"a": 1}, "must be a list of texts, not dict"),
    (iter(["a"]), "must be a list of texts, not list_iterator"),
    (np.array("a"), "must be a list of texts, not a scalar"),
    ([None], "must contain texts, not NoneType"),
    ([["a"]], "must contain texts, not list"),
])
def test_texts_of_wrong_types(values, problem):
    with pytest.raises(InputError, match=f"^`text` {problem}$"):
        check_request("encoder", TEXT, {"text": values})


@pytest.mark.parametrize(("values", "problem"), [
    ("a", "must be a list of texts, not str"),
    (["a"], "must be a list of texts, not str"),
    (np.array(["a"]), "must be a list of texts, not a scalar"),
    ([[]], "must contain at least one text in each row"),
    ([["a", None]], "must contain texts, not NoneType"),
])
@pytest.mark.parametrize("is_ragged", [False, True])
def test_choices_of_wrong_types(values, problem, is_ragged):
    with pytest.raises(InputError, match=f"^`choices` {problem}$"):
        check_request("multiple_choice", CHOICES, {"text_a": ["a"], "choices": values}, is_ragged)


@pytest.mark.parametrize(("ranks", "request_", "message"), [
    (TEXT, {}, "inputs none: a model of kind encoder requires text"),
    (TEXT, {"text_a": ["a"]}, "inputs text_a: a model of kind encoder requires text"),
    ({"question": 1, "context": 1}, {"question": ["a", "b"], "context": ["c"]},
     "`context` must contain as many examples as `question`"),
])
def test_missing_and_unequal_inputs(ranks, request_, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        check_request("encoder", ranks, request_)


def test_valid_requests():
    assert check_request("encoder", TEXT, {"text": ("a", b"b\xff", np.str_("c"))}) == {"text": ["a", "b", "c"]}
    request = {"text_a": np.array(["a", "b"], object), "choices": [["c"], ["d", "e"]]}
    assert check_request("multiple_choice", CHOICES, request, is_ragged=True) == {
        "text_a": ["a", "b"], "choices": [["c"], ["d", "e"]]}
    with pytest.raises(InputError, match="`choices` must contain the same number of texts in each row"):
        check_request("multiple_choice", CHOICES, request)
