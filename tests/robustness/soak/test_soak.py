"""What the soak compares: it must find every difference but clock times and the checkpoints that SIGTERM moves."""

import numpy as np
import pytest
import tensorflow as tf

from tests.robustness.soak import __main__ as soak
from tests.robustness.soak import comparison, variants
from tests.robustness.soak.disturbing import Tally


def write(folder, steps=(10, 15), newest=None, loss=0.5, more=()):
    """A folder as a training run leaves it, whose checkpoints are of these steps; more: (path, bytes) beside them."""
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
    newest = newest or names[-1]
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{newest}"\n' + "".join(
        f'all_model_checkpoint_paths: "{name}"\n' for name in names) + f"last_preserved_timestamp: {id(folder)}.0\n")
    (folder / "training_log.csv").write_text("step,loss\n1,0.5\n")
    for path, content in more:
        (folder / path).write_bytes(content)
    return comparison.contents(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What two undisturbed runs leave, of which the second keeps all checkpoints."""
    folder = tmp_path_factory.mktemp("whole")
    return write(folder / "whole"), write(folder / "all", steps=(5, 10, 15))


@pytest.mark.parametrize(("left", "by_sigterm", "found"), [
    ({}, False, []),
    ({"steps": (12, 15)}, True, []),
    ({"steps": (12, 15)}, False, ["checkpoints: "]),
    ({"steps": (10, 12, 15)}, True, ["checkpoints: "]),  # one more than is kept
    ({"steps": (15, 16), "newest": "ckpt-15"}, True, ["checkpoints: "]),
    ({"newest": "ckpt-10"}, True, ["checkpoint: is another"]),
    ({"loss": 0.6}, False, ["events: is another"]),
    ({"more": [("training_log.csv", b"step,loss\n1,0.25\n")]}, False, ["training_log.csv: is another"]),
    ({"more": [("run.json", b"{}")]}, False, ["run.json: is there too"]),
    ({"more": [("ckpt-15.data-00000-of-00001", b"x")]}, False, [
        "ckpt-15.data-00000-of-00001: is another", "ckpt-15.data-00000-of-00001: is another than when it was saved"]),
    ({"more": [("ckpt-10.data-00000-of-00001", b"x")]}, True, [
        "ckpt-10.data-00000-of-00001: is another than when it was saved"]),
])
def test_what_differs(whole, tmp_path, left, by_sigterm, found):
    differences = list(comparison.differences(write(tmp_path / "run", **left), *whole, by_sigterm))
    assert len(differences) == len(found)
    assert all(map(str.startswith, differences, found)), differences


def test_a_file_that_is_gone(whole):
    after = {path: content for path, content in whole[0].items() if path != "training_log.csv"}
    assert list(comparison.differences(after, *whole, False)) == ["training_log.csv: is missing"]


def test_what_lies_there_at_a_kill(whole, tmp_path):
    now = write(tmp_path / "run", steps=(5, 7), more=[("ckpt-5.index", b""), ("checkpoint", b"nonsense")])
    assert sorted(comparison.half_written(now, whole[1])) == [
        "checkpoint: is damaged", "ckpt-5.index: is half-written"]
    assert not list(comparison.unstable(*whole))
    assert list(comparison.unstable({**whole[0], "loss.png": b""}, whole[1])) == [
        "loss.png: differs between undisturbed jobs"]


def test_a_killed_runs_last_event_may_be_cut(whole, tmp_path):
    write(tmp_path / "run")
    path, = (tmp_path / "run").glob("events.out*")
    path.write_bytes(path.read_bytes()[:-90])
    assert 0 < len(whole[0]["events"] - comparison.contents(tmp_path / "run")["events"]) <= 2


def test_its_table_is_written_as_it_grows(tmp_path, capsys):
    table = soak.Table(str(tmp_path / "table.md"))
    table.add("export", Tally(3, 2, 1))
    assert (tmp_path / "table.md").read_text().splitlines()[1:] == [
        "| --- | --- | --- | --- | --- | --- | --- | --- |", "| export | 3 | 2 | 1 | 0 | 0 | 0 | 0 |"]
    table.close("all was survived")
    assert (tmp_path / "table.md").read_text() == capsys.readouterr().out


def test_every_variant_is_killed_at_any_share():
    assert all(number >= 1 for kind in variants.KINDS for number in variants.kills_of(kind, 0.001).values())
    whole_size = {kind: sum(variants.kills_of(kind, 1).values()) for kind in variants.KINDS}
    assert whole_size["data creation"] >= 98
    assert whole_size["training"] >= 99


def test_a_checkpoint_of_sigterm_beside_all_others(tmp_path):
    all_saved = write(tmp_path / "all", steps=(10, 15))
    after = write(tmp_path / "run", steps=(10, 12, 15))
    assert list(comparison.differences(after, all_saved, all_saved, by_sigterm=True)) == []
    assert len(list(comparison.differences(after, all_saved, all_saved, by_sigterm=False))) == 1


def test_digits_that_tensorflow_draws_are_left_out(tmp_path):
    digits = [format(number, "032x").encode() for number in (7, 3 << 100)]
    found = []
    for number, name in enumerate((b"kernel_" + digits[0], b"kernel_" + digits[1], b"bias_" + digits[0])):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "saved_model.pb").write_bytes(name + b"\x00")
        found.append(comparison.contents(folder))
    assert found[0] == found[1] != found[2]
