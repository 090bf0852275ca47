"""Settings: frozen dataclasses whose fields have a default, a help text, bounds, and rules.

Flags are defined from them:

    @dataclasses.dataclass(frozen=True)
    class StepSettings(Settings):
        accumulate_steps: int = setting(1, "Micro-batches of a training step.", min_value=1)

The value of a field can be a Settings object too: a job's settings consist of groups. Settings of
several jobs are declared once, in a group that these jobs share; `adapt` changes their defaults or
help texts for a job.
bert_tf.cli.resolution computes the value of a field that `setting` does not define.
bert_tf.cli.flags defines the flags of a class and reads them back. This module requires neither
absl nor TensorFlow.

Rules are objects: see bert_tf.cli.rules. A class whose rules name a setting that
neither it nor its groups have, and that is not in `outer_settings`, is a TypeError.
"""

import dataclasses
import math
from typing import ClassVar

from bert_tf.cli import rules
from bert_tf.errors import InputError

# Bound of integers without their own: sizes and steps are converted to int32.
MAX_NUMBER = 2**31 - 1
MAX_SEED = 2**63 - 1


def setting(
    default,
    help_text,
    *,
    min_value=None,
    max_value=None,
    max_magnitude=MAX_NUMBER,
    choices=None,
    repeated=False,
    rules=(),
    role=None,
    source=None,
    recipes=None,
    changeable=False,
    rare=False,
):
    """Defines a field of a Settings class.

    Args:
      default: Default value.
      help_text: Meaning, unit, and constraints.
      min_value, max_value: Inclusive bounds of a number, or of each number of a tuple; None for
        none. All must be finite.
      max_magnitude: Maximum absolute value of a number without bounds; not shown by --help.
      choices: Allowed values of a str.
      repeated: Whether the flag of a tuple of str is repeated for each, instead of using commas.
      rules: Rules of bert_tf.cli.rules, which relate the setting to others.
      role: Role of a path, from bert_tf.cli.roles.
      source: Source of an unset value next to a checkpoint, from bert_tf.cli.resolution.
      recipes: Dict of choice -> dict of values of other settings that are not set explicitly.
      changeable: Whether a resumed run may have another value, which it reports; None if it is not
        part of a run, like the steps of a job. See bert_tf.cli.run_state.
      rare: Whether only --helpfull shows the flag.
    """
    return dataclasses.field(
        default=default,
        metadata={
            "help": help_text,
            "min_value": min_value,
            "max_value": max_value,
            "max_magnitude": max_magnitude,
            "repeated": repeated,
            "choices": tuple(choices or recipes or ()) or None,
            "source": source,
            "recipes": recipes,
            "changeable": changeable,
            "rare": rare,
            "role": role,
            "rules": tuple(rules),
        },
    )


def adapt(group, name, *, default=dataclasses.MISSING, help_text=None, rules=(), **changes):
    """Defines a field like the one of another Settings class, for a job with other words for it.

    Args:
      group: Settings class that declares the field.
      name: Name of the field.
      default, help_text: See `setting`. The same as in `group` if not set.
      rules: Rules in addition to those in `group`.
      **changes: Other arguments of `setting` that replace those in `group`.
    """
    field = group.__dataclass_fields__[name]
    metadata = {**field.metadata, **changes, "rules": (*field.metadata["rules"], *rules)}
    if help_text is not None:
        metadata["help"] = help_text
    return dataclasses.field(
        default=field.default if default is dataclasses.MISSING else default, metadata=metadata
    )


