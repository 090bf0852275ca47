"""Counts forms of code that put several things into a line or a name.

    python -m tests.code_form             # the counts
    python -m tests.code_form tuple_copy  # the lines of one of them

`tests/test_code_form.py` limits them. The functions that numba compiles are exempt from the limits
of parameters and of returned values: they accept neither keyword-only arguments nor dataclasses.
"""

import ast
import collections
import pathlib
import re
import sys
from typing import NamedTuple

from tests import message_form

ROOT = pathlib.Path(__file__).parent.parent
FOLDERS = ("bert_tf", "data_prep", "run", "benchmarks", "tests")
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 6
MAX_RETURNED = 2
MIN_TABLE = 4  # Rows and columns of a table whose fields need names.
# numba compiles functions with this decorator.
COMPILED = re.compile(r"^@compiled\ndef (\w+)", re.MULTILINE)
FORMS = {
    "tuple_copy": "assignments of a tuple to a tuple",
    "nested_condition": "conditional expressions inside another one",
    "text_times_flag": "texts or sequences that a condition multiplies",
    "returned_tuple": f"functions that return a tuple of more than {MAX_RETURNED} values",
    "parameters": f"functions with more than {MAX_PARAMETERS} positional parameters",
    "long_function": f"functions of more than {MAX_FUNCTION_LINES} lines",
    "nested_walrus": "assignment expressions inside an argument",
    "locals_as_options": "calls of locals()",
    "raise_in_first_round": "loops that raise in their first round",
    "summary": "docstrings whose first sentence does not fit into its line",
    "undocumented": "public functions and methods of the product without a docstring",
    "other_note": "lines on standard error that bert_tf.notes does not print",
    "positional_table": "tables of tests whose rows are tuples without named fields",
    "empty_part": "parts of a message that nearly any message contains",
    "whole_message": f"tests of more than {message_form.MAX_WORDS} words in a row of a message",
}
PRODUCT = ("bert_tf/", "data_prep/", "run/")
# Modules that write to standard error in another way; each says why.
OTHER_NOTES = {
    "bert_tf/notes.py": "prints all other notes",
    "bert_tf/tensorflow_messages.py": "passes on selected messages of TensorFlow",
    "bert_tf/serving/model.py": "warns the program that calls the library",
    "bert_tf/keras_support/pretrained.py": "warns the program that calls the library",
    "data_prep/tasks/squad/answers.py": "logs details that a program can choose to show",
    "run/training/plots.py": "passes on warnings of Matplotlib",
}
LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


class Finding(NamedTuple):
    """A line with one of FORMS."""

    form: str
    path: str  # Relative to ROOT.
    line: int


def find_forms(source, path, compiled=frozenset()):
    """Yields the Findings in a file.

    Args:
      source: str. Content of the file.
      path: str. Path of the file, relative to ROOT.
      compiled: Names of the functions that numba compiles.
    """
    tree = ast.parse(source)
    if path.startswith("tests/"):
        for line in message_form.find_whole_messages(tree):
            yield Finding("whole_message", path, line)
        for line in message_form.find_empty_parts(tree):
            yield Finding("empty_part", path, line)
    for node in ast.walk(tree):
        forms = []
        if isinstance(node, ast.Assign):
            forms = _check_assignment(node)
        elif isinstance(node, ast.IfExp):
            forms = _check_condition(node)
        elif isinstance(node, ast.BinOp):
            forms = _check_product(node)
        elif isinstance(node, ast.Call):
            forms = _check_call(node)
        elif isinstance(node, ast.For) and isinstance(node.body[0], ast.Raise):
            forms = ["raise_in_first_round"]
        elif isinstance(node, ast.FunctionDef):
            forms = [*_check_function(node, node.name in compiled), *_check_docstring(node)]
        elif isinstance(node, ast.ClassDef | ast.Module):
            forms = _check_docstring(node)
        elif isinstance(node, ast.List | ast.Tuple) and path.startswith("tests/"):
            forms = _check_table(node)
        if path.startswith(PRODUCT):
            forms = [*forms, *_check_product_code(node, path)]
        yield from (Finding(form, path, getattr(node, "lineno", 1)) for form in forms)


def _check_product_code(node, path):
    if isinstance(node, ast.Module) or (
        isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ):
        for part in node.body:
            if (
                isinstance(part, ast.FunctionDef)
                and not part.name.startswith("_")
                and ast.get_docstring(part) is None
            ):
                yield "undocumented"
    if isinstance(node, ast.Call) and path not in OTHER_NOTES and _is_note(node):
        yield "other_note"


