"""Settings: bounds, choices, rules, groups, their flags, and the text of --help."""

import dataclasses
import math
import re
from typing import ClassVar

import pytest
from absl import flags as absl_flags

from bert_tf.cli import flags, usage
from bert_tf.cli.rules import Needs, NotWith, Required, any_of, describe_rules, equals
from bert_tf.cli.settings import MAX_SEED, Settings, adapt, check_rules, setting
from bert_tf.errors import InputError
from tests import reference_page
from tests.errors import Message, raises_message, rejects


@dataclasses.dataclass(frozen=True)
class Toy(Settings):
    toy_count: int = setting(3, "Number of `toy_kind` toys.", min_value=1, max_value=9)
    toy_rate: float | None = setting(None, "Rate.", min_value=0.0)
    toy_shift: float = setting(0.0, "Shift.")
    toy_steps: int = setting(7, "Steps.")
    toy_seed: int = setting(7, "Seed.", max_magnitude=MAX_SEED)
    toy_kind: str = setting("plain", "Kind.", choices=("plain", "fancy"))
    toy_name: str | None = setting(None, "Name.")
    toy_on: bool = setting(False, "Switch.")
    toy_patterns: tuple[str, ...] = setting(("a", "b"), "Patterns.")
    toy_sizes: tuple[int, ...] = setting((16, 32), "Sizes.", min_value=2, max_value=99)
    toy_rates: tuple[float, ...] = setting((5e-5, 2.0), "Rates.", min_value=0)


@dataclasses.dataclass(frozen=True)
class Chest(Settings):
    chest_size: int = setting(2, "Toys.", min_value=1)
    chest_train: bool = setting(False, "Train.")
    chest_steps: int | None = setting(
        None, "Steps.", rules=[Needs("chest_train"), Needs(equals("toy_kind", "fancy"))]
    )
    chest_search: bool = setting(
        False,
        "Search.",
        rules=[
            NotWith("toy_rate", advice="set `toy_rates`"),
            NotWith(any_of("toy_seed", "toy_shift")),
        ],
    )
    chest_rates: tuple[float, ...] = setting(
        (1.0,), "Rates.", rules=[Needs(any_of("chest_search", "chest_steps"))]
    )
    toy: Toy = dataclasses.field(default_factory=lambda: Toy(toy_count=7))

    def check(self):
        if self.toy.toy_count < self.chest_size:
            raise InputError(
                f"`toy_count`={self.toy.toy_count}: is below `chest_size`, {self.chest_size}"
            )


NAMES = [
    field.name for each in (Toy, Chest) for field in dataclasses.fields(each) if field.name != "toy"
]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"toy_count": 0}, Message("toy_count", "must be at least 1", value=0)),
        ({"toy_rate": math.nan}, Message("toy_rate", "must be at least 0.0", value="nan")),
        ({"toy_shift": -math.inf}, Message("toy_shift", "must be a finite number", value="-inf")),
        ({"toy_shift": 1e300}, Message("toy_shift", "must be at most 2147483647", value="1e+300")),
        (
            {"toy_steps": 2**31},
            Message("toy_steps", "must be at most 2147483647", value=2147483648),
        ),
        (
            {"toy_seed": 2**63},
            Message("toy_seed", "must be at most 9223372036854775807", value=9223372036854775808),
        ),
        ({"toy_kind": "odd"}, Message("toy_kind", "must be one of plain, fancy", value="odd")),
        ({"toy_sizes": (3, 1)}, Message("toy_sizes", "must be at least 2", value=1)),
    ],
)
def test_values_out_of_bounds(values, message):
    with raises_message(message):
        Toy(**values)


