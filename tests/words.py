"""Finds retired uses of words: see the glossary in CONTRIBUTING.md.

    python -m tests.words                  # the counts
    python -m tests.words place            # the lines of one of them
    python -m tests.words --root=DIRECTORY # the counts of another tree

`tests/test_words.py` requires that there are none. `tests.word_rules` has the rules of words in
identifiers, and `tests.homes` those of names with one home.
"""

import ast
import io
import pathlib
import re
import sys
import tokenize
from typing import NamedTuple

from tests import homes, word_rules
from tests.code_form import report

ROOT = pathlib.Path(__file__).parent.parent
FOLDERS = ("bert_tf", "data_prep", "run", "benchmarks")
USES = {
    "pack": "'pack', for [CLS] a [SEP] or random bits",
    "encode": "'encode', for text to an embedding, to bytes, or the outputs of the encoder",
    "kind": "'kind', for a format, a type, or a layer map",
    "checkpoint": "'checkpoint', for a path or the name of an argument",
    "task": "'task', for settings",
    "run": "'run', for an identifier or the content of a file",
    "window": "'window', for rows that are sorted together, and a second class Window",
    "draw": "'draw', for creating a Drop or plotting",
    "step": "'step', for settings",
    "phase": "'phase', for settings or a tuple",
    "padding": "names of what happens to padding, other than Padding",
    "max_": "upper limits that are not named max_",
    "min_": "lower limits that are not named min_",
    "axis": "letters of a shape legend with another meaning than in CONTRIBUTING.md",
    "constant": "constants that another module has",
    "literal": "literals that a constant has",
    "function": "functions with the name of another one with other arguments",
    "place": "'place', for a file, an index, an offset, or a location in a message",
    "settings_class": "a class of settings whose name does not have its subject",
    "backquotes": "an InputError whose message begins with an argument, instead of naming it",
}
SETTINGS_HOME = "bert_tf/cli/settings.py"  # Of the base class `Settings`.
ERRORS_HOME = "bert_tf/errors.py"  # Writes the arguments of messages.
# Parts of identifiers: `first_place`, `PLACES`, `_Place`.
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_IDIOM = re.compile(r"\b(in|took|takes?|taken|taking)\s+place\b", re.IGNORECASE)
_PLACE = re.compile(r"\bplaces?\b", re.IGNORECASE)
# The argument of a message that is about it alone: "`name`=value: ", or "`name` must ...".
_ARGUMENT = re.compile(r"`(\w+`(=| (?!and|or)).*)?$", re.DOTALL)


class Finding(NamedTuple):
    """A line with one of USES."""

    use: str
    path: str  # Relative to ROOT.
    line: int


def find_uses(source, path):
    """Yields the Findings in a file.

    Args:
      source: str. Content of the file.
      path: str. Path of the file, relative to ROOT.
    """
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if _is_place(token):
            yield Finding("place", path, token.start[0])
    tree = ast.parse(source)
    for use, line in word_rules.find_retired(tree, path):
        yield Finding(use, path, line)
    for use, line in homes.find_literals(tree, path):
        yield Finding(use, path, line)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Settings" and path != SETTINGS_HOME:
            yield Finding("settings_class", path, node.lineno)
        if isinstance(node, ast.Call) and path != ERRORS_HOME and _has_backquotes(node):
            yield Finding("backquotes", path, node.lineno)


def _is_place(token):
    """Returns whether a token is an identifier, a comment, or a text with `place`."""
    if token.type == tokenize.NAME:
        return any(part.lower() in ("place", "places") for part in _PART.findall(token.string))
    if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
        return _PLACE.search(_IDIOM.sub("", token.string)) is not None
    return False


def _has_backquotes(call):
    """Returns whether a call creates an InputError whose message begins with an argument."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "InputError"):
        return False
    if len(call.args) != 1:
        return False
    message = call.args[0]
    first = message.values[0] if isinstance(message, ast.JoinedStr) else message
    return (
        isinstance(first, ast.Constant)
        and isinstance(first.value, str)
        and _ARGUMENT.match(first.value) is not None
    )


def find_all(root=ROOT, folders=FOLDERS):
    """Returns the list of the Findings in the files of folders of a tree.

    Letters have the meanings of this tree's CONTRIBUTING.md.
    """
    axes = homes.read_axes((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    findings = []
    for path, source in _read_sources(root, folders):
        findings += find_uses(source, path)
        findings += (Finding(use, path, line) for use, line in homes.find_axes(source, path, axes))
    for use, home in homes.find_second_homes(find_all_homes(root, folders)):
        findings.append(Finding(use, home.path, home.line))
    return findings


def find_all_homes(root=ROOT, folders=FOLDERS):
    """Returns the Homes in the files of folders of a tree; see `homes.find_homes`."""
    found_homes = {"constant": [], "function": []}
    for path, source in _read_sources(root, folders):
        for use, found in homes.find_homes(ast.parse(source), path).items():
            found_homes[use] += found
    return found_homes


def _read_sources(root, folders):
    """Yields the path relative to `root` and the content of each Python file in folders."""
    for file in sorted(file for folder in folders for file in (root / folder).rglob("*.py")):
        yield file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")


def _read_root():
    """Removes --root from the command line, and returns the root of the tree."""
    for argument in sys.argv[1:]:
        name, _, value = argument.partition("=")
        if name == "--root":
            sys.argv.remove(argument)
            return pathlib.Path(value)
    return ROOT


if __name__ == "__main__":
    report(find_all(_read_root()), USES, FOLDERS, lambda finding: finding.use)