def _is_note(node):
    function = ast.unparse(node.func)
    owner, _, method = function.rpartition(".")
    is_log = owner in ("logging", "log", "logger", "_log", "_logger") and method in LOG_METHODS
    streams = [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "file"]
    return (
        (function == "print" and streams == ["sys.stderr"])
        or function in ("sys.stderr.write", "warnings.warn", "warnings.warn_explicit")
        or is_log
    )


def _check_assignment(node):
    is_copy = isinstance(node.value, ast.Tuple | ast.List)
    if is_copy and any(isinstance(target, ast.Tuple) for target in node.targets):
        yield "tuple_copy"


def _check_condition(node):
    if any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse)):
        yield "nested_condition"


def _check_product(node):
    operands = (node.left, node.right)
    if (
        isinstance(node.op, ast.Mult)
        and any(_is_condition(operand) for operand in operands)
        and any(_is_sequence(operand) for operand in operands)
    ):
        yield "text_times_flag"


def _is_condition(node):
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    is_negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func) == "bool"
    return (
        isinstance(node, ast.Compare | ast.BoolOp)
        or is_negation
        or is_call
        or name.startswith(("is_", "has_", "use_"))
    )


def _is_sequence(node):
    if isinstance(node, ast.BinOp):
        return _is_sequence(node.left) or _is_sequence(node.right)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return is_text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def _check_call(node):
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    if any(isinstance(argument, ast.NamedExpr) for argument in arguments):
        yield "nested_walrus"
    if isinstance(node.func, ast.Name) and node.func.id == "locals":
        yield "locals_as_options"


def _check_table(node):
    rows = [row for row in node.elts if isinstance(row, ast.Tuple) and len(row.elts) >= MIN_TABLE]
    if len(rows) == len(node.elts) >= MIN_TABLE:
        yield "positional_table"


def _check_function(node, is_compiled):
    if node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES:
        yield "long_function"
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    num_parameters = len(names) - (names[:1] in (["self"], ["cls"]))
    if num_parameters > MAX_PARAMETERS and not is_compiled:
        yield "parameters"
    returned = [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Return) and isinstance(part.value, ast.Tuple)
    ]
    if any(len(value.elts) > MAX_RETURNED for value in returned) and not is_compiled:
        yield "returned_tuple"


def _check_docstring(node):
    lines = (ast.get_docstring(node) or "").splitlines()
    if len(lines) > 1 and lines[1].strip():
        yield "summary"


def find_compiled(sources):
    """Returns the names of the functions that numba compiles, also those that these call.

    Args:
      sources: Iterable of str. Contents of the files.
    """
    functions = {
        node.name: node
        for source in sources
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
    compiled = {name for source in sources for name in COMPILED.findall(source)}
    compiled &= functions.keys()
    waiting = [*compiled]
    while waiting:
        names = {
            part.func.id
            for part in ast.walk(functions[waiting.pop()])
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
        }
        waiting += [name for name in names if name in functions and name not in compiled]
        compiled |= names & functions.keys()
    return compiled


def find_all(folders=FOLDERS):
    """Returns the list of the Findings in the files of folders of this project."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    compiled = find_compiled(
        [source for path, source in sources.items() if path.is_relative_to(ROOT / "data_prep")]
    )
    return [
        finding
        for path, source in sources.items()
        for finding in find_forms(source, path.relative_to(ROOT).as_posix(), compiled)
    ]


def report(findings, meanings, folders, select):
    """Prints the counts, or the lines of the names that the command line has.

    Args:
      findings: List of objects with `path` and `line`.
      meanings: Dict of name to its description.
      folders: Folders of the columns.
      select: Function of a finding that returns its name.
    """
    for name in sys.argv[1:]:
        for finding in findings:
            if select(finding) == name:
                print(f"{finding.path}:{finding.line}")
    if len(sys.argv) == 1:
        counts = collections.Counter(
            (select(finding), finding.path.split("/")[0]) for finding in findings
        )
        print(f"{'':<22}" + "".join(f"{folder:>11}" for folder in folders))
        for name, meaning in meanings.items():
            numbers = "".join(f"{counts[name, folder]:>11}" for folder in folders)
            print(f"{name:<22}{numbers}   {meaning}")


if __name__ == "__main__":
    report(find_all(), FORMS, FOLDERS, lambda finding: finding.form)
