"""Toy models and their data, read-only, created once per worker. Tests write to `tmp_path`."""

import json

import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.tasks.metadata import TaskMetadata
from tests import toy_runs

SIZES = {"num_hidden_layers": 3}
OTHERS = {  # Models besides toy_runs.TASKS, two of them without a task.
    "pretrained": (None, models.BertPretrainer),
    "headless": (None, models.BertEncoder),
    "stars": (
        TaskMetadata("classifier", 20, True),
        lambda config: models.BertClassifier(config, 1),
    ),
    "topics": (
        TaskMetadata("classifier", 20, True, ("a", "b", "c"), multi_label=True),
        lambda config: models.BertClassifier(config, 3),
    ),
    "pairs": (
        TaskMetadata("classifier", 20, True, ("no", "yes"), pairs=True),
        lambda config: models.BertClassifier(config, 2),
    ),
}
# Settings of the runs that read the data in own/.
STARTED_WITH = {"stars": {"regression": True}, "topics": {"label_separator": ","}}


@pytest.fixture
def one_device():
    return tf.distribute.OneDeviceStrategy("CPU:0")


@pytest.fixture(scope="session")
def toys(tmp_path_factory, reference):
    """Directory with the data and the models of toy_runs.TASKS, OTHERS, and own/.

    The models have three layers.
    """
    folder = tmp_path_factory.mktemp("toys")
    toy_runs.write_tasks(folder, reference, **SIZES)
    toy_runs.write(folder, reference, OTHERS, **SIZES)
    for name, values in STARTED_WITH.items():
        (folder / name / "run.json").write_text(
            json.dumps({"task_name": "custom", "label_column": name, **values})
        )
    (folder / "own").mkdir()
    rows = [
        f"{text}\t{number % 3}.5\t{'abc'[number % 3]},c"
        for number, text in enumerate(toy_runs.TEXTS)
    ]
    for split in ("train", "dev"):
        (folder / "own" / f"{split}.tsv").write_text("\n".join(["text\tstars\ttopics", *rows, ""]))
    return folder


@pytest.fixture
def in_toys(toys, monkeypatch):
    """The directory of `toys`, as the current directory."""
    monkeypatch.chdir(toys)
    return toys
