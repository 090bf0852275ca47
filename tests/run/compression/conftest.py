"""Toy models to prune, read-only."""

import pytest

from tests import toy_runs


@pytest.fixture(scope="session")
def flat(tmp_path_factory, reference):
    """Directory with the data and models of toy_runs.TASKS: one layer, 2 heads, 12 neurons."""
    folder = tmp_path_factory.mktemp("flat")
    toy_runs.write_tasks(folder, reference)
    return folder


@pytest.fixture
def in_flat(flat, monkeypatch):
    """The directory of `flat`, as the current directory."""
    monkeypatch.chdir(flat)
    return flat