def test_checks_of_a_class():
    with rejects("toy_count", "is below `chest_size`, 8", value=7):
        dataclasses.replace(Chest(), chest_size=8)
    # Bounds are checked first.
    with pytest.raises(InputError, match="`chest_size`=0: must be at least 1"):
        Chest(chest_size=0, chest_rates=(3.0,))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"chest_steps": 0},
            Message("chest_steps", "requires `chest_train` and `toy_kind`=fancy", value=0),
        ),
        (
            {"chest_steps": 5, "chest_train": True},
            Message("chest_steps", "requires `toy_kind`=fancy", value=5),
        ),
        (
            {"chest_rates": (1.0, 2.5)},
            Message("chest_rates", "requires `chest_search` or `chest_steps`", value="1.0,2.5"),
        ),
        (
            {"chest_search": True, "toy": Toy(toy_rate=0.0)},
            Message(
                "chest_search", "cannot be combined with `toy_rate`", "set `toy_rates`", value=True
            ),
        ),
        (
            {"chest_search": True, "toy": Toy(toy_shift=0.5)},
            Message(
                "chest_search", "cannot be combined with `toy_seed`", "`toy_shift`", value=True
            ),
        ),
    ],
)
def test_rules(values, message):
    settings = Chest(**values)  # Only the values of a job, which are complete, must obey the rules.
    with raises_message(message):
        check_rules(settings)


def test_only_recipes_set_other_settings():
    precision = setting("float32", "Type.", choices={"float32": "float32", "tf32": "mixed"})
    assert precision.metadata["choices"] == ("float32", "tf32")
    assert precision.metadata["recipes"] is None
    recipe = setting(None, "Recipe.", recipes={"small": {"toy_count": 1}})
    assert recipe.metadata["choices"] == ("small",)
    assert recipe.metadata["recipes"] == {"small": {"toy_count": 1}}


def test_help_names_what_a_setting_requires():
    texts = {
        field.name: describe_rules(field) for field in dataclasses.fields(Chest) if field.metadata
    }
    assert texts["chest_steps"] == "Steps. Requires `chest_train` and `toy_kind`=fancy."
    assert texts["chest_rates"] == "Rates. Requires `chest_search` or `chest_steps`."
    assert texts["chest_search"] == "Search."
    assert "Steps. Requires --chest_train and --toy_kind=fancy" in usage.write_help(
        "Toys.", Chest(), is_full=True
    )


@dataclasses.dataclass(frozen=True)
class Distillation(Settings):
    needs_of_groups: ClassVar = {"toy": "distill"}

    distill: bool = setting(False, "Distill.")
    toy: Toy = dataclasses.field(default_factory=Toy)


def test_a_group_that_requires_a_setting():
    assert Distillation(True, Toy(2)).names("toy") >= {"toy_count", "toy_rate"}
    with rejects("toy_count", "requires `distill`", value=2):
        check_rules(Distillation(toy=Toy(2)))
    assert "--toy_rate: Rate. Requires --distill" in usage.write_help("Toys.", Distillation())


@dataclasses.dataclass(frozen=True)
class Box(Settings):
    outer_settings: ClassVar = ("box_key",)

    box_lid: bool = setting(False, "Lid.")
    box_size: int = setting(3, "Size.", rules=[Needs(any_of("box_lid", "box_key"))])
    box_lock: int = setting(2, "Lock.", rules=[Needs("box_key")])


def test_only_settings_of_the_job_are_named():
    text = usage.write_help("Boxes.", Box())
    assert "--box_size: Size. Requires --box_lid (3)" in text
    assert "box_key" not in text
    with rejects("box_size", "requires `box_lid`", value=4):
        check_rules(Box(box_size=4))
    check_rules(Box(box_lock=5))


@dataclasses.dataclass(frozen=True)
class Doll(Settings):
    toy_count: int = adapt(
        Toy, "toy_count", default=4, help_text="Dolls.", rules=[Needs("toy_on")], max_value=5
    )
    toy_seed: int = adapt(Toy, "toy_seed", rare=True)
    toy_on: bool = adapt(Toy, "toy_on")


def test_a_setting_of_another_class_with_changes():
    count, seed, on = dataclasses.fields(Doll)
    assert (count.default, seed.default, on.default) == (4, 7, False)
    assert describe_rules(count) == "Dolls. Requires `toy_on`."
    assert (count.metadata["min_value"], count.metadata["max_value"]) == (1, 5)
    assert seed.metadata == {**Toy.__dataclass_fields__["toy_seed"].metadata, "rare": True}
    assert on.metadata == Toy.__dataclass_fields__["toy_on"].metadata
    with pytest.raises(InputError, match="`toy_count`=6: must be at most 5"):
        Doll(toy_count=6)
    with pytest.raises(InputError, match="`toy_count`=5: requires `toy_on`"):
        check_rules(Doll(toy_count=5))
    assert Toy().toy_count == 3


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


