"""The flags of Settings classes: defined from their fields, and read back into them.

Between these calls, absl parses the command line:

    flags.define(JobSettings())
    settings = flags.read(JobSettings())
"""

import dataclasses
import re
import shlex
import types
import typing

from absl import flags

from bert_tf.cli.rules import describe_rules
from bert_tf.cli.settings import Settings

flags.disclaim_key_flags()  # a flag defined here belongs, in --help, to the calling script


def define(settings, only=None):
    """Defines a flag for each field of settings and of the groups in them.

    Backquoted field names in a help text become flag names. `read` checks the bounds of numbers.

    Args:
      settings: Settings whose values are the defaults of the flags.
      only: Names of the fields to define; None for all.
    """
    group_needs = settings.find_group_needs()
    names = settings.values().keys() if only is None else only
    for group in settings.groups():
        field_types = typing.get_type_hints(type(group))
        for field in dataclasses.fields(group):
            if field.metadata and (only is None or field.name in only):
                text = describe_rules(field, group_needs.get(field.name), names)
                flag_type = _remove_none(field_types[field.name])
                _define(field, text, flag_type, getattr(group, field.name))


def read(settings):
    """Returns settings of the same class with the values of their flags.

    Raises InputError like the class.
    """
    values = {}
    for field in dataclasses.fields(settings):
        default = getattr(settings, field.name)
        if isinstance(default, Settings):
            values[field.name] = read(default)
        elif field.metadata and field.name in flags.FLAGS:
            value = flags.FLAGS[field.name].value
            values[field.name] = tuple(value) if isinstance(value, list) else value
    return dataclasses.replace(settings, **values)


def get_explicit():
    """Returns the flags on the command line: dict of name -> value."""
    return {name: flags.FLAGS[name].value for name in flags.FLAGS if flags.FLAGS[name].present}


def use_recipe(name, values):
    """Sets values of flags that are not on the command line.

    Args:
      name: Name of the recipe.
      values: Dict of flag -> value.

    Returns:
      "recipe NAME sets ..." with these flags.
    """
    arguments = []
    for flag, value in values.items():
        if not flags.FLAGS[flag].present:
            flags.FLAGS[flag].value = value
            arguments.append(f"--{flag}={value}")
    return f"recipe {name} sets {shlex.join(arguments)}"


def _define(field, text, flag_type, default):
    name = field.name
    help_text = re.sub(r"`(\w+)`", r"--\1", text)
    if flag_type is bool:
        flags.DEFINE_bool(name, default, help_text)
    elif flag_type is int:
        flags.DEFINE_integer(name, default, help_text)
    elif flag_type is float:
        flags.DEFINE_float(name, default, help_text)
    elif field.metadata["choices"]:
        flags.DEFINE_enum(name, default, field.metadata["choices"], help_text)
    elif flag_type is str:
        flags.DEFINE_string(name, default, help_text)
    elif field.metadata["repeated"]:
        flags.DEFINE_multi_string(name, list(default), help_text)
    elif typing.get_origin(flag_type) is tuple and typing.get_args(flag_type)[0] in (int, float):
        flags.DEFINE(
            _NumberListParser(typing.get_args(flag_type)[0]),
            name,
            list(default),
            help_text,
            serializer=flags.CsvListSerializer(","),
        )
    elif typing.get_origin(flag_type) is tuple:
        flags.DEFINE_list(name, list(default), help_text)
    else:
        raise TypeError(f"{name}: there is no flag for {flag_type}")


class _NumberListParser(flags.ListParser):
    """Parses comma-separated numbers of a type, int or float."""

    def __init__(self, number):
        super().__init__()
        self._number = number

    def parse(self, argument):
        return [self._number(item) for item in super().parse(argument)]


def _remove_none(flag_type):
    """Returns `int` for `int | None`."""
    if isinstance(flag_type, types.UnionType):
        return next(part for part in typing.get_args(flag_type) if part is not types.NoneType)
    return flag_type
