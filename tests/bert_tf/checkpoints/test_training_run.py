import os

import pytest

from bert_tf.checkpoints.training_run import find_latest_checkpoint, list_checkpoints
from tests.errors import rejects

COMPLETE = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"  # The last bytes of an index.
NAMED = (
    'model_checkpoint_path: "{}"\n'
    'all_model_checkpoint_paths: "ckpt-5"\n'
    "last_preserved_timestamp: 1.5\n"
)


def fill(folder, *prefixes, state=None, incomplete=()):
    """Writes index files and, if `state` is not None, the file `checkpoint`.

    Returns the directory, str.
    """
    if prefixes:
        folder.mkdir(exist_ok=True)
    for prefix in prefixes:
        (folder / f"{prefix}.index").write_bytes(
            b"" if prefix in incomplete else b"table" + COMPLETE
        )
    if state is not None:
        (folder / "checkpoint").write_text(state)
    return str(folder)


@pytest.mark.parametrize(
    ("prefixes", "state", "found"),
    [
        (("ckpt-5", "ckpt-10", "ckpt-20"), NAMED.format("ckpt-10"), "ckpt-10"),
        (("ckpt-5", "ckpt-10", "ckpt-9"), None, "ckpt-10"),
        (("ckpt-5", "ckpt-10"), NAMED.format("ckpt-20"), "ckpt-10"),
        (
            ("model.ckpt-1000000",),
            NAMED.format("/elsewhere/model.ckpt-1000000"),
            "model.ckpt-1000000",
        ),
        (
            ("model.ckpt-1000000",),
            NAMED.format(r"/m\303\274ller/model.ckpt-1000000"),
            "model.ckpt-1000000",
        ),
        (("biobert_model.ckpt",), None, "biobert_model.ckpt"),
        (("bert_model.ckpt", "ckpt_3"), NAMED.format("ckpt-3"), None),
        ((), None, None),  # The directory does not exist.
    ],
)
def test_the_named_checkpoint_or_the_one_with_the_highest_step(tmp_path, prefixes, state, found):
    folder = fill(tmp_path / "run", *prefixes, state=state)
    assert find_latest_checkpoint(folder) == (found and os.path.join(folder, found))


def test_an_absolute_path_in_the_file(tmp_path):
    folder = fill(
        tmp_path / "run", "ckpt-3", "ckpt-4", state=NAMED.format(tmp_path / "run" / "ckpt-3")
    )
    assert find_latest_checkpoint(folder) == f"{folder}/ckpt-3"


def test_checkpoints_that_are_not_completely_saved_are_skipped_unless_they_are_named(tmp_path):
    folder = fill(tmp_path / "run", "ckpt-5", "ckpt-10", incomplete=["ckpt-10"])
    assert find_latest_checkpoint(folder) == f"{folder}/ckpt-5"
    assert list_checkpoints(folder) == [f"{folder}/ckpt-5", f"{folder}/ckpt-10"]
    fill(tmp_path / "run", state=NAMED.format("ckpt-10"))
    assert find_latest_checkpoint(folder) == f"{folder}/ckpt-10"


def test_checkpoints_with_a_name(tmp_path):
    folder = fill(tmp_path / "run", "ckpt-5", "model.ckpt-10", "ckpt-ckpt-20")
    assert find_latest_checkpoint(folder) == f"{folder}/ckpt-ckpt-20"
    assert find_latest_checkpoint(folder, "ckpt") == f"{folder}/ckpt-5"
    assert list_checkpoints(folder, "ckpt") == [f"{folder}/ckpt-5"]
    assert find_latest_checkpoint(folder, "weights") is None


@pytest.mark.parametrize(
    "state", ["", 'all_model_checkpoint_paths: "ckpt-5"\n', 'model_checkpoint_path: "ckpt-']
)
def test_a_corrupted_file(tmp_path, state):
    folder = fill(tmp_path / "run", "ckpt-5", state=state)
    with rejects(f"{folder}/checkpoint", "is corrupted", "delete the file", "the highest step"):
        find_latest_checkpoint(folder)
