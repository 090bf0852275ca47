"""Changes single lines of the product, and checks that tests fail. Not part of CI.

    python -m tests.mutants                          # 40 mutants, in up to two hours on two cores
    python -m tests.mutants --seed=2 --count=5       # others
    python -m tests.mutants --only=17                # one of them, with the output of its tests

A mutant is a comparison, an operation, a condition, a constant, or a returned value that is
replaced, drawn at random with the seed: the same number of each kind. Its tests run in a copy of
the project, without those that are marked as extra_large: those that are named after the module or
use its names, those of all settings if it has settings, then those of its package. The table names
the test that kills it. A mutant that survives shows a missing test, or code that has no effect.
"""

import argparse
import ast
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parent.parent
FOLDERS = ("bert_tf", "data_prep", "run")
TEST_SECONDS = 120  # For one test: a mutant can loop forever.
PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "--tb=short", "-o", f"timeout={TEST_SECONDS}")
MAX_OWN_TESTS = 4  # Modules with the tests of a module.
LARGE = ("-m", "large and not extra_large")
# Tests of the settings of all scripts.
SETTINGS_TESTS = ("tests/test_reference_page.py", "tests/test_script_flags.py")
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATIONS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    """A change of a line.

    Attributes:
      kind: str. "comparison", "arithmetic", "boolean", "constant", or "return".
      path: str. Path of the file, relative to ROOT.
      line: int. 1-based number of the line.
      start, end: int. Offsets in the UTF-8 bytes of the line.
      before, after: str. The replaced and the new code.
    """

    kind: str
    path: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def apply(self, source):
        """Returns the changed source, bytes."""
        lines = source.splitlines(keepends=True)
        line = lines[self.line - 1]
        lines[self.line - 1] = line[: self.start] + self.after.encode() + line[self.end :]
        return b"".join(lines)


class Outcome(NamedTuple):
    """What the tests found.

    Attributes:
      verdict: str. "killed", "SURVIVED", or "unfinished" if the time ended before the tests.
      test: str. The test that failed, or "none".
    """

    verdict: str
    test: str


def find_mutants(source, path):
    """Yields the Mutants of a file, one for each expression on one line.

    Annotations, docstrings, and parts of texts do not change.
    """
    tree = ast.parse(source)
    for parent in ast.walk(tree):
        for node in _iterate_mutable(parent):
            for kind, mutated in _mutate(node):
                if node.lineno != node.end_lineno:
                    continue
                before = ast.get_source_segment(source, node)
                # Parentheses: the operators of the surrounding expression can bind more tightly.
                after = ast.unparse(mutated)
                if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
                    after = f"({after})"
                yield Mutant(
                    kind, path, node.lineno, node.col_offset, node.end_col_offset, before, after
                )


def _iterate_mutable(parent):
    """Yields the children of a node that can change."""
    if isinstance(parent, ast.JoinedStr):
        return
    for name, value in ast.iter_fields(parent):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.expr | ast.Return):
                yield child


