"""Every script with an output locks it before its job is imported, so that a second process stops at once."""

import importlib
import os
import pathlib

import pytest

from bert_tf.cli import places
from bert_tf.cli.settings import Settings
from bert_tf.errors import InputError
from bert_tf.files import only_writer
from tests import scripts

FILES = (places.OUTPUT_FILE, places.OUTPUT_STREAM)
LOCKED = (*FILES, places.OUTPUT_FOLDER, places.SHARED_FOLDER)
# Scripts whose jobs lock their outputs: training runs, if they train; shards, by their manifest.
LOCKED_BY_JOBS = {"run_pretraining", "run_classifier", "run_squad", "run_tagger", "run_multiple_choice",
                  "run_distillation", "run_general_distillation", "prune_model", "create_pretraining_data"}
WITHOUT_OUTPUT = {"answer", "fill_mask", "nearest", "inspect_records"}


def find_outputs(settings):
    """Returns a list of (name, role) of the settings that are locked outputs, one for each role of a path."""
    return [(field.name, role) for field, _ in settings.fields()
            for role in (field.metadata["place"].values() if isinstance(field.metadata["place"], dict)
                         else [field.metadata["place"]]) if role in LOCKED]


def find_scripts():
    """Yields (name of a script, its Command)."""
    for path in sorted((*scripts.ROOT.glob("run/*.py"), *scripts.ROOT.glob("data_prep/*.py"))):
        command = getattr(importlib.import_module(f"{path.parent.name}.{path.stem}"), "COMMAND", None)
        if command is not None:
            yield path.stem, command


COMMANDS = dict(find_scripts())


@pytest.mark.parametrize("script", sorted({*COMMANDS} - LOCKED_BY_JOBS - WITHOUT_OUTPUT))
def test_an_output_that_another_process_writes(script, tmp_path, monkeypatch):
    command = COMMANDS[script]
    outputs = find_outputs(command.settings)
    assert outputs
    monkeypatch.setattr(command, "job", "tests.no_such_job")
    for name, role in outputs:
        path = tmp_path / name
        values = {name: str(path)} | ({"output_format": "projector"} if len(outputs) > 1 and role not in FILES else {})
        monkeypatch.setattr(command, "resolve", lambda argv, values=values: command.settings.with_values(values))
        with pytest.raises(ModuleNotFoundError):
            command.main([script])
        assert not path.exists()
        if role not in FILES:
            path.mkdir()
        with only_writer(name, str(path)), pytest.raises(InputError) as caught:
            command.main([script])
        assert str(caught.value) == (
            f"`{name}`={path}: process {os.getpid()} is writing there; wait for its end, or stop it")
        if role not in FILES:
            path.rmdir()
    assert list(tmp_path.iterdir()) == []


def test_the_lists_of_scripts_are_complete():
    for script in LOCKED_BY_JOBS | WITHOUT_OUTPUT:
        assert find_outputs(COMMANDS[script].settings) == []
    assert {name for name, command in COMMANDS.items() if any(
        field.metadata["place"] == places.RUN_FOLDER for field, _ in command.settings.fields())
            } == LOCKED_BY_JOBS - {"create_pretraining_data"}


def test_standard_output_has_no_lock():
    settings = COMMANDS["predict"].settings.with_values({"output_file": "-"})
    with places.lock_outputs(settings), places.lock_outputs(settings):
        assert not pathlib.Path(".-.lock").exists()


def test_a_job_without_paths_locks_nothing():
    with places.lock_outputs(Settings()):
        pass