def test_defaults_of_flags_are_those_of_the_object(parse):
    assert parse(Chest()) == Chest()  # whose toy_count is not the default of its class
    assert not set(flags.get_explicit()) & set(NAMES)
    assert absl_flags.FLAGS["toy_count"].help == "Number of --toy_kind toys."


def test_values_of_flags_have_the_types_of_their_fields(parse):
    settings = parse(
        Chest(),
        "--chest_size=1",
        "--toy_count=9",
        "--toy_rate=1",
        "--toy_name=é",
        "--toy_kind=fancy",
        "--toy_on",
        "--toy_patterns=",
        "--toy_sizes=8, 99",
        "--toy_rates=1,3e-5",
        "--chest_train=false",
    )
    assert settings == Chest(
        1,
        toy=Toy(
            9,
            1.0,
            toy_kind="fancy",
            toy_name="é",
            toy_on=True,
            toy_patterns=(),
            toy_sizes=(8, 99),
            toy_rates=(1.0, 3e-5),
        ),
    )
    values = (settings.toy.toy_rate, *settings.toy.toy_sizes, *settings.toy.toy_rates)
    assert [type(value) for value in values] == [float, int, int, float, float]
    explicit = flags.get_explicit()
    assert (explicit["toy_on"], explicit["chest_train"], "toy_seed" in explicit) == (
        True,
        False,
        False,
    )


@pytest.mark.parametrize(
    "argument", ["--toy_count=x", "--toy_kind=odd", "--toy_on=maybe", "--toy_sizes=16,x"]
)
def test_flags_have_the_types_and_choices_of_their_fields(parse, argument):
    name, value = argument.removeprefix("--").split("=")
    with pytest.raises(absl_flags.IllegalFlagValueError, match=f"^flag --{name}={value}: "):
        parse(Toy(), argument)


def test_a_subset_of_the_fields(parse):
    settings = parse(Chest(toy=Toy(toy_count=5)), "--toy_name=x", only=("toy_name", "chest_size"))
    assert settings == Chest(toy=Toy(toy_count=5, toy_name="x"))
    assert [name for name in NAMES if name in absl_flags.FLAGS] == ["toy_name", "chest_size"]


@dataclasses.dataclass(frozen=True)
class Rare(Settings):
    """Rare things. Nobody needs them."""

    rare = True

    odd: int = setting(3, "Number of odd things.")
    path: str | None = setting(None, "Path of the output. It must not exist.", rules=[Required()])


@dataclasses.dataclass(frozen=True)
class Toys(Settings):
    """Settings for toys, which are small."""

    rare_group: Rare = dataclasses.field(default_factory=Rare)
    use: bool = setting(True, "Use `kind` toys, e.g. blocks. Otherwise none.")
    kind: str = setting("block", "Kind of toys.", choices=("block", "ball"), rare=True)


def test_required_flags_come_first_and_rare_ones_are_not_shown():
    assert usage.write_help("Plays.\n\n  play --path=x\n", Toys()) == "\n".join(
        [
            "Plays.",
            "",
            "  play --path=x",
            "",
            "Required:",
            "  --path: Path of the output",
            "",
            "Toys:",
            "  --[no]use: Use --kind toys, e.g. blocks",
            "",
            usage.MORE,
        ]
    )


def test_everything_is_in_the_full_help():
    assert usage.write_help(
        "Plays.", Toys(), only=("use", "kind", "odd"), is_full=True
    ) == "\n".join(
        [
            "Plays.",
            "",
            "Toys:",
            "  --[no]use: Use --kind toys, e.g. blocks. Otherwise none",
            "  --kind: Kind of toys. One of block, ball (block)",
            "",
            "Rare things:",
            "  --odd: Number of odd things (3)",
            "",
            usage.MORE,
        ]
    )


@pytest.mark.parametrize(
    "name", ["run.run_classifier", "run.run_squad", "run.run_tagger", "run.run_pretraining"]
)
def test_the_help_of_a_script_is_short(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    module = reference_page.find_scripts()[name]
    text = usage.write_help(module.__doc__, module.COMMAND.settings, module.COMMAND.only)
    assert len(text.splitlines()) <= 90
    assert max(map(len, text.splitlines())) <= 120
    assert re.search(r"^Required:\n(  --.*\n(      .*\n)*)*  --output_dir: ", text, re.MULTILINE)
