"""Rules that relate a setting to other settings of a job.

    eval_steps: int | None = setting(None, "Steps.", rules=[Needs("do_train"), Needs("do_eval")])

The condition of a rule is the name of a setting (it is true or, if it is not a boolean, differs
from its default), `equals` of a setting and a value, or `any_of` several of these. Conditions on
settings that a job does not have are ignored.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Term:
    """A condition on one setting. The value is None if the setting must only be set."""

    name: str
    value: object = None

    def is_met(self, field, value):
        """Returns whether the value of the setting, with its dataclasses.Field, meets the term."""
        if self.value is not None:
            return value == self.value
        return value if isinstance(value, bool) else is_set(field, value)

    def __str__(self):
        if self.value is None:
            return f"`{self.name}`"
        value = str(self.value).lower() if isinstance(self.value, bool) else self.value
        return f"`{self.name}`={value}"


@dataclasses.dataclass(frozen=True)
class Condition:
    """A tuple of terms; one must be met. Its text has backquotes around the names."""

    terms: tuple[Term, ...]

    def is_met(self, fields):
        """Returns whether the condition is met.

        None if no setting of it is in `fields`, (dataclasses.Field, value) pairs.
        """
        known = [
            term.is_met(field, value)
            for term in self.terms
            for field, value in fields
            if field.name == term.name
        ]
        return any(known) if known else None

    def select(self, names):
        """Returns the condition with only the terms on settings whose names are in `names`."""
        return Condition(tuple(term for term in self.terms if term.name in names))

    def __str__(self):
        return " or ".join(map(str, self.terms))


def equals(name, value):
    """Returns the condition that a setting has a value."""
    return Condition((Term(name, value),))


def any_of(*conditions):
    """Returns the condition that one of several conditions, or names of settings, is met."""
    return Condition(tuple(term for each in conditions for term in to_condition(each).terms))


def to_condition(condition):
    """Returns the Condition of a rule, which can be the name of a setting."""
    return Condition((Term(condition),)) if isinstance(condition, str) else condition


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule of a setting, which is either `Needs`, `NotWith`, or `Required`."""

    @property
    def conditions(self):
        """The Conditions of the rule, a list."""
        values = (getattr(self, field.name) for field in dataclasses.fields(self))
        return [value for value in values if isinstance(value, Condition)]


@dataclasses.dataclass(frozen=True)
class Needs(Rule):
    """Unless a condition is met, only the default of the setting is allowed."""

    condition: str | Condition

    def __post_init__(self):
        object.__setattr__(self, "condition", to_condition(self.condition))


@dataclasses.dataclass(frozen=True)
class NotWith(Rule):
    """If a condition is met, only the default of the setting is allowed.

    The message contains the advice, a str, if it is not empty.
    """

    condition: str | Condition
    advice: str = ""

    def __post_init__(self):
        object.__setattr__(self, "condition", to_condition(self.condition))

    def describe(self):
        """Returns what the setting cannot be combined with, a str."""
        return f"{self.condition}; {self.advice}" if self.advice else str(self.condition)


@dataclasses.dataclass(frozen=True)
class Required(Rule):
    """A value is required, if a condition is met, unless another one is.

    A path is checked only if the first condition is met.
    """

    when: str | Condition | None = None
    unless: str | Condition | None = None

    def __post_init__(self):
        object.__setattr__(self, "when", to_condition(self.when))
        object.__setattr__(self, "unless", to_condition(self.unless))

    @property
    def is_always(self):
        """True if the rule has no condition."""
        return not self.conditions

    def is_relevant(self, fields):
        """Returns whether the first condition is met, or absent. See `Condition.is_met`."""
        return self.when is None or self.when.is_met(fields)

    def is_met(self, fields):
        """Returns whether a value is required. See `Condition.is_met`."""
        if self.unless and self.unless.is_met(fields):
            return False
        return self.is_relevant(fields)

    def describe(self, fields):
        """Returns when a value is required, a str to follow "is required"."""
        text = f" with {self.when}" if self.when else ""
        if self.unless and self.unless.is_met(fields) is False:
            text += f" without {self.unless}"
        return text


def find_rules(field, rule_class):
    """Returns the rules of a class, such as `Needs`, of a dataclasses.Field, a list."""
    return [rule for rule in field.metadata["rules"] if isinstance(rule, rule_class)]


def find_required(field):
    """Returns the `Required` of a dataclasses.Field, or None."""
    return next(iter(find_rules(field, Required)), None)


def describe_rules(field, group_need=None, names=None):
    """Returns the help text of a dataclasses.Field with the settings that it requires.

    A text that begins with "With" names them itself.

    Args:
      field: dataclasses.Field of a setting.
      group_need: The Condition of its group, or None. It is not repeated for the setting that it
        names.
      names: Names of the settings that are flags, the only ones to mention; None for all.
    """
    text = field.metadata["help"]
    needs = [rule.condition for rule in find_rules(field, Needs)]
    if group_need and field.name not in {term.name for term in group_need.terms}:
        needs.append(group_need)
    if names is not None:
        needs = [need.select(names) for need in needs]
    needs = [str(need) for need in needs if need.terms]
    if not needs or text.startswith("With "):
        return text
    return f"{text} Requires {' and '.join(needs)}."


def is_set(field, value):
    """Returns whether a value is neither the default nor empty."""
    return value != field.default and value != ""
