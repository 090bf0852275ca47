"""LiteRTModel: the answers of the served models, from one file."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.export import litert
from bert_tf.litert import LiteRTModel
from tests import toy_servables
from tests.toy_servables import MAX_SEQ_LENGTH, REQUESTS, make_servable

pytestmark = pytest.mark.timeout(180)  # the first test converts six models


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return toy_servables.make_tokenizer(tmp_path_factory.mktemp("vocabulary"))


@pytest.fixture(scope="module")
def files(tokenizer, tmp_path_factory):
    """task -> path of its float32 model with two lengths and two batch sizes."""
    folder = tmp_path_factory.mktemp("models")
    for name in REQUESTS:
        servable = make_servable(name, tokenizer, remove_padding=False, static_length=True)
        (folder / f"{name}.tflite").write_bytes(litert.convert(servable, lengths=(7, 24, 31), batch_sizes=(1, 3)))
    return {name: str(folder / f"{name}.tflite") for name in REQUESTS}


@pytest.fixture(scope="module")
def loaded(files):
    return {name: LiteRTModel(path, num_threads=1) for name, path in files.items()}


def assert_same_answers(actual, expected, tolerance=2e-5):
    """The same names, shapes and types; equal but for rounding."""
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        value = value.numpy()
        assert (actual[name].shape, actual[name].dtype) == (value.shape, value.dtype), name
        if value.dtype.kind == "f":
            np.testing.assert_allclose(actual[name], value, rtol=0, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(actual[name], value, err_msg=name)


@pytest.mark.parametrize("name", REQUESTS)
def test_answers_are_those_of_the_saved_model(loaded, tokenizer, name):
    servable = make_servable(name, tokenizer)
    expected = servable.answer_texts(**{key: tf.constant(value) for key, value in REQUESTS[name].items()})
    actual = loaded[name](**REQUESTS[name])
    if name == "encoder":  # vectors at padding mean nothing
        mask = np.array(expected["input_mask"])[..., np.newaxis]
        actual["sequence_output"] *= mask
        expected["sequence_output"] *= mask
    assert_same_answers(actual, expected)
    assert loaded[name].kind == servable.kind
    assert loaded[name].text_inputs == servable.text_inputs
