"""Every script keeps the names, types, and defaults of the flags in reference/script_flags.json."""

import importlib
import json

import pytest

from bert_tf.cli.settings import Settings
from tests import reference_page, scripts
from tests.conftest import REFERENCE

SCRIPTS = json.loads((REFERENCE / "script_flags.json").read_text(encoding="utf-8"))
ADDED_CHOICES = {("data_prep.create_pretraining_data", "runner"): {5: "dask"},  # Index -> choice.
                 ("run.export_saved_model", "format"): {1: "litert"}}
FIXED = ("type", "default", "lower_bound", "upper_bound", "enum_values")
FINE_TUNING = ("run.run_classifier", "run.run_squad", "run.run_tagger", "run.run_multiple_choice")


def describe_flags(script):
    """Returns a dict of the name of each flag of a script -> dict as in the file."""
    with scripts.defined(importlib.import_module("run.demo.__main__" if script == "run.demo" else script)) as flags:
        values = {name: {"type": flag.flag_type(), "default": flag.default, "help": flag.help,
                         **{bound: getattr(flag.parser, bound, None) for bound in FIXED[2:]}}
                  for name, flag in flags.items()}
    return json.loads(json.dumps(values))  # Tuples become lists, as in the file.


@pytest.mark.parametrize("script", SCRIPTS)
def test_flags_are_unchanged(script):
    flags = describe_flags(script)
    for name, expected in SCRIPTS[script].items():
        for place, choice in ADDED_CHOICES.get((script, name), {}).items():
            expected["enum_values"].insert(place, choice)
        assert {key: flags[name].get(key) for key in FIXED} == {key: expected.get(key) for key in FIXED}, name
    assert [name for name, flag in flags.items() if len(flag["help"].split()) < 2] == []


@pytest.mark.parametrize("script", FINE_TUNING)
def test_fine_tuning_has_the_optimizer_flags_of_pretraining(script):
    flags = describe_flags(script)
    for name in ("optimizer", "weight_decay_rate", "clip_norm"):
        assert flags[name]["default"] == SCRIPTS["run.run_pretraining"][name]["default"]


@pytest.mark.parametrize(("script", "flag"), [
    ("run.prune_model", "replacing_rate"), ("run.prune_model", "replacing_proportion"),
    ("run.run_general_distillation", "replacing_rate"), ("run.evaluate_models", "train_file")])
def test_a_flag_that_a_script_would_reject_or_ignore_does_not_exist(script, flag):
    assert flag not in describe_flags(script)


def test_rules_name_settings_of_some_script():
    """Settings outside of a class, which not all scripts have; the class itself checks all others."""
    modules = reference_page.find_scripts().values()
    known = {name for module in modules if hasattr(module, "COMMAND") for name in module.COMMAND.settings.values()}
    classes = {Settings}
    while more := {each for one in classes for each in one.__subclasses__()} - classes:
        classes |= more
    names = {name for each in classes for name in each.outer_settings
             if each.__module__.startswith(("bert_tf.", "data_prep.", "run."))}
    assert names - known == set()
