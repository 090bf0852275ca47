"""Toy models to compress: read-only, created once per worker. Tests write to `tmp_path`."""

import pytest

from bert_tf import models
from tests import toy_runs


@pytest.fixture(scope="session")
def teachers(tmp_path_factory, reference):
    """Directory with the data and models of toy_runs.TASKS, of three layers; two further models have no task."""
    folder = tmp_path_factory.mktemp("teachers")
    sizes = {"num_hidden_layers": 3}
    toy_runs.write_tasks(folder, reference, **sizes)
    toy_runs.write(folder, reference, {
        "pretrained": (None, models.BertPretrainer), "headless": (None, models.BertEncoder)}, **sizes)
    return folder


@pytest.fixture
def in_teachers(teachers, monkeypatch):
    """The directory of `teachers`, as the current directory."""
    monkeypatch.chdir(teachers)
    return teachers


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
