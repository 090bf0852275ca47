"""Toy models, read-only, created once per worker. Tests write to `tmp_path`."""

import pytest
import tensorflow as tf

from bert_tf import models
from tests import toy_runs


@pytest.fixture
def one_device():
    return tf.distribute.OneDeviceStrategy("CPU:0")


@pytest.fixture(scope="session")
def toys(tmp_path_factory, reference):
    """Directory with the data and models of toy_runs.TASKS, of three layers; two further models have no task."""
    folder = tmp_path_factory.mktemp("toys")
    sizes = {"num_hidden_layers": 3}
    toy_runs.write_tasks(folder, reference, **sizes)
    toy_runs.write(folder, reference, {
        "pretrained": (None, models.BertPretrainer), "headless": (None, models.BertEncoder)}, **sizes)
    return folder


@pytest.fixture
def in_toys(toys, monkeypatch):
    """The directory of `toys`, as the current directory."""
    monkeypatch.chdir(toys)
    return toys
