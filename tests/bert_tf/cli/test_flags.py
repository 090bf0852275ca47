"""Flags that are defined from settings, and settings that are read from flags."""

import dataclasses

import pytest
from absl import flags as absl_flags

from bert_tf.cli import flags
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class Toy(Settings):
    toy_count: int = setting(3, "Number of `toy_kind` toys.", lower=1, upper=9)
    toy_limit: int | None = setting(None, "Limit.", lower=0)
    toy_rate: float = setting(0.5, "Rate.", lower=0.0, upper=1.0)
    toy_name: str | None = setting(None, "Name.")
    toy_kind: str = setting("plain", "Kind.", choices=("plain", "fancy"))
    toy_on: bool = setting(False, "Switch.")
    toy_patterns: tuple[str, ...] = setting(("a", "b"), "Patterns.")
    toy_sizes: tuple[int, ...] = setting((16, 32), "Sizes.", lower=1, upper=99)
    toy_rates: tuple[float, ...] = setting((5e-5, 2.0), "Rates.", lower=0)


@dataclasses.dataclass(frozen=True)
class Chest(Settings):
    chest_size: int = setting(2, "Toys.", lower=1)
    toy: Toy = dataclasses.field(default_factory=lambda: Toy(toy_count=7))

    def check(self):
        if self.toy.toy_count < self.chest_size:
            raise InputError("`toy_count` is below `chest_size`")


NAMES = [field.name for each in (Toy, Chest) for field in dataclasses.fields(each) if field.name != "toy"]


@pytest.fixture
def parse():
    """(settings, *arguments, only=None) -> the settings that are read from the parsed flags."""
    def define_and_read(settings, *arguments, only=None):
        flags.define(settings, only)
        absl_flags.FLAGS(["toy.py", *arguments])
        return flags.read(settings)

    yield define_and_read
    for name in NAMES:
        if name in absl_flags.FLAGS:
            delattr(absl_flags.FLAGS, name)


def test_defaults_are_those_of_the_object(parse):
    assert parse(Chest()) == Chest()  # whose toy_count is not the default of its class
    assert not set(flags.get_explicit()) & set(NAMES)
    assert absl_flags.FLAGS["toy_count"].help == "Number of --toy_kind toys."


def test_values_have_the_types_of_their_fields(parse):
    settings = parse(Chest(), "--chest_size=1", "--toy_count=9", "--toy_limit=0", "--toy_rate=1", "--toy_name=é",
                     "--toy_kind=fancy", "--toy_on", "--toy_patterns=x,y,z", "--toy_sizes=8, 99", "--toy_rates=1,3e-5")
    assert settings == Chest(1, Toy(9, 0, 1.0, "é", "fancy", True, ("x", "y", "z"), (8, 99), (1.0, 3e-5)))
    assert isinstance(settings.toy.toy_rate, float)
    assert [type(value) for value in (*settings.toy.toy_sizes, *settings.toy.toy_rates)] == [int, int, float, float]
    absl_flags.FLAGS(["toy.py", "--toy_patterns="])
    assert flags.read(Toy()).toy_patterns == ()


def test_explicit_flags(parse):
    parse(Toy(), "--toy_count=3", "--notoy_on")
    assert {name: value for name, value in flags.get_explicit().items() if name in NAMES} == {
        "toy_count": 3, "toy_on": False}


@pytest.mark.parametrize("argument", ["--toy_count=10", "--toy_count=x", "--toy_rate=1.5", "--toy_kind=odd",
                                      "--toy_on=maybe", "--toy_sizes=16,x", "--toy_rates=1,-2"])
def test_flags_have_the_bounds_and_choices_of_their_fields(parse, argument):
    name, value = argument.removeprefix("--").split("=")
    with pytest.raises(absl_flags.IllegalFlagValueError, match=f"^flag --{name}={value}: "):
        parse(Toy(), argument)


def test_settings_are_checked_when_they_are_read(parse):
    with pytest.raises(InputError, match="`toy_count` is below `chest_size`"):
        parse(Chest(), "--chest_size=8")


def test_a_subset_of_the_fields(parse):
    settings = parse(Chest(toy=Toy(toy_count=5)), "--toy_name=x", only=("toy_name", "chest_size"))
    assert settings == Chest(toy=Toy(toy_count=5, toy_name="x"))
    assert [name for name in NAMES if name in absl_flags.FLAGS] == ["toy_name", "chest_size"]
