"""RunState: resuming, changed settings, finished parts, and fingerprints of files."""

import dataclasses
import json
from typing import ClassVar

import pytest

from bert_tf.cli import roles, run_state
from bert_tf.cli.run_state import RunState, snapshot
from bert_tf.cli.settings import Settings, setting
from run.feature_based.settings import FeatureBasedSettings
from run.pruning.settings import PruneModelSettings
from tests.errors import rejects


def test_resumed_runs_must_have_the_initial_settings(tmp_path):
    folder = str(tmp_path / "out")
    state = RunState(folder, {"train_batch_size": 6, "layers": (1, 2)})
    assert not (tmp_path / "out").exists()  # Comparing writes nothing.
    state.begin()
    # Without a checkpoint, a new run replaces it.
    RunState(folder, {"train_batch_size": 7, "layers": (1, 2)}).begin()
    (tmp_path / "out" / "checkpoint").touch()
    with rejects(
        "output_dir", "contains a run without `added_later`", "choose another `output_dir`"
    ):
        RunState(folder, {"train_batch_size": 7, "layers": (1, 2), "added_later": "static"})
    with rejects(
        "output_dir",
        "contains a run with `train_batch_size` 7",
        "not 8",
        "choose another `output_dir`",
    ):
        RunState(folder, {"train_batch_size": 8, "layers": (1,)})
    assert (tmp_path / "out" / "run.json").read_text() == json.dumps(
        {"train_batch_size": 7, "layers": [1, 2]}, indent=2
    ) + "\n"
    # Another process began the run.
    with rejects(None, "a run with `train_batch_size` 7", "not 6"):
        state.begin()


def test_changed_settings_are_reported(tmp_path, capsys):
    before = {"learning_rate": 0.25, "no_weight_decay": ("a", "b"), "num_train_steps": 9}
    now = {**before, "learning_rate": 0.5, "no_weight_decay": ("a",), "added_later": 1}

    def begin(settings):
        RunState(str(tmp_path), {"train_batch_size": 7, "changeable": settings}).begin()
        return capsys.readouterr().out

    assert begin(now) == begin(before) == ""  # Without a checkpoint: a new run.
    (tmp_path / "checkpoint").touch()
    assert begin(before) == ""
    changes = (
        "resumes with changed settings: "
        "`learning_rate` 0.5 (was 0.25), `no_weight_decay` a (was a,b)"
    )
    assert begin(now) == f"{tmp_path}: {changes}\n"
    assert begin(now) == ""  # Reported once.
    assert "resumes with changed settings: `learning_rate` 0.25 (was 0.5)" in begin(before)


def test_finished_parts(tmp_path):
    state = RunState(str(tmp_path), {"rounds": 2}, name="prune.json", must_be_empty=True)
    assert state.result("heads") is None
    state.finish("heads", [3])
    state.finish("scores", {"1": 0.5})
    state.finish("scores", {"1": 0.5, "2": 0.25})
    again = RunState(str(tmp_path), {"rounds": 2}, name="prune.json", must_be_empty=True)
    assert again.is_resumed
    assert (again.result("heads"), again.result("scores")) == ([3], {"1": 0.5, "2": 0.25})
    assert list(json.loads((tmp_path / "prune.json").read_text())) == ["rounds", "heads", "scores"]
    with rejects(None, "contains a run with `rounds` 2", "not 3"):
        RunState(str(tmp_path), {"rounds": 3}, name="prune.json", must_be_empty=True)
    with rejects(None, "is not empty", "has no other.json to resume", "choose another directory"):
        RunState(str(tmp_path), {"rounds": 3}, name="other.json", must_be_empty=True)


@dataclasses.dataclass(frozen=True)
class JobSettings(Settings):
    batch: int = setting(7, "")
    vocab_file: str | None = setting("a", "", role=roles.INPUT_FILE)
    rate: float = setting(0.1, "", changeable=True)


def test_a_snapshot_contains_all_settings_except_paths():
    assert snapshot(JobSettings()) == {"batch": 7, "changeable": {"rate": 0.1}}


@dataclasses.dataclass(frozen=True)
class FixedJobSettings(Settings):
    fixed_groups: ClassVar = ("job",)

    job: JobSettings = dataclasses.field(default_factory=JobSettings)


def test_settings_of_fixed_groups_are_not_changeable():
    assert snapshot(FixedJobSettings()) == {"batch": 7, "rate": 0.1}


@pytest.mark.parametrize("settings_class", [PruneModelSettings, FeatureBasedSettings])
def test_finished_parts_of_a_job_keep_the_schedule(settings_class):
    values = snapshot(settings_class())
    names = {"learning_rate", "num_train_epochs", "warmup_proportion", "mixed_precision"}
    assert names <= values.keys()
    assert not names & values.get("changeable", {}).keys()


def test_fingerprints_depend_on_names_sizes_and_contents(tmp_path):
    for name in ("a/1", "a/2", "b/1", "b/2"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * int(name[-1]))
    first = run_state.fingerprint([str(tmp_path / "a" / "1"), str(tmp_path / "a" / "2")])
    assert (first["files"], first["bytes"]) == (2, 3)
    assert first == run_state.fingerprint([str(tmp_path / "b" / "1"), str(tmp_path / "b" / "2")])
    assert first != run_state.fingerprint([str(tmp_path / "b" / "2"), str(tmp_path / "b" / "1")])
    (tmp_path / "b" / "2").write_bytes(b"xy")
    assert first != run_state.fingerprint([str(tmp_path / "b" / "1"), str(tmp_path / "b" / "2")])


def test_fingerprints_contain_the_beginning_of_large_files(tmp_path, monkeypatch):
    monkeypatch.setattr(run_state, "SAMPLE_BYTES", 1000)
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    (tmp_path / "a").write_bytes(bytes(600))
    (tmp_path / "b").write_bytes(bytes(600))
    first = run_state.fingerprint(paths)
    complete = run_state.fingerprint(paths, is_complete=True)
    for index, is_seen in ((0, True), (399, True), (400, False)):
        content = bytearray(600)
        content[index] = 1
        (tmp_path / "b").write_bytes(content)
        assert (run_state.fingerprint(paths) != first) == is_seen
        assert run_state.fingerprint(paths, is_complete=True) != complete
