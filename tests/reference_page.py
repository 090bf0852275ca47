"""Writes docs/reference.md, the page of all scripts and flags, from the settings of the scripts.

    python -m tests.reference_page

Does not import TensorFlow.
"""

import ast
import dataclasses
import importlib
import inspect
import itertools
import pathlib
import re
import textwrap

from bert_tf.cli.rules import describe_rules, find_required
from bert_tf.cli.usage import get_title

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference.md"
REGENERATE = "python -m tests.reference_page"
FOLDERS = ("data_prep", "run")
INTRODUCTION = f"""\
This page lists the flags of each script with the help texts of `--helpfull`. `{REGENERATE}`
generates it from the settings of the scripts. "Required" means that a command without the flag is
rejected. "None" means that the flag is not set by default. Every script also accepts `--help`, and
`--traceback`, which shows the Python traceback of invalid input."""
PAGE_WIDTH = 120  # Columns.
# Titles of the tables of shared flags -> classes of settings. Other shared classes have their own
# tables.
TABLES = {
    "Text files": ("TextSettings", "CasingSettings"),
    "Model and texts": ("ConfigSettings", "ModelSettings", "TokenizerSettings"),
    "Data of a fine-tuned model": ("EvaluationDataSettings", "DataSettings"),
    "Questions and classifiers": ("QuestionSettings", "LabelSettings", "CandidateSettings"),
    "Devices": ("DeviceSettings", "OriginalDeviceSettings"),
    "Training": (
        "ActionSettings",
        "LearningRateSettings",
        "PrecisionSettings",
        "TrainingSettings",
        "StepSettings",
    ),
    "Fine-tuning": (
        "FineTuningSettings",
        "ScheduleSettings",
        "TuningSettings",
        "TrainedWeightsSettings",
    ),
    "Distillation": ("StudentSettings", "LossSettings"),
    "Pre-training": ("PretrainingSettings", "OptimizerSettings"),
}
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def write_page():
    """Returns the page, a str."""
    scripts = find_scripts()
    groups = {name: group_flags(module.COMMAND) for name, module in scripts.items()}
    shared = find_shared(groups)
    contents = ", ".join(f"[{name}](#{name.replace('.', '')})" for name in scripts)
    sections = [
        write_script(name, module, groups[name], shared) for name, module in scripts.items()
    ]
    tables = [f"\n### {title}\n\n{write_table(fields)}" for title, fields in shared.items()]
    return "\n".join(
        [
            "# Scripts and flags",
            "",
            textwrap.fill(INTRODUCTION, PAGE_WIDTH, break_on_hyphens=False),
            "",
            f"Contents: {contents}, [shared flags](#shared-flags).",
            *sections,
            "",
            "## Shared flags",
            *tables,
            "",
        ]
    )


def group_flags(command):
    """Returns the flags of a script by the classes that define them.

    The dict maps a class to a list of (Field, default).
    """
    groups = {}
    for group in command.settings.groups():
        for field in dataclasses.fields(group):
            if field.metadata and (command.only is None or field.name in command.only):
                owner = next(
                    base
                    for base in reversed(type(group).__mro__)
                    if vars(base).get("__dataclass_fields__", {}).get(field.name) is field
                )
                groups.setdefault(owner, []).append((field, getattr(group, field.name)))
    return groups


def find_shared(groups):
    """Returns the tables of the flags of several scripts.

    The dict maps a title to a list of (Field, default).
    """
    shared = {}
    owners = dict.fromkeys(itertools.chain(*groups.values()))  # In the order of the scripts.
    for owner in owners:
        lists = [each[owner] for each in groups.values() if owner in each]
        if len(lists) > 1:
            shared.setdefault(get_table_title(owner), []).extend(max(lists, key=len))
    return shared


def get_table_title(owner):
    """Returns the title of the table of the flags of a class of settings."""
    return next(
        (title for title, names in TABLES.items() if owner.__name__ in names), get_title(owner)
    )


def find_scripts():
    """Returns a dict of the name of each script, as `python -m` takes it -> module.

    The names are in alphabetical order.
    """
    paths = [
        path
        for folder in FOLDERS
        for pattern in ("*.py", "*/__main__.py")
        for path in (ROOT / folder).glob(pattern)
    ]
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in paths
        if re.search(r"^COMMAND = ", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    return {name.removesuffix(".__main__"): importlib.import_module(name) for name in sorted(names)}


def write_script(name, module, groups, shared):
    """Returns the section of a script.

    It describes what the script does, links to tables of shared flags, and has a table of the
    script's own flags.
    """
    own = []
    used = {}
    for owner, fields in groups.items():
        title = get_table_title(owner)
        if title in shared:
            used.setdefault(title, []).extend(fields)
        else:
            own += fields
    purpose = read_docstring(module).partition("\n\n")[0]
    if used:
        links = "; ".join(
            write_link(title, fields, shared[title]) for title, fields in used.items()
        )
        purpose += f" Shared flags: {links}."
    return "\n".join(["", f"## {name}", "", purpose, *(["", write_table(own)] if own else [])])


def write_link(title, fields, all_fields):
    """Returns a link to a table of shared flags.

    If they differ for a script, the link lists the flags and the defaults of the script.
    """
    text = f"[{title.lower()}](#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')})"
    names, all_names = ([f"`--{field.name}`" for field, _ in each] for each in (fields, all_fields))
    missing = [name for name in all_names if name not in names]
    if len(missing) > len(names):
        text += f", only {', '.join(names)}"
    elif missing:
        text += f", without {', '.join(missing)}"
    defaults = {field.name: default for field, default in all_fields}
    changed = [
        f"`--{field.name}` {default}"
        for field, default in fields
        if default != defaults[field.name]
    ]
    return text + (f", with {', '.join(changed)}" if changed else "")


def write_table(fields):
    """Returns a table of flags; fields: list of (Field, default)."""
    return "\n".join(
        [
            "| flag | type | default | help |",
            "| --- | --- | --- | --- |",
            *(write_flag(field, default) for field, default in fields),
        ]
    )


def read_docstring(module):
    """Returns the docstring of a module with its indentation.

    Python 3.13 removes the indentation from `__doc__`.
    """
    return ast.get_docstring(ast.parse(inspect.getsource(module)), clean=False)


def write_flag(field, default):
    """Returns the row of a flag, from the dataclasses.Field of its setting."""
    if isinstance(default, tuple):
        default = ",".join(map(str, default))
    required = find_required(field)
    if required and required.is_always:
        default = "required"
    elif default in (None, ""):
        default = "none"
    else:
        default = f"`{default}`"
    help_text = re.sub(r"([|*<>])", r"\\\1", re.sub(r"`(\w+)`", r"--\1", describe_rules(field)))
    return f"| `--{field.name}` | {describe_type(field)} | {default} | {help_text} |"


def describe_type(field):
    """Returns the type of a flag in words, with its bounds, or its choices."""
    metadata = field.metadata
    if metadata["choices"]:
        return ", ".join(metadata["choices"])
    kinds = getattr(field.type, "__args__", (field.type,))  # of `int | None` and `tuple[int, ...]`
    words = TYPES[kinds[0]]
    if ... in kinds:
        words += ", repeatable" if metadata["repeated"] else "s, comma-separated"
    bounds = [
        f"{word} {metadata[name]:,}"
        for name, word in (("min_value", "at least"), ("max_value", "at most"))
        if metadata[name] is not None
    ]
    return ", ".join([words, *bounds])


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")
