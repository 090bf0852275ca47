"""A loaded model of any format: checks of requests and batches, and warnings."""

import dataclasses
import warnings

import numpy as np
import pytest

from bert_tf.serving.model import LoadedModel
from bert_tf.serving.requests import check_request
from bert_tf.tasks.metadata import TaskMetadata
from tests.errors import Message, raises_message, rejects

ENCODER = TaskMetadata("encoder", 3, True)


def make_toy_model():
    """Returns an encoder with outputs that are all 1.

    Texts of more than three characters are truncated.
    """

    def answer(texts):
        size = len(texts["text"])
        return {
            "sentence_embedding": np.ones([size, 2], np.float32),
            "was_cut": np.array([len(text) > 3 for text in texts["text"]], bool),
        }

    return LoadedModel(ENCODER, "toy", answer)


def test_embeddings_of_truncated_texts_warn_once():
    model = make_toy_model()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert model.encode(["abc", ""]).shape == (2, 2)
        assert not caught
        assert model.encode(["abcd", "a", "abcde"], batch_size=1).shape == (3, 2)
        model.encode(["abcd"])
    assert [str(each.message) for each in caught] == [
        "note: toy: truncated 2 of 3 texts to the model's limit, 3 tokens (`max_seq_length`)"
    ]
    assert caught[0].filename == __file__


def test_invalid_requests():
    for call in (make_toy_model(), make_toy_model().predict):
        with rejects(None, "inputs text, text_a", "a model of kind encoder requires"):
            call(text=["a"], text_a=["a"])
        with rejects("text", "must be a list of texts", "not str"):
            call(text="a")
    for call in (
        make_toy_model().predict,
        lambda batch_size, text: make_toy_model().encode(text, batch_size),
    ):
        with rejects("batch_size", "must be at least 1", value=-1):
            call(-1, text=["a"])
    pairs = LoadedModel(TaskMetadata("classifier", 3, True, pairs=True), "toy", None)
    with rejects("toy", "classifier of text_a and text_b", "cannot compute text em"):
        pairs.encode(["a"])


TEXT = {"text": 1}
CHOICES = {"text_a": 1, "choices": 2}


@dataclasses.dataclass(frozen=True)
class WrongTexts:
    """An input with values that are not texts.

    Attributes:
      kind: str. Kind of the model.
      name: str. Name of the input.
      values: Value of the input.
      parts: Tuple of str. Parts of the message.
    """

    kind: str
    name: str
    values: object
    parts: tuple


@pytest.mark.parametrize(
    "case",
    [
        WrongTexts(kind="encoder", name="text", values="a", parts=("a list of texts", "not str")),
        WrongTexts(
            kind="encoder",
            name="text",
            values=iter(["a"]),
            parts=("a list of texts", "not list_iterator"),
        ),
        WrongTexts(
            kind="encoder",
            name="text",
            values=np.array("a"),
            parts=("a list of texts", "not a scalar"),
        ),
        WrongTexts(
            kind="encoder", name="text", values=[["a"]], parts=("must contain texts", "not list")
        ),
        WrongTexts(
            kind="multiple_choice",
            name="choices",
            values=["a"],
            parts=("a list of texts", "not str"),
        ),
        WrongTexts(
            kind="multiple_choice",
            name="choices",
            values=[[]],
            parts=("at least one text", "in each row"),
        ),
    ],
)
def test_texts_of_wrong_types(case):
    request = (
        {"text_a": ["a"], "choices": case.values}
        if case.name == "choices"
        else {case.name: case.values}
    )
    with rejects(case.name, *case.parts):
        check_request(case.kind, CHOICES if case.name == "choices" else TEXT, request)


@pytest.mark.parametrize(
    ("ranks", "request_", "message"),
    [
        (TEXT, {}, Message(None, "inputs none", "kind encoder requires text=[...]")),
        (
            TEXT,
            {"text_a": ["a"]},
            Message(None, "inputs text_a", "kind encoder requires text=[...]"),
        ),
        (
            {"question": 1, "context": 1},
            {"question": ["a", "b"], "context": ["c"]},
            Message("context", "as many examples as `question`"),
        ),
    ],
)
def test_missing_and_unequal_inputs(ranks, request_, message):
    with raises_message(message):
        check_request("encoder", ranks, request_)


def test_valid_requests():
    assert check_request("encoder", TEXT, {"text": ("a", b"b\xff", np.str_("c"))}) == {
        "text": ["a", "b", "c"]
    }
    request = {"text_a": np.array(["a", "b"], object), "choices": [["c"], ["d", "e"]]}
    assert check_request("multiple_choice", CHOICES, request, is_ragged=True) == {
        "text_a": ["a", "b"],
        "choices": [["c"], ["d", "e"]],
    }
    with rejects("choices", "the same number of texts"):
        check_request("multiple_choice", CHOICES, request)
