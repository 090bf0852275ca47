"""LiteRTModel without graphs: metadata, corrupted files, and batches of rows of any lengths."""

import functools
import zipfile

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.serving import buckets, litert_metadata
from bert_tf.serving.buckets import CALL, plan
from bert_tf.serving.litert import LiteRTModel
from bert_tf.tasks.metadata import TaskMetadata
from tests.errors import rejects
from tests.toy_servables import PIECES

GRAPHS = bytes(range(256)) * 4
ENCODER = TaskMetadata("encoder", 4, False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.tflite"


def test_metadata_is_read(path):
    metadata = TaskMetadata("classifier", 4, False, labels=("\u00e4", "b"))
    pieces = ["\u4e2d", "a"]
    path.write_bytes(litert_metadata.append(GRAPHS, metadata, pieces))
    with zipfile.ZipFile(path) as archive:
        assert archive.read("task.json").decode() == metadata.to_json()
    assert path.read_bytes().startswith(GRAPHS)
    assert litert_metadata.read(path) == (metadata, pieces, ())


def test_a_file_without_graphs(path):
    path.write_bytes(litert_metadata.append(b"no graphs", ENCODER, PIECES.split()))
    with pytest.raises(InputError, match=r"m\.tflite: is not a LiteRT model: "):
        LiteRTModel(str(path))


@pytest.mark.parametrize("offset", [0, 400])
def test_corrupted_graphs_are_not_opened(path, offset, monkeypatch):
    """LiteRT would end the process."""
    content = bytearray(litert_metadata.append(GRAPHS, ENCODER, PIECES.split()))
    content[offset] ^= 1
    path.write_bytes(content)
    monkeypatch.setattr(
        buckets, "open_graphs", lambda *arguments: pytest.fail("it must not be opened")
    )
    with rejects("m.tflite", "is corrupted", "do not match their checksum", "copy or"):
        LiteRTModel(str(path))


def test_no_other_batches_cost_less():
    assert plan([], {16: [1, 8]}) == []
    generator = np.random.default_rng(3)
    sizes = {4: [1, 3], 7: [1, 3], 20: [1, 3]}

    @functools.cache
    def least(lengths):  # of all ways to cut, by trying each
        bucket = next((each for each in sizes if lengths and each >= lengths[-1]), 0)
        return min(
            (
                size * bucket + CALL + least(lengths[:-taken])
                for size in sizes.get(bucket, ())
                for taken in range(1, min(size, len(lengths)) + 1)
            ),
            default=0,
        )

    for count in range(1, 12):
        lengths = sorted(generator.integers(1, 21, count).tolist())
        batches = plan(lengths, sizes)
        cost = sum(batch.size * batch.length + CALL for batch in batches)
        assert cost == least(tuple(lengths))
        assert [batch.start for batch in batches] == [0, *(batch.end for batch in batches[:-1])]
        assert batches[-1].end == count
        assert all(
            batch.length >= lengths[batch.end - 1] and batch.size >= batch.end - batch.start
            for batch in batches
        )
