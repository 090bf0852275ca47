"""Finds constants, literals, functions, and axis letters with more than one home.

See `tests.words`, which lists the uses, and the glossary in CONTRIBUTING.md.
"""

import ast
import collections
import io
import re
import tokenize
from typing import NamedTuple

PRODUCT = ("bert_tf/", "data_prep/", "run/")
# Literal -> the file that gives it a name, which others import.
LITERALS = {
    "vocab.txt": "bert_tf/tokenization/vocabulary.py",
    "bert_config.json": "bert_tf/checkpoints/original.py",
    "assets.extra": "bert_tf/checkpoints/saved_models.py",
    "eval_results.txt": "run/training/results.py",
    "run.json": "bert_tf/checkpoints/training_run.py",
    ("input_ids", "input_mask", "segment_ids"): "bert_tf/features.py",
}
# Functions that several modules define: others call them with the name of their module, or as one
# of the functions by kind or format.
PROTOCOLS = {
    "embed": "graph.py and pooling.py compute the same",
    "read": "reads the subject of its module",
    "run": "the job of a module of jobs",
    "write": "writes the subject of its module",
}
# Constants with equal names and values in several modules, which are independent.
INDEPENDENT = {
    "ALL": "a row of two tables",
    "BATCH_SIZES": "of exports, and of measurements",
    "MIN_PROBABILITY": "one is about decoding, and one about entropy",
    "MIX": "a row of two tables",
    "ROWS_AT_A_TIME": "memory of different computations",
    "SEED": "of different random numbers",
    "SHUFFLE_RECORDS": "memory of different records",
}
_LEGEND = re.compile(r"[Ll]egend: (.*?)\.(?:\s|$)", re.DOTALL)
_LETTERS = re.compile(r"[A-Z]{1,2}")
# A shape: letters, words, numbers, and sums or products of them, as in [B, 3 * H, (tokens)].
_SHAPE = re.compile(r"(?<![\w\]\"'`])\[([\w.+*/()|-]+(,?\s+[\w.+*/()|-]+)*)\]")
_TABLE_ROW = re.compile(r"^\| `(\w+)` \| (.*) \|$", re.MULTILINE)


class Home(NamedTuple):
    """A definition at the top of a module."""

    name: str
    value: str  # Code of a constant's value, or of a function's arguments.
    path: str
    line: int


def find_literals(tree, path):
    """Yields (use, line) of the literals that another file has a name for."""
    if not path.startswith(PRODUCT):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            value = node.value
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            value = tuple(getattr(element, "value", None) for element in node.elts)[:3]
        else:
            continue
        if LITERALS.get(value, path) != path:
            yield "literal", node.lineno


def find_homes(tree, path):
    """Returns the Homes of constants and of functions in the product: dict of use to list."""
    homes = {"constant": [], "function": []}
    if not path.startswith(PRODUCT):
        return homes
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            homes["function"].append(Home(node.name, ast.unparse(node.args), path, node.lineno))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if re.fullmatch(r"_?[A-Z][A-Z0-9_]+", name) and _is_literal(node.value):
                value = ast.unparse(node.value)
                homes["constant"].append(Home(name, value, path, node.lineno))
    return homes


def _is_literal(node):
    """Returns whether a value is a literal text, number, or container of these."""
    try:
        return ast.literal_eval(node) is not None
    except ValueError:
        return False


def find_second_homes(homes, exempt=(*INDEPENDENT, *PROTOCOLS)):
    """Yields (use, Home) of the definitions after the first one of a name in another module.

    Constants are the same if their values are equal. Functions are not the same if their arguments
    differ: each has to become one of them, or get another name.

    Args:
      homes: Dict of use to list of Home, in the order of paths.
      exempt: Names of constants and functions to omit.
    """
    constants = collections.defaultdict(list)
    for home in homes["constant"]:
        constants[home.name, home.value].append(home)
    for (name, _), found in constants.items():
        if name not in exempt:
            yield from (("constant", home) for home in found[1:])
    functions = collections.defaultdict(list)
    for home in homes["function"]:
        functions[home.name].append(home)
    for name, found in functions.items():
        if name not in exempt and len({home.value for home in found}) > 1:
            others = [home for home in found if home.path != found[0].path]
            yield from (("function", home) for home in others)


def read_axes(text):
    """Reads the table of axis letters in CONTRIBUTING.md: dict of letters to their meaning."""
    _, found, section = text.partition("\n## Axis letters\n")
    return dict(_TABLE_ROW.findall(section.partition("\n## ")[0])) if found else {}


def find_axes(source, path, axes):
    """Yields (use, line) for each letter of a legend or a shape that is not in `axes`.

    A legend gives letters the same meaning as `axes`. If a module has a legend, it has all letters
    of the shapes in its docstrings and comments.

    Args:
      source: str. Content of the file.
      path: str. Path of the file, relative to the root.
      axes: Dict of letters to their meaning. Without any, nothing is checked.
    """
    if not path.startswith(PRODUCT) or not axes:
        return
    legend = _LEGEND.search(ast.get_docstring(ast.parse(source)) or "")
    known = set(axes)
    if legend:
        entries = [entry.partition(" ") for entry in " ".join(legend[1].split()).split(", ")]
        known = {letters for letters, _, _ in entries}
        for letters, _, meaning in entries:
            if _LETTERS.fullmatch(letters) and meaning != axes.get(letters):
                yield "axis", 1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or token.string.startswith('"""'):
            for shape in _SHAPE.finditer(token.string):
                if {
                    word for word in re.findall(r"\w+", shape[1]) if _LETTERS.fullmatch(word)
                } - known:
                    yield "axis", token.start[0] + token.string.count("\n", 0, shape.start())
