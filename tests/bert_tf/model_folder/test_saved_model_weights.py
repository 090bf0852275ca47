"""Signatures that are read from the file of a SavedModel without TensorFlow."""

import pytest

from bert_tf.model_folder import saved_models
from bert_tf.serving import exports
from tests import signature_files


def test_names_of_a_signature(tmp_path):
    signature_files.write(tmp_path, {
        "ids": (["input_ids"], ["labels"]), "serving_default": (["text_b", "text_a"], ["label", "caf\u00e9"]),
        "none": ([], [])})
    path = str(tmp_path / "saved_model.pb")
    assert saved_models.read_signature(path) == ({"text_a", "text_b"}, {"label", "caf\u00e9"})
    assert saved_models.read_signature(path, "ids") == ({"input_ids"}, {"labels"})
    assert saved_models.read_signature(path, "none") == (set(), set())
    assert saved_models.read_signature(path, "tf_example") is None


@pytest.mark.parametrize(("inputs", "outputs", "expected"), [
    (["text_b", "text_a"], ["label", "probabilities", "was_cut"], ("text_a", "text_b")),
    (["context", "question"], ["answer", "null_score_diff"], ("question", "context")),
    (["image"], ["digit"], None),
    ([], [], None),
])
def test_inputs_have_the_order_of_their_kind(tmp_path, inputs, outputs, expected):
    signature_files.write(tmp_path / "1", {"serving_default": (inputs, outputs)})
    assert exports.read_inputs(str(tmp_path), "model") == expected


def test_a_damaged_file_has_no_signature(tmp_path):
    content = signature_files.write(tmp_path, {"serving_default": (["text"], ["label"])})
    complete = saved_models.read_signature(str(tmp_path / "saved_model.pb"))
    damaged = [content[:size] for size in range(0, len(content), 3)]
    damaged += [content[:at] + byte + content[at + 1:] for at in range(0, len(content), 3)
                for byte in (b"\xff", b"\x00")]
    for each in (*damaged, b"\x80" * 100):
        (tmp_path / "saved_model.pb").write_bytes(each)
        found = saved_models.read_signature(str(tmp_path / "saved_model.pb"))  # which raises nothing
        assert found is None or all(isinstance(names, set) for names in found)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff" * 100)
    assert saved_models.read_signature(str(tmp_path / "saved_model.pb")) != complete
