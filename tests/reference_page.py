"""Writes docs/reference.md, the page of all scripts and their flags, from the settings of the scripts.

    python -m tests.reference_page

Does not import TensorFlow.
"""

import ast
import importlib
import inspect
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference.md"
REGENERATE = "python -m tests.reference_page"
FOLDERS = ("data_prep", "run")
HEAD = f"""# Scripts and flags

This page lists the flags of each script with the help texts of `--help`. `{REGENERATE}` generates
it from the settings of the scripts. "Required" means that a command without the flag is rejected. "None" means that the
flag is not set by default. Every script also accepts `--help`, and `--traceback`, which shows the Python traceback of
invalid input.
"""
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def write_page():
    """Returns the page, a str."""
    scripts = find_scripts()
    contents = ",\n".join(f"[{name}](#{name.replace('.', '')})" for name in scripts)
    return "\n".join([HEAD, f"Contents: {contents}.", *(write_script(*each) for each in scripts.items()), ""])


def find_scripts():
    """Returns a dict of the name of each script, as `python -m` takes it -> module, in alphabetical order."""
    paths = [path for folder in FOLDERS
             for pattern in ("*.py", "*/__main__.py") for path in (ROOT / folder).glob(pattern)]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths
             if re.search(r"^COMMAND = ", path.read_text(encoding="utf-8"), re.MULTILINE)]
    return {name.removesuffix(".__main__"): importlib.import_module(name) for name in sorted(names)}


def write_script(name, module):
    """Returns the section of a script: its docstring and a table of its flags."""
    command = module.COMMAND
    rows = [write_flag(field, default) for field, default in command.settings.fields()
            if command.only is None or field.name in command.only]
    return "\n".join(["", f"## {name}", "", write_usage(read_docstring(module)), "", "| flag | type | default | help |",
                      "| --- | --- | --- | --- |", *rows])


def read_docstring(module):
    """Returns the docstring of a module with its indentation, which Python 3.13 removes from `__doc__`."""
    return ast.get_docstring(ast.parse(inspect.getsource(module)), clean=False)


def write_usage(docstring):
    """Returns a docstring as Markdown: an indented paragraph becomes a code block."""
    return "\n\n".join(textwrap.indent(textwrap.dedent(each), "    ") if each.startswith(" ") else each
                       for each in docstring.strip("\n").split("\n\n"))


def write_flag(field, default):
    """Returns the row of a flag, from the dataclasses.Field of its setting."""
    rules = field.metadata
    if isinstance(default, tuple):
        default = ",".join(map(str, default))
    is_required = rules["is_required"] and not any(rules["required"])
    default = "required" if is_required else "none" if default in (None, "") else f"`{default}`"
    help_text = re.sub(r"([|*<>])", r"\\\1", re.sub(r"`(\w+)`", r"--\1", rules["help"]))
    return f"| `--{field.name}` | {describe_type(field)} | {default} | {help_text} |"


def describe_type(field):
    """Returns the type of a flag in words, with its bounds, or its choices."""
    rules = field.metadata
    if rules["choices"]:
        return ", ".join(rules["choices"])
    kinds = getattr(field.type, "__args__", (field.type,))  # of `int | None` and `tuple[int, ...]`
    words = TYPES[kinds[0]]
    if ... in kinds:
        words += ", repeatable" if rules["repeated"] else "s, comma-separated"
    bounds = [f"{word} {rules[name]:,}" for name, word in (("lower", "at least"), ("upper", "at most"))
              if rules[name] is not None]
    return ", ".join([words, *bounds])


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")
