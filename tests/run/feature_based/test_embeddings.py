"""Saved embeddings: written atomically in any order of rows, read by row, named after the data."""

import os

import numpy as np
import pytest

from bert_tf.errors import InputError
from run.feature_based import embeddings
from run.training import stored_rows
from run.training.batches import take_rows
from tests import remote_folders

LAYERS = (0, 2)
WIDTH = 3
# Words per row: the same seven words, divided in two ways.
ENCODER_LENGTHS = [2, 4, 1]
OF_TAGGER = [3, 3, 1]
METADATA = {"encoder": "e", "data": "d"}


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(1).normal(size=[7, 2, WIDTH]).astype(np.float16)


def parts(values):
    """Yields the rows of the encoder in the order of their lengths, as a predictor does."""
    for rows, vectors in (([2, 0], [values[6:], values[:2]]), ([1], [values[2:6]])):
        yield (
            rows,
            {
                f"layer_{layer}": [each[:, number] for each in vectors]
                for number, layer in enumerate(LAYERS)
            },
        )


def write(path, parts):
    """Writes embeddings; returns the path."""
    stored_rows.write(
        path, METADATA, embeddings.make_entries(LAYERS, WIDTH), ENCODER_LENGTHS, parts
    )
    return path


@pytest.fixture
def stored_path(tmp_path, values):
    return write(stored_rows.find_subfolder(str(tmp_path / "vectors"), METADATA), parts(values))


def test_rows_are_read_on_demand(stored_path, values):
    assert sorted(os.listdir(stored_path)) == ["layer_0.bin", "layer_2.bin", "values.json"]
    kept = embeddings.read(stored_path, LAYERS, OF_TAGGER, WIDTH)
    assert kept.shape == (3, 3, 2, WIDTH)
    found = kept.read(np.array([2, 1]), 4)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found[0, 0], values[6])
    np.testing.assert_array_equal(found[1, :3], values[3:6])
    assert not found[0, 1:].any()
    assert not found[1, 3:].any()
    mask = (np.arange(5) < np.array(OF_TAGGER)[:, np.newaxis]).astype(np.int32)
    taken = take_rows(
        {"input_mask": mask, "vectors": embeddings.read(stored_path, (2,), OF_TAGGER, WIDTH)},
        [0, 2],
    )
    np.testing.assert_array_equal(taken["vectors"][0, :, 0], values[:3, 1])
    assert taken["vectors"].shape == (2, 3, 1, WIDTH)


def test_a_remote_folder_whose_upload_was_interrupted(values):
    path = stored_rows.find_subfolder(remote_folders.new_folder(), METADATA)
    remote_folders.put(f"{path}/layer_0.bin", b"half")
    assert not stored_rows.is_complete(path)
    write(path, parts(values))
    assert stored_rows.is_complete(path)
    found = embeddings.read(path, (2,), OF_TAGGER, WIDTH).read(np.array([1]), 3)
    np.testing.assert_array_equal(found[0, :, 0], values[3:6, 1])


def test_an_interrupted_writer_leaves_no_vectors(tmp_path, values):
    def stopped():
        yield next(parts(values))
        raise KeyboardInterrupt

    path = str(tmp_path / "vectors")
    with pytest.raises(KeyboardInterrupt):
        write(path, stopped())
    assert not os.listdir(tmp_path)


def test_files_that_are_damaged_or_of_other_data(stored_path):
    with pytest.raises(InputError, match=r"layer_2\.bin: is missing or corrupted; "):
        embeddings.read(stored_path, (2,), [3, 3], WIDTH)
    with open(os.path.join(stored_path, "layer_0.bin"), "r+b") as file:
        file.truncate(10)
    with pytest.raises(
        InputError, match=r"layer_0\.bin: is missing or corrupted; delete .* to compute the "
    ):
        embeddings.read(stored_path, LAYERS, OF_TAGGER, WIDTH)
