"""The contract of a loaded model: what all formats share."""

import warnings

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.serving.model import LoadedModel
from bert_tf.tasks.metadata import TaskMetadata

ENCODER = TaskMetadata("encoder", 3, True)


def make_toy_model():
    """Returns an encoder of two dimensions; texts of more than three characters are truncated."""
    def answer(texts):
        return {"sequence_output": np.ones([len(texts["text"]), 1, 2]), "input_mask": np.ones([len(texts["text"]), 1]),
                "was_cut": np.array([len(text) > 3 for text in texts["text"]], bool)}

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
        "note: toy: truncated 2 of 3 texts to the model's limit, 3 tokens (`max_seq_length`)"]
    assert caught[0].filename == __file__


def test_two_names_of_an_input():
    for call in (make_toy_model(), make_toy_model().predict):
        for names in (("text", "text_a"), ("text_a", "text")):
            with pytest.raises(InputError, match="^`{}` and `{}` are the same input; set only one".format(*names)):
                call(**{name: ["a"] for name in names})


@pytest.mark.parametrize("batch_size", [0, "2", None, 2.0])
def test_invalid_batch_sizes(batch_size):
    for call in (lambda: make_toy_model().predict(text=["a"], batch_size=batch_size),
                 lambda: make_toy_model().encode(["a"], batch_size=batch_size)):
        with pytest.raises(InputError, match=f"^`batch_size`={batch_size}: must be an integer of at least 1$"):
            call()


def make_constant_model(value):
    """Returns an encoder whose outputs are all equal to `value`."""
    def answer(texts):
        size = len(texts["text"])
        return {"pooled_output": np.full([size, 2], value, np.float32), "was_cut": np.zeros([size], bool),
                "sequence_output": np.full([size, 3, 2], value, np.float32),
                "input_mask": np.ones([size, 3], np.int32)}

    return LoadedModel(ENCODER, "toy", answer)


@pytest.mark.parametrize("call", [lambda model: model(text=["a"]), lambda model: model.predict(text=["a"]),
                                  lambda model: model.encode(["a"])])
def test_outputs_that_are_not_finite(call):
    call(make_constant_model(1.0))
    for value in (np.nan, np.inf):
        with pytest.raises(InputError, match=r"^toy: computes pooled_output with numbers that are not finite"):
            call(make_constant_model(value))
