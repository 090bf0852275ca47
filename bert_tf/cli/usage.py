"""The text of --help: the purpose of a script, and its flags by groups of settings."""

import dataclasses
import re
import shutil
import textwrap

from bert_tf.cli.rules import describe_rules, find_required

MAX_WIDTH = 110  # Maximum number of characters of a line.
REQUIRED = "Required"
KEPT = ("Defaults to", "Requires")  # Starts of the sentences that the short help also has.
MORE = "--helpfull shows all flags with their complete descriptions."


def write_help(purpose, settings, only=None, is_full=False):
    """Returns the help of a script.

    Args:
      purpose: str. The script's docstring.
      settings: Settings with the defaults of the flags.
      only: Names of the settings that are flags; None for all.
      is_full: bool. Whether to add rare settings, and everything about each setting instead of its
        first sentence, its default, and the settings that it requires.
    """
    width = min(MAX_WIDTH, shutil.get_terminal_size((MAX_WIDTH, 0)).columns)
    required = []
    lines = []
    always = {name for group in settings.groups() for name in group.always_required}
    group_needs = settings.find_group_needs()
    names = settings.values().keys() if only is None else only
    for group in settings.groups():
        found = []
        for field in dataclasses.fields(group):
            if not field.metadata or (only is not None and field.name not in only):
                continue
            text = describe_rules(field, group_needs.get(field.name), names)
            description = _describe(field, text, getattr(group, field.name), width, is_full)
            rule = find_required(field)
            if field.name in always or (rule and rule.is_always and not field.metadata["source"]):
                required += description
            elif is_full or not (group.rare or field.metadata["rare"]):
                found += description
        if found:
            lines += ["", f"{get_title(type(group))}:", *found]
    return "\n".join(
        [purpose.strip(), *(["", f"{REQUIRED}:", *required] if required else []), *lines, "", MORE]
    )


def get_title(group):
    """Returns the first sentence about a class of settings as a heading."""
    title = re.split(r"[.;]\s|\.$|, which ", group.__doc__.strip(), maxsplit=1)[0].split("\n")[0]
    title = title.removeprefix("Settings for ")
    return title[0].upper() + title[1:]


def _describe(field, text, value, width, is_full):
    """Returns the lines about the flag of a setting.

    `text`: See `bert_tf.cli.rules.describe_rules`. `value`: The default.
    """
    metadata = field.metadata
    text = re.sub(r"`(\w+)`", r"--\1", text)
    if not is_full:
        first, *others = re.split(r"(?<=[^.]\.)\s+(?=[A-Z])", text)
        text = " ".join([first, *(sentence for sentence in others if sentence.startswith(KEPT))])
    elif metadata["choices"]:
        text += f" One of {', '.join(metadata['choices'])}."
    text = text.rstrip(".")
    if isinstance(value, bool):
        name = f"--[no]{field.name}" if value else f"--{field.name}"
    else:
        name = f"--{field.name}"
        if value not in (None, "", ()):
            text += f" ({','.join(map(str, value)) if isinstance(value, tuple) else value})"
    return textwrap.wrap(
        f"{name}: {text}",
        width,
        initial_indent="  ",
        subsequent_indent="      ",
        break_on_hyphens=False,
    )