@dataclasses.dataclass(frozen=True)
class Settings:
    """Values that belong together.

    Raises InputError if a value is out of its bounds. `check_rules` checks the rules, which can
    refer to settings of other groups.

    Attributes:
      always_required: Names of settings of shared groups that this job requires.
      outer_settings: Names of settings of other groups that rules of this class refer to. They
        apply in jobs that have these settings.
      needs_of_groups: Dict of group -> condition without which only the defaults of its settings
        are allowed.
      replaced: Dict of setting -> condition with which it has no effect, so that it cannot be set
        even to its default.
      written: Regular expression of the names of files in the output directory that no input can
        be.
      fixed_groups: Names of groups whose settings are not changeable in this job, although they are
        in others.
      changeable, rare: Whether all settings of the group are changeable, and rare. See `setting`.
    """

    always_required: ClassVar[tuple[str, ...]] = ()
    outer_settings: ClassVar[tuple[str, ...]] = ()
    needs_of_groups: ClassVar[dict[str, str]] = {}
    replaced: ClassVar[dict[str, str]] = {}
    written: ClassVar[str] = ""
    fixed_groups: ClassVar[tuple[str, ...]] = ()
    changeable: ClassVar[bool] = False
    rare: ClassVar[bool] = False

    def __init_subclass__(cls):
        """Raises TypeError if a rule of the class names an unknown setting."""
        fields = {
            name: field
            for base in reversed(cls.__mro__)
            for name, field in (vars(base) | vars(base).get("__dataclass_fields__", {})).items()
            if isinstance(field, dataclasses.Field)
        }
        known = {
            name for base in cls.__mro__ for name in vars(base).get("outer_settings", ())
        } | fields.keys()
        for field in fields.values():
            if field.default_factory is dataclasses.MISSING:
                continue
            group = field.default_factory()
            if isinstance(group, Settings):
                known |= group.values().keys()
        named = [
            (name, rules.to_condition(condition))
            for name, condition in (cls.needs_of_groups | cls.replaced).items()
        ]
        for name, field in fields.items():
            for rule in field.metadata.get("rules", ()):
                named += [(name, condition) for condition in rule.conditions]
        for name, condition in named:
            for term in condition.terms:
                if term.name not in known:
                    raise TypeError(
                        f"{cls.__name__}.{name}: a rule names {term.name!r}, which is not a "
                        "setting of the class; correct it, or add it to outer_settings"
                    )

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if field.metadata:
                _check_bounds(field, getattr(self, field.name))
        self.check()

    def check(self):
        """Raises InputError for inconsistent values; a hook for subclasses."""

    def check_files(self):
        """Raises InputError if files contradict the resolved values; a hook for subclasses."""

    def groups(self):
        """Yields these settings and the groups in them."""
        yield self
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Settings):
                yield from value.groups()

    def fields(self):
        """Yields (dataclasses.Field, value) of each setting of all groups."""
        for group in self.groups():
            for field in dataclasses.fields(group):
                if field.metadata:
                    yield field, getattr(group, field.name)

    def names(self, *groups):
        """Returns the names of the settings of some groups, a set."""
        return {field.name for group in groups for field, _ in getattr(self, group).fields()}

    def values(self):
        """Returns a dict of the name of each setting of all groups -> value."""
        return {field.name: value for field, value in self.fields()}

    def find_group_needs(self):
        """Returns a dict of each setting of the groups in `needs_of_groups` -> its Condition."""
        return {
            field.name: rules.to_condition(condition)
            for group, condition in self.needs_of_groups.items()
            for field, _ in getattr(self, group).fields()
        }

    def replace_values(self, values):
        """Returns settings with other values: in each group, for its fields that `values` names.

        `values` is a dict of name -> value.
        """
        new = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Settings):
                new[field.name] = value.replace_values(values)
            elif field.name in values:
                new[field.name] = values[field.name]
        return dataclasses.replace(self, **new)


def _check_bounds(field, value):
    min_value, max_value, choices = map(field.metadata.get, ("min_value", "max_value", "choices"))
    if value is None:
        return
    for number in value if isinstance(value, tuple) else (value,):
        if min_value is not None and not number >= min_value:
            raise InputError(f"must be at least {min_value}", field.name, number)
        if max_value is not None and not number <= max_value:
            raise InputError(f"must be at most {max_value}", field.name, number)
        if isinstance(number, float) and not math.isfinite(number):
            raise InputError("must be a finite number", field.name, number)
        if type(number) in (int, float):
            max_magnitude = field.metadata["max_magnitude"]
            if min_value is None and number < -max_magnitude - 1:
                raise InputError(f"must be at least {-max_magnitude - 1}", field.name, number)
            if max_value is None and number > max_magnitude:
                raise InputError(f"must be at most {max_magnitude}", field.name, number)
    if choices is not None and value not in choices:
        raise InputError(f"must be one of {', '.join(choices)}", field.name, value)


def check_rules(settings):
    """Raises InputError if a setting lacks one that it requires, or contradicts another one."""
    fields = list(settings.fields())
    names = {field.name for field, _ in fields}
    needs_of_groups = settings.find_group_needs()
    for field, value in fields:
        if not rules.is_set(field, value):
            continue
        needs = [rule.condition for rule in rules.find_rules(field, rules.Needs)]
        if field.name in needs_of_groups:
            needs.append(needs_of_groups[field.name])
        missing = [str(each.select(names)) for each in needs if each.is_met(fields) is False]
        if missing:
            raise InputError(f"requires {' and '.join(missing)}", field.name, value)
        for rule in rules.find_rules(field, rules.NotWith):
            if rule.condition.is_met(fields):
                raise InputError(f"cannot be combined with {rule.describe()}", field.name, value)
