"""Data goes one way: bert_tf knows nothing of data_prep, and data_prep nothing of run."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
FORBIDDEN = {"bert_tf": {"data_prep", "run", "tests"}, "data_prep": {"run", "tests"}, "run": {"tests"}}


def imported_packages(path):
    """The top-level packages that a Python file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module.split(".")[0]


@pytest.mark.parametrize("package", FORBIDDEN)
def test_no_upward_imports(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        assert not FORBIDDEN[package] & set(imported_packages(path)), path


def test_an_upward_import_would_be_seen(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f():\n    from run.training import flags\n    import data_prep.records as r\n")
    assert set(imported_packages(path)) == {"run", "data_prep"}


@pytest.mark.parametrize("package", FORBIDDEN)
def test_keras_is_tf_keras(package):
    for path in (ROOT / package).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        attributes = {(node.value.id, node.attr) for node in ast.walk(tree)
                      if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
        assert ("tf", "keras") not in attributes, path
