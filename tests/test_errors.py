"""Checks of messages fail if the argument, the file, the value, or a part differs."""

import pytest

from bert_tf.errors import InputError
from tests.errors import Message, check_message, raises_message, rejects

PARTS = ("at least 2", "set `other`")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("`size`=1: must be at least 2; set `other`", Message("size", *PARTS, value=1)),
        ("--size=1: at least 2 are required; set `other`", Message("size", *PARTS)),
        ("`size` must be at least 2; set `other`", Message("size", *PARTS)),
        ("/folder/a.csv:3: at least 2; set `other`", Message("a.csv:3", *PARTS)),
        ("the size must be at least 2; set `other`", Message(None, *PARTS)),
    ],
)
def test_other_words_may_change(text, message):
    check_message(text, message.subject, *message.parts, value=message.value)


@pytest.mark.parametrize(
    "text",
    [
        "`sizes`=1: must be at least 2; set `other`",
        "the `size`=1: must be at least 2; set `other`",
        "`size`=11: must be at least 2; set `other`",
        "`size`=1: must be at least 3; set `other`",
        "`size`=1: must be at least 2; set `another`",
    ],
)
def test_subject_value_and_parts_may_not(text):
    with pytest.raises(AssertionError):
        check_message(text, "size", *PARTS, value=1)


@pytest.mark.parametrize("text", ["/folder/b.csv:3: is empty", "/folder/a.csv:33: is empty"])
def test_another_file(text):
    with pytest.raises(AssertionError):
        check_message(text, "a.csv:3", "is empty")


def test_errors():
    with rejects("size", *PARTS, value=1) as caught:
        raise InputError("must be at least 2; set `other`", "size", 1)
    assert caught.value.argument == "size"
    with raises_message(Message("size", "is 1"), file="a.json"):
        raise InputError("a.json: `size` is 1")
    with (
        pytest.raises(AssertionError),
        raises_message(Message("size", "is 1"), file="a.json"),
    ):
        raise InputError("b.json: `size` is 1")
    with pytest.raises(InputError), rejects("size", "is 1", error=OSError):
        raise InputError("is 1", "size")
