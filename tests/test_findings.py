"""The index of findings/ lists its scripts, which state and install their versions."""

import pathlib
import re

import pytest

FINDINGS = pathlib.Path(__file__).parent.parent / "findings"
SCRIPTS = sorted(FINDINGS.glob("*.sh"))


def test_index_lists_each_script_once():
    rows = re.findall(r"^\| `(.+?)` \|", (FINDINGS / "README.md").read_text(), re.MULTILINE)
    assert rows == [script.name for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_states_versions_and_pins_its_packages(script):
    first, header, *_ = script.read_text().splitlines()
    assert first == "#!/bin/sh"
    software = header.removeprefix("# Versions: ").partition(", CPython")[0]
    versions = re.findall(r"\b([a-z][\w-]+) (\d+(?:\.\d+)+)", software)
    assert versions, "the second line names the versions"
    for part in ("# Behavior:\n", "# Output:\n", "# Why a good guess is wrong:\n"):
        assert part in script.read_text()
    pins = set(re.findall(r"([a-z][\w-]+)==(\d+(?:\.\d+)+)", script.read_text()))
    assert set(versions) <= pins, "each named version is installed"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_works_in_a_temporary_directory_without_this_project(script):
    text = script.read_text()
    assert "set -eu" in text
    assert "trap 'rm -rf \"$directory\"' EXIT" in text
    assert not re.search(r"\b(bert_tf|data_prep)\b", text)
