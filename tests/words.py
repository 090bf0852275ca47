"""Finds retired uses of words: see the glossary in CONTRIBUTING.md.

    python -m tests.words        # the counts
    python -m tests.words place  # the lines of one of them

`tests/test_words.py` requires that there are none.
"""

import ast
import io
import pathlib
import re
import tokenize
from typing import NamedTuple

from tests.code_form import report

ROOT = pathlib.Path(__file__).parent.parent
FOLDERS = ("bert_tf", "data_prep", "run", "benchmarks")
USES = {
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
    for node in ast.walk(ast.parse(source)):
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


def find_all(folders=FOLDERS):
    """Returns the list of the Findings in the files of folders of this project."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [
        finding
        for path in paths
        for finding in find_uses(
            path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
        )
    ]


if __name__ == "__main__":
    report(find_all(), USES, FOLDERS, lambda finding: finding.use)
