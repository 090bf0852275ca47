"""Every script with an output locks it before it imports its job.

A second process stops immediately.
"""

import os

import pytest

from bert_tf.cli import roles
from bert_tf.errors import InputError
from bert_tf.files import lock_output
from tests import reference_page

LOCKED = (roles.OUTPUT_FILE, roles.OUTPUT_FOLDER, roles.SHARED_FOLDER)
COMMANDS = {
    name: module.COMMAND
    for name, module in reference_page.find_scripts().items()
    if name != "run.demo"
}
# Scripts whose jobs lock their outputs: training runs, if they train, and records.
LOCKED_BY_JOBS = {
    "run.run_pretraining",
    "run.run_classifier",
    "run.run_squad",
    "run.run_tagger",
    "run.run_multiple_choice",
    "run.run_feature_based",
    "run.run_distillation",
    "run.run_general_distillation",
    "run.prune_model",
    "data_prep.create_pretraining_data",
}
WITHOUT_OUTPUT = {"run.answer", "run.fill_mask", "data_prep.inspect_records"}


def find_outputs(settings):
    """Returns a list of (name, role) of the settings that are locked outputs."""
    return [
        (field.name, field.metadata["role"])
        for field, _ in settings.fields()
        if field.metadata["role"] in LOCKED
    ]


@pytest.mark.parametrize("script", sorted({*COMMANDS} - LOCKED_BY_JOBS - WITHOUT_OUTPUT))
def test_output_of_another_process(script, tmp_path, monkeypatch):
    command = COMMANDS[script]
    outputs = find_outputs(command.settings)
    assert outputs
    monkeypatch.setattr(command, "job", "tests.no_such_job")
    for name, role in outputs:
        path = tmp_path / name
        values = {name: str(path)}
        monkeypatch.setattr(
            command, "resolve", lambda argv, values=values: command.settings.replace_values(values)
        )
        with pytest.raises(ModuleNotFoundError):
            command.main([script])
        assert not path.exists()
        if role != roles.OUTPUT_FILE:
            path.mkdir()
        message = f"^`{name}`={path}: .*process {os.getpid()}"
        with lock_output(name, str(path)), pytest.raises(InputError, match=message):
            command.main([script])
        if role != roles.OUTPUT_FILE:
            path.rmdir()
    assert list(tmp_path.iterdir()) == []


def test_lists_of_scripts_are_complete():
    for script in LOCKED_BY_JOBS | WITHOUT_OUTPUT:
        assert find_outputs(COMMANDS[script].settings) == []
    assert {
        name
        for name, command in COMMANDS.items()
        if any(field.metadata["role"] == roles.RUN_FOLDER for field, _ in command.settings.fields())
    } == LOCKED_BY_JOBS - {"data_prep.create_pretraining_data"}
