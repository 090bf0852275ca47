"""The comparison of the soak finds every difference, except clock times and the checkpoints of SIGTERM."""

import numpy as np
import pytest
import tensorflow as tf

from tests.robustness.soak import comparison, variants

pytestmark = pytest.mark.extra_large


def write(folder, steps=(10, 15), latest=None, loss=0.5, more=()):
    """Writes files like a training run with checkpoints at these steps; returns their contents.

    `more` are additional pairs of path and bytes.
    """
    folder.mkdir()
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        for step in range(1, 16):
            tf.summary.scalar("loss", loss / step, step)
            tf.summary.scalar("tokens_per_second", np.random.default_rng().random(), step)
    writer.close()
    names = [f"ckpt-{step}" for step in steps]
    for name in names:
        tf.train.Checkpoint(weight=tf.Variable(float(name.removeprefix("ckpt-")))).write(str(folder / name))
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{latest or names[-1]}"\n' + "".join(
        f'all_model_checkpoint_paths: "{name}"\n' for name in names) + f"last_preserved_timestamp: {id(folder)}.0\n")
    (folder / "training_log.csv").write_text("step,loss\n1,0.5\n")
    for path, content in more:
        (folder / path).write_bytes(content)
    return comparison.read_contents(folder)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Contents of two undisturbed runs. The second one keeps all checkpoints."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return write(folder / "undisturbed"), write(folder / "all", steps=(5, 10, 15))


@pytest.mark.parametrize(("changes", "expected", "expected_after_sigterm"), [
    ({}, [], []),
    ({"steps": (12, 15)}, ["ckpt-10.data", "ckpt-10.index", "ckpt-12.data", "ckpt-12.index"], []),
    ({"steps": (15, 16), "latest": "ckpt-15"}, ["ckpt-10.data", "ckpt-10.index", "ckpt-16.data", "ckpt-16.index"], []),
    ({"latest": "ckpt-10"}, ["checkpoint: is different"], ["checkpoint: is different"]),
    ({"loss": 0.6}, ["events: is different"], ["events: is different"]),
    *(({"more": [(name, b"x")]}, [f"{name}: is {difference}"], [f"{name}: is {difference}"]) for name, difference in (
        ("training_log.csv", "different"), ("run.json", "missing or additional"),
        ("ckpt-15.data-00000-of-00001", "different"))),
])
def test_differences(undisturbed, tmp_path, changes, expected, expected_after_sigterm):
    now = write(tmp_path / "run", **changes)
    for ignores_older, lines in ((False, expected), (True, expected_after_sigterm)):
        found = list(comparison.find_differences(now, undisturbed[0], ignores_older))
        assert len(found) == len(lines)
        assert all(map(str.startswith, found, lines)), found


def test_half_written_files(undisturbed, tmp_path):
    now = write(tmp_path / "run", steps=(5, 7), more=[("ckpt-5.index", b""), ("checkpoint", b"nonsense")])
    assert sorted(comparison.find_half_written(now, undisturbed[1])) == [
        "checkpoint: is damaged", "ckpt-5.index: is half-written"]


def test_every_variant_is_killed_at_any_size():
    for kind in variants.KINDS:
        assert min(variants.plan_kills(kind, 0.001).values()) >= 1
