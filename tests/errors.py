"""Checks of errors: the argument, its value, the problem, and the advice."""

import contextlib

import pytest

from bert_tf.errors import InputError

ANY = object()  # A value that is not checked.


@contextlib.contextmanager
def rejects(argument, *parts, value=ANY):
    """Checks that the code of a context raises an InputError about an argument.

    Args:
      argument: str. Name of the argument, which a script shows as a flag.
      *parts: str. Parts of the problem and of the advice.
      value: Value of the argument as in the message. By default, any value.
    """
    with pytest.raises(InputError) as caught:
        yield
    message = f"{caught.value}"
    assert message.startswith(f"`{argument}`")
    for part in parts:
        assert part in message
    if value is not ANY:
        assert message.startswith(f"`{argument}`={value}: ")
