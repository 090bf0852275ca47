"""The text of --help: required flags first, groups, and what only --helpfull shows."""

import dataclasses
import re

import pytest

from bert_tf.cli import usage
from bert_tf.cli.settings import Settings, setting
from tests import reference_page


@dataclasses.dataclass(frozen=True)
class Rare(Settings):
    """Rare things. Nobody needs them."""

    rare = True

    odd: int = setting(3, "Number of odd things.")
    path: str | None = setting(None, "Path of the output. It must not exist.", required=True)


@dataclasses.dataclass(frozen=True)
class Toys(Settings):
    """Settings for toys, which are small."""

    rare_group: Rare = dataclasses.field(default_factory=Rare)
    use: bool = setting(True, "Use `kind` toys, e.g. blocks. Otherwise none.")
    kind: str = setting("block", "Kind of toys.", choices=("block", "ball"), rare=True)


def test_required_flags_come_first_and_rare_ones_are_not_shown():
    assert usage.write_help("Plays.\n\n  play --path=x\n", Toys()) == "\n".join([
        "Plays.", "", "  play --path=x", "", "Required:", "  --path: Path of the output", "",
        "Toys:", "  --[no]use: Use --kind toys, e.g. blocks", "", usage.MORE])


def test_everything_is_in_the_full_help():
    assert usage.write_help("Plays.", Toys(), only=("use", "kind", "odd"), is_full=True) == "\n".join([
        "Plays.", "", "Toys:", "  --[no]use: Use --kind toys, e.g. blocks. Otherwise none",
        "  --kind: Kind of toys. One of block, ball (block)", "", "Rare things:", "  --odd: Number of odd things (3)",
        "", usage.MORE])


@pytest.mark.parametrize("name", ["run.run_classifier", "run.run_squad", "run.run_tagger", "run.run_pretraining"])
def test_the_help_of_a_script_is_short(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    module = reference_page.find_scripts()[name]
    text = usage.write_help(module.__doc__, module.COMMAND.settings, module.COMMAND.only)
    assert len(text.splitlines()) <= 90
    assert max(map(len, text.splitlines())) <= 120
    assert re.search(r"^Required:\n(  --.*\n(      .*\n)*)*  --output_dir: ", text, re.MULTILINE)
