"""Every script keeps the names, types and defaults that its flags have had: reference/script_flags.json."""

import importlib
import json

import pytest
from absl import flags

from tests.conftest import REFERENCE

SCRIPTS = json.loads((REFERENCE / "script_flags.json").read_text(encoding="utf-8"))
ADDED_CHOICES = {("run.export_saved_model", "format"): {1: "litert"},  # place among the choices, choice
                 ("run.extract_features", "output_format"): {3: "projector"}}
KEPT = ("type", "default", "lower_bound", "upper_bound", "enum_values")


def flags_of(script):
    """The flags that a script defines, dict of name -> dict as in the file; none are left defined."""
    module = importlib.import_module("run.demo.__main__" if script == "run.demo" else script)
    before = set(flags.FLAGS)
    getattr(module, "COMMAND", module).define_flags()
    defined = {}
    for name in set(flags.FLAGS) - before:
        flag = flags.FLAGS[name]
        values = {"type": flag.flag_type(), "default": flag.default, "help": flag.help}
        values |= {bound: getattr(flag.parser, bound, None) for bound in KEPT[2:]}
        defined[name] = json.loads(json.dumps(values))  # tuples become lists, as in the file
        delattr(flags.FLAGS, name)
    return defined


@pytest.mark.parametrize("script", SCRIPTS)
def test_flags_are_kept(script):
    now = flags_of(script)
    for name, before in SCRIPTS[script].items():
        assert name in now
        for place, choice in ADDED_CHOICES.get((script, name), {}).items():
            before = {**before, "enum_values": [*before["enum_values"][:place], choice, *before["enum_values"][place:]]}
        assert {key: now[name].get(key) for key in KEPT} == {key: before.get(key) for key in KEPT}, name


@pytest.mark.parametrize("script", ["run.run_classifier", "run.run_squad", "run.run_tagger", "run.run_multiple_choice"])
def test_fine_tuning_has_the_optimizer_flags_of_pretraining(script):
    flags_of_pretraining, flags_of_script = SCRIPTS["run.run_pretraining"], flags_of(script)
    for name in ("optimizer", "weight_decay_rate", "no_weight_decay", "clip_norm", "decay_power"):
        assert flags_of_script[name]["default"] == flags_of_pretraining[name]["default"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_flag_has_help(script):
    assert [name for name, flag in flags_of(script).items() if len(flag["help"].split()) < 2] == []


@pytest.mark.parametrize("script", ["run.run_classifier", "run.run_squad", "run.run_tagger", "run.run_multiple_choice"])
def test_only_scripts_that_can_pack_have_the_flag(script):
    assert ("pack_sequences" in flags_of(script)) == (script in ("run.run_classifier", "run.run_tagger"))


@pytest.mark.parametrize(("script", "flag"), [
    ("run.prune_model", "replacing_rate"), ("run.prune_model", "replacing_proportion"),
    ("run.run_general_distillation", "replacing_rate"), ("run.measure_quantization", "train_file")])
def test_a_flag_that_a_script_would_reject_or_ignore_does_not_exist(script, flag):
    assert flag not in flags_of(script)
