"""Bounds, choices, and rules of settings, and groups of settings."""

import dataclasses
import math
from typing import ClassVar

import pytest

from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class Step(Settings):
    accumulate_steps: int = setting(1, "Micro-batches.", lower=1, upper=8)
    rate: float | None = setting(None, "Rate.", lower=0.0)
    optimizer: str = setting("adamw", "Rule.", choices=("adamw", "lamb"))
    sizes: tuple[int, ...] = setting((3, 4), "Sizes.", lower=2, upper=9)
    shift: float = setting(0.0, "Shift.")
    steps: int = setting(7, "Steps.")
    seed: int = setting(7, "Seed.", most=LARGEST_SEED)


@dataclasses.dataclass(frozen=True)
class Job(Settings):
    steps: int = setting(5, "Steps.", lower=1)
    warmup: int = setting(0, "Warmup.", lower=0)
    step: Step = dataclasses.field(default_factory=Step)

    def check(self):
        if self.warmup > self.steps:
            raise InputError(f"`warmup`={self.warmup}: must not be over `steps`, {self.steps}")


def test_values_within_the_bounds():
    assert Step() == Step(1, None, "adamw")
    assert Step(8, 0.0, "lamb", sizes=(2, 9)).accumulate_steps == 8
    assert Step(seed=-(2**63), steps=2**31 - 1, shift=1e300).seed == -(2**63)


@pytest.mark.parametrize(("values", "message"), [
    ({"accumulate_steps": 0}, "`accumulate_steps`=0: must be at least 1"),
    ({"rate": -0.5}, "`rate`=-0.5: must be at least 0.0"),
    ({"rate": math.nan}, "`rate`=nan: must be at least 0.0"),
    ({"shift": -math.inf}, "`shift`=-inf: must be a finite number"),
    ({"steps": 2**31}, "`steps`=2147483648: must be at most 2147483647"),
    ({"seed": 2**63}, "`seed`=9223372036854775808: must be at most 9223372036854775807"),
    ({"optimizer": "sgd"}, "`optimizer`=sgd: must be one of adamw, lamb"),
    ({"sizes": (3, 1)}, "`sizes`=1: must be at least 2"),
])
def test_values_out_of_bounds(values, message):
    with pytest.raises(InputError) as caught:
        Step(**values)
    assert str(caught.value) == message


def test_checks_of_a_class():
    with pytest.raises(InputError, match=r"^`warmup`=6: must not be over `steps`, 5$"):
        Job(warmup=6)
    with pytest.raises(InputError, match="`steps`=0: must be at least 1"):  # bounds are checked first
        Job(steps=0, warmup=6)
    with pytest.raises(InputError, match="`warmup`=5: must not be over `steps`, 4"):
        dataclasses.replace(Job(warmup=5), steps=4)


@dataclasses.dataclass(frozen=True)
class Tuning(Settings):
    do_train: bool = setting(False, "Train.")
    eval_steps: int | None = setting(None, "Steps.", needs=("do_train", "optimizer=lamb"))
    search: bool = setting(False, "Search.", not_with=("rate; set `rates`", "seed or shift"))
    rates: tuple[float, ...] = setting((1.0,), "Rates.", needs="search or eval_steps", lower=0)
    step: Step = dataclasses.field(default_factory=Step)


@pytest.mark.parametrize(("values", "message"), [
    ({"eval_steps": 0}, "`eval_steps`=0: requires `do_train` and `optimizer`=lamb"),
    ({"eval_steps": 5, "do_train": True}, "`eval_steps`=5: requires `optimizer`=lamb"),
    ({"rates": (1.0, 2.5)}, "`rates`=1.0,2.5: requires `search` or `eval_steps`"),
    ({"search": True, "step": Step(rate=0.0)}, "`search`=True: cannot be combined with `rate`; set `rates`"),
    ({"search": True, "step": Step(shift=0.5)}, "`search`=True: cannot be combined with `seed` or `shift`"),
])
def test_rules(values, message):
    with pytest.raises(InputError) as caught:
        Tuning(**values)
    assert str(caught.value) == message


def test_rules_that_are_met():
    assert Tuning(search=True, rates=(2.0,)).rates == (2.0,)
    assert Tuning(eval_steps=5, do_train=True, step=Step(optimizer="lamb")).eval_steps == 5


def test_values_of_all_groups():
    assert [field.name for field, _ in Job().fields()][:3] == ["steps", "warmup", "accumulate_steps"]
    assert Job(step=Step(seed=9)).values()["seed"] == 9
    assert Job().replace_values({"seed": 9, "warmup": 2, "unknown": 1}) == Job(warmup=2, step=Step(seed=9))


@dataclasses.dataclass(frozen=True)
class Distillation(Settings):
    needs_of_groups: ClassVar = {"step": "distill"}

    distill: bool = setting(False, "Distill.")
    step: Step = dataclasses.field(default_factory=Step)


def test_a_group_that_requires_a_setting():
    assert Distillation(True, Step(2)).names("step") >= {"accumulate_steps", "rate"}
    with pytest.raises(InputError, match=r"^`accumulate_steps`=2: requires `distill`$"):
        Distillation(step=Step(2))


@pytest.mark.parametrize("rule", [
    {"needs": ("do_train", "do_trian")}, {"not_with": "do_train or do_trian=true; set `rates`"},
    {"required": "do_train without do_trian"}, {"required": "do_trian"}])
def test_a_rule_about_an_unknown_setting(rule):
    """It would never apply."""
    def create():
        @dataclasses.dataclass(frozen=True)
        class Rules(Tuning):
            outer_settings: ClassVar = ("do_eval",)

            steps: int = setting(0, "Steps.", needs="seed or do_eval")  # `seed` is in the group `step`
            path: str | None = setting(None, "Path.", **rule)
        return Rules

    with pytest.raises(TypeError, match=r"^Rules.path: a rule names 'do_trian', which is not a setting of the class"):
        create()
