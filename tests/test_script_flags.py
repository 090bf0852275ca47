"""The scripts keep the flags of the original BERT and their defaults.

Rules name settings that exist.
"""

import importlib
import json

import pytest

from bert_tf.cli.settings import Settings
from tests import reference_page, scripts
from tests.conftest import REFERENCE

# Script -> flag -> default.
ORIGINAL = json.loads((REFERENCE / "original_flags.json").read_text(encoding="utf-8"))
COMPUTED = {"dupe_factor": None}  # 10, or 1 for records without masks.


def describe_flags(script):
    """Returns a dict of the name of each flag of a script -> dict."""
    with scripts.defined(
        importlib.import_module("run.demo.__main__" if script == "run.demo" else script)
    ) as flags:
        return {name: {"default": flag.default, "help": flag.help} for name, flag in flags.items()}


@pytest.mark.parametrize("name", ORIGINAL)
def test_the_flags_of_the_original_are_unchanged(name):
    package = "data_prep" if name == "create_pretraining_data" else "run"
    flags = describe_flags(f"{package}.{name}")
    expected = {flag: COMPUTED.get(flag, default) for flag, default in ORIGINAL[name].items()}
    assert {flag: flags[flag]["default"] for flag in ORIGINAL[name]} == expected


@pytest.mark.parametrize("script", reference_page.find_scripts())
def test_every_flag_has_a_help_text(script):
    assert [
        name for name, flag in describe_flags(script).items() if len(flag["help"].split()) < 2
    ] == []


def test_rules_name_settings_of_some_script():
    """Rules can name settings of other classes, which not all scripts have.

    The class itself checks all other names.
    """
    modules = reference_page.find_scripts().values()
    known = {
        name
        for module in modules
        if hasattr(module, "COMMAND")
        for name in module.COMMAND.settings.values()
    }
    classes = {Settings}
    while more := {each for one in classes for each in one.__subclasses__()} - classes:
        classes |= more
    names = {
        name
        for each in classes
        for name in each.outer_settings
        if each.__module__.startswith(("bert_tf.", "data_prep.", "run."))
    }
    assert names - known == set()
