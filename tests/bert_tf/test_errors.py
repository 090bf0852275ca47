"""InputError: the same error from another process, and for another argument."""

import pickle

import pytest

from bert_tf.errors import InputError, rename_argument


def test_another_argument():
    error = pickle.loads(pickle.dumps(InputError("is empty", "init_checkpoint", "a"))).for_argument("teacher")
    assert (str(error), error.argument, error.value) == ("`teacher`=a: is empty", "teacher", "a")
    with pytest.raises(InputError, match=r"^`teacher`=a: is empty$"), rename_argument(init_checkpoint="teacher"):
        raise InputError("is empty", "init_checkpoint", "a")
    with pytest.raises(InputError, match=r"^`vocab_file`=a: is empty$"), rename_argument(init_checkpoint="teacher"):
        raise InputError("is empty", "vocab_file", "a")
