"""The contract of a loaded model, with a model of fixed outputs."""

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.serving.model import LoadedModel


class Fixed(LoadedModel):
    """An encoder whose outputs are all equal to `value`."""

    def __init__(self, value):
        super().__init__("encoder", "place")
        self._value = value

    def _answer(self, texts):
        size = len(texts["text"])
        return {"pooled_output": np.full([size, 2], self._value, np.float32), "was_cut": np.zeros([size], bool),
                "sequence_output": np.full([size, 3, 2], self._value, np.float32),
                "input_mask": np.ones([size, 3], np.int32)}


@pytest.mark.parametrize("call", [lambda model: model(text=["a"]), lambda model: model.rows(text=["a"]),
                                  lambda model: model.encode(["a"])])
def test_outputs_that_are_not_finite(call):
    call(Fixed(1.0))
    for value in (np.nan, np.inf):
        with pytest.raises(InputError, match=r"^place: computes pooled_output with numbers that are not finite"):
            call(Fixed(value))
