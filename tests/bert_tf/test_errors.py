"""InputError: its message, and the same error for another argument."""

import pickle

import pytest

from bert_tf.errors import InputError, rename_argument


@pytest.mark.parametrize(("arguments", "message"), [
    (("a.txt: is empty",), "a.txt: is empty"),
    (("is required", "vocab_file"), "`vocab_file` is required"),
    (("is empty", "vocab_file", "a.txt"), "`vocab_file`=a.txt: is empty"),
    (("must be one number", "lengths", (8, 16)), "`lengths`=8,16: must be one number"),
    (("is required", "vocab_file", None), "`vocab_file`=None: is required"),
])
def test_messages(arguments, message):
    assert str(InputError(*arguments)) == message
    assert str(pickle.loads(pickle.dumps(InputError(*arguments)))) == message  # As from a process of a pool.


def test_another_argument():
    error = pickle.loads(pickle.dumps(InputError("is empty", "init_checkpoint", "a")))
    assert (error.problem, error.argument, error.value) == ("is empty", "init_checkpoint", "a")
    with pytest.raises(InputError, match=r"^`teacher`=a: is empty$"), rename_argument(init_checkpoint="teacher"):
        raise InputError("is empty", "init_checkpoint", "a")
    with pytest.raises(InputError, match=r"^`vocab_file`=a: is empty$"), rename_argument(init_checkpoint="teacher"):
        raise InputError("is empty", "vocab_file", "a")
