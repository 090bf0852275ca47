"""The wheel that `pip install` builds, pinned versions, and the Python of `make setup`."""

import subprocess
import sys
import tomllib
import zipfile

import pytest
from packaging.requirements import Requirement

from tests import scripts
from tests.errors import check_message

pytestmark = pytest.mark.large

PACKAGES = ("bert_tf", "data_prep", "run")
PROJECT = tomllib.loads((scripts.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read_pins(name):
    lines = (scripts.ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = [line.partition(";")[0].split("==") for line in lines if not line.startswith("#")]
    return {package.lower().replace("_", "-"): version for package, version in pins}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, a ZipFile, of a copy of the files that git lists."""
    source = tmp_path_factory.mktemp("source")
    target = tmp_path_factory.mktemp("wheel")
    for name in list_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((scripts.ROOT / name).read_bytes())
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--disable-pip-version-check",
            "-w",
            target,
            source,
        ],
        check=True,
        capture_output=True,
    )
    with zipfile.ZipFile(next(target.glob("bert_tf-*-py3-none-any.whl"))) as file:
        yield file


def list_files():
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
        cwd=scripts.ROOT,
    ).stdout.splitlines()
    return [name for name in names if (scripts.ROOT / name).is_file()]


def test_the_wheel_contains_all_files_of_the_packages_and_no_others(wheel):
    names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert sorted(names) == sorted(name for name in list_files() if name.split("/")[0] in PACKAGES)
    assert "run/analysis/web/page.html" in names


def test_the_wheel_states_its_requirements_and_the_command(wheel):
    read = lambda name: wheel.read(
        next(each for each in wheel.namelist() if each.endswith(name))
    ).decode()
    metadata = read(".dist-info/METADATA")
    assert "Requires-Python: <3.14,>=3.11" in metadata
    assert "Requires-Dist: tensorflow<2.22,>=2.20\n" in metadata
    assert "bert-tf = bert_tf.cli.commands:main" in read(".dist-info/entry_points.txt")


def test_requirements_pin_the_direct_dependencies():
    direct = read_pins("requirements.txt")
    others = read_pins("constraints.txt")
    ranges = {
        each.name.lower(): each.specifier for each in map(Requirement, PROJECT["dependencies"])
    }
    assert direct.keys() == ranges.keys()
    assert all(ranges[name].contains(version) for name, version in direct.items())
    assert not direct.keys() & others.keys()
    development = [
        Requirement(each)
        for extra in ("beam", "dask", "serving", "test", "dev")
        for each in PROJECT["optional-dependencies"][extra]
    ]
    for requirement in development:
        if requirement.name != "bert-tf":
            assert requirement.specifier.contains(others[requirement.name]), requirement.name


def test_the_pins_of_tensorflow_2_21():
    pins = read_pins("constraints-2.21.txt")
    default = {**read_pins("requirements.txt"), **read_pins("constraints.txt")}
    assert pins.keys() <= default.keys()
    for requirement in map(Requirement, PROJECT["dependencies"]):
        name = requirement.name.lower()
        assert requirement.specifier.contains(pins.get(name, default[name])), name
    differing = {name for name, version in pins.items() if version != default[name]}
    assert differing == pins.keys()


@pytest.mark.parametrize(
    ("version", "found"), [(None, "no {python}"), ("3.10.13", "{python} is Python 3.10.13")]
)
def test_make_without_a_suitable_python(tmp_path, version, found):
    python = tmp_path / "python"
    if version:
        python.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo Python {version}\n")
        python.chmod(0o755)
    done = subprocess.run(
        ["make", "-s", "setup", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"],
        text=True,
        capture_output=True,
        check=False,
        cwd=scripts.ROOT,
    )
    assert done.returncode == 2
    required, *advice = done.stderr.splitlines()[:-1]
    found = found.format(python=python)
    check_message(required, None, "Python 3.11, 3.12, or 3.13", "ensurepip", end=f"found: {found}")
    assert [line.split(": ") for line in advice] == [
        ["  Debian 12, Ubuntu 24.04, or later", "sudo apt install python3 python3-venv"],
        ["  macOS", "brew install python@3.13"],
        ["  any other location", "make PYTHON=/path/to/python3.12"],
    ]
    assert not (tmp_path / "venv").exists()