def _mutate(node):
    """Yields the kind and the new node of each mutant of a node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        operators = [COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        yield "comparison", ast.Compare(node.left, operators, node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS and not _is_text(node):
        yield "arithmetic", ast.BinOp(node.left, OPERATIONS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        operator = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "boolean", ast.BoolOp(operator, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "boolean", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "boolean", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield "return", ast.Return(ast.Constant(None))


def _is_text(node):
    """Returns whether an operation has a text, whose difference is an error in any test."""
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in (node.left, node.right)
    )


def draw_mutants(seed, count):
    """Draws this many Mutants of the product: the same number of each kind."""
    by_kind = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            for mutant in find_mutants(path.read_text(encoding="utf-8"), name):
                by_kind.setdefault(mutant.kind, []).append(mutant)
    generator = random.Random(seed)
    shuffled = [generator.sample(mutants, len(mutants)) for _, mutants in sorted(by_kind.items())]
    return [mutant for group in zip(*shuffled, strict=False) for mutant in group][:count]


def find_stages(path):
    """Returns the arguments of pytest for a module, from its own tests to its package's.

    Args:
      path: str. Path of the module, relative to ROOT.

    Returns:
      List of lists of str.
    """
    path = pathlib.PurePosixPath(path)
    folder = pathlib.Path("tests", path.parent)
    while not any((ROOT / folder).rglob("test_*.py")):
        folder = folder.parent
    own = _find_own_tests(path)
    package = folder.as_posix()
    return [
        *([own, [*LARGE, *own]] if own else []),
        *([[*SETTINGS_TESTS]] if path.name == "settings.py" else []),
        [package],
        [*LARGE, package],
        ["/".join(folder.parts[:2])],
    ]


def _find_own_tests(path):
    """Returns the test modules that are named after a module or use most of its names.

    Args:
      path: PurePosixPath of the module, relative to ROOT.

    Returns:
      List of str, at most MAX_OWN_TESTS.
    """
    stem = path.parent.name if path.stem == "__init__" else path.stem
    names = {stem}
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            names.add(node.name)
    scores = {}
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        words = set(re.findall(r"\w+", test.read_text(encoding="utf-8")))
        is_mirrored = test.parent == ROOT / "tests" / path.parent
        is_named = is_mirrored and stem.removesuffix("s") in test.stem
        score = len(names & words) + 2 * is_mirrored + 8 * is_named
        if names & words or is_named:
            scores[test.relative_to(ROOT).as_posix()] = score
    return sorted(scores, key=scores.get, reverse=True)[:MAX_OWN_TESTS]


def run_tests(tree, arguments, output, seconds):
    """Runs pytest in another process.

    Args:
      tree: Path of the copy of the project.
      arguments: List of str. Arguments of pytest.
      output: Path of a file to write to.
      seconds: float. Time after which the process is killed.

    Returns:
      int. Exit status of pytest, or None if it was killed.
    """
    environment = {
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(tree.parent),  # Tests that are killed leave files.
    }
    with open(output, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *PYTEST, *arguments],
            cwd=tree,
            env={**os.environ, **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(max(seconds, 0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def check(mutant, tree, output, limit):
    """Runs the tests of a Mutant.

    Args:
      mutant: Mutant.
      tree: Path of the copy of the project, which is the same again afterward.
      output: Path of a file for the output of the tests.
      limit: float. Seconds for all of its tests.

    Returns:
      Outcome.
    """
    path = tree / mutant.path
    original = path.read_bytes()
    stat = path.stat()
    end = time.monotonic() + limit
    path.write_bytes(mutant.apply(original))
    try:
        for arguments in find_stages(mutant.path):
            status = run_tests(tree, arguments, output, end - time.monotonic())
            if status is None:
                return Outcome("unfinished", f"none in {limit:.0f} seconds")
            if status not in (0, 5):  # 5: no tests.
                text = output.read_text(encoding="utf-8", errors="replace")
                failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
                return Outcome("killed", failed[1] if failed else "the tests do not start")
        return Outcome("SURVIVED", "none")
    finally:
        path.write_bytes(original)
        # Bytecode and compiled code of the original stay valid.
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def copy_project(tree):
    """Copies the files of the project that git tracks or would add."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument("--count", type=int, default=40, help="number of mutants")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the mutants to run")
    parser.add_argument(
        "--limit",
        type=float,
        default=240,
        help="seconds for a mutant, on a machine without other load",
    )
    arguments = parser.parse_args()
    mutants = draw_mutants(arguments.seed, arguments.count)
    numbers = arguments.only or range(1, len(mutants) + 1)
    num_killed = 0
    with tempfile.TemporaryDirectory(prefix="mutants_") as folder:
        tree = pathlib.Path(folder, "project")
        copy_project(tree)
        output = pathlib.Path(folder, "output.txt")
        for number in numbers:
            mutant = mutants[number - 1]
            outcome = check(mutant, tree, output, arguments.limit)
            num_killed += outcome.verdict == "killed"
            print(
                f"{number:2}  {outcome.verdict:10}  {mutant.kind:10}  "
                f"{mutant.path}:{mutant.line}: {mutant.before} -> {mutant.after}  [{outcome.test}]",
                flush=True,
            )
            if arguments.only:
                print(output.read_text(encoding="utf-8", errors="replace"))
    print(f"{num_killed} of {len(numbers)} mutants were killed")


if __name__ == "__main__":
    main()
