"""The tiers of tests/conftest.py."""

import subprocess
import sys

import pytest

from tests import conftest, scripts


@pytest.mark.parametrize("entry", conftest.TIERS)
def test_entry_names_tests(entry):
    name, _, test = entry.partition("::")
    path = scripts.ROOT / "tests" / name
    assert path.exists()
    assert not test or f"\ndef {test}(" in path.read_text(encoding="utf-8")
    assert conftest.TIERS[entry] in conftest.MARKERS


def test_longest_entry_applies(monkeypatch):
    monkeypatch.setattr(conftest, "TIERS", {"a": "large", "a/b.py": "extra_large", "a/b.py::c": "large"})
    assert [conftest.get_tier(f"tests/{test}") for test in (
        "a/x.py::c", "a/b.py::d", "a/b.py::c[1]", "a/b.py::cc", "ab/x.py::c", "b.py::c")] == [
            "large", "extra_large", "large", "extra_large", None, None]


@pytest.mark.parametrize("start", [
    lambda: subprocess.run([sys.executable, "-V"], check=False),
    lambda: scripts.run_script("run.predict", help=None),
], ids=["subprocess", "fork server"])
def test_unmarked_test_starts_no_process(start):
    with pytest.raises(AssertionError, match="only tests with a tier"):
        start()
