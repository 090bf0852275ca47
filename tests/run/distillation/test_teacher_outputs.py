"""Outputs of a teacher that are saved for all epochs."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from run.techniques import teacher_outputs
from run.training import stored_rows

LENGTHS = [4, 1, 3, 4, 2]


@pytest.fixture
def saved_outputs(tmp_path):
    """Outputs [B, choices, ...] of multiple choice, and the path of their directory.

    They are written in another order.
    """
    rng = np.random.default_rng(5)
    outputs = {
        "logits": rng.normal(size=[5, 2]).astype(np.float32),
        # The shape is [B, choices, K, S, H].
        "hidden": rng.normal(size=[5, 2, 3, 4, 6]).astype(np.float16),
        "attention": rng.normal(size=[5, 2, 3, 2, 4, 4]).astype(np.float16),
    }
    parts = [
        (rows, {name: value[rows] for name, value in outputs.items()})
        for rows in ([3, 0, 2], [4, 1])
    ]
    path = stored_rows.find_subfolder(str(tmp_path / "answers"), [{"of": "one"}, {"data": 1}])
    teacher_outputs.write(
        path,
        {"teacher": {"of": "one"}},
        LENGTHS,
        parts,
        {"logits": (), "hidden": (-2,), "attention": (-2, -1)},
    )
    return outputs, path


def test_saved_outputs_are_the_teachers_except_for_rounding_and_padding(saved_outputs):
    outputs, path = saved_outputs
    kept = teacher_outputs.read(path, LENGTHS)
    rows = [2, 4, 2]  # Of at most 3 tokens.
    found = dict(zip(kept.entries, kept.look_up(rows, 3), strict=True))
    np.testing.assert_array_equal(found["logits"], outputs["logits"][rows])
    real = np.arange(3) < np.array(LENGTHS)[rows, np.newaxis]
    expected = outputs["hidden"][rows, :, :, :3] * real[:, np.newaxis, np.newaxis, :, np.newaxis]
    np.testing.assert_array_equal(found["hidden"], expected)
    both = (real[:, :, np.newaxis] & real[:, np.newaxis])[:, np.newaxis, np.newaxis, np.newaxis]
    np.testing.assert_array_equal(
        found["attention"], outputs["attention"][rows, ..., :3, :3] * both
    )
    features = {"input_ids": np.zeros([6, 4], np.int32), "row": np.array([0, 1, 2, 3, 4, 0])}
    batches = teacher_outputs.add_outputs(
        kept, tf.data.Dataset.from_tensor_slices(features).batch(3, drop_remainder=True), "row"
    )
    assert batches.element_spec["teacher_hidden"].shape == [3, 2, 3, 4, 6]


def test_another_teacher_or_other_data_have_another_directory(saved_outputs, tmp_path):
    folder = str(tmp_path / "answers")
    assert stored_rows.find_subfolder(folder, [{"of": "one"}, {"data": 1}]) == saved_outputs[1]
    assert stored_rows.find_subfolder(folder, [{"of": "one"}, {"data": 2}]) != saved_outputs[1]
    assert stored_rows.find_subfolder(folder, [{"of": "another"}, {"data": 1}]) != saved_outputs[1]


def test_damaged_outputs_are_rejected(saved_outputs):
    with open(f"{saved_outputs[1]}/hidden.bin", "wb") as file:
        file.write(b"cut")
    with pytest.raises(
        InputError, match=r"hidden.bin: is missing or corrupted; delete .* to query the teacher"
    ):
        teacher_outputs.read(saved_outputs[1], LENGTHS)
