"""Object graphs, weights after three steps, and operations are equal to tests/reference/guards/.

If an object graph or a summary differs, `python -m tests.guards compare` shows where, with a record of an earlier tree.
"""

import re

import numpy as np
import pytest

from tests.guards import cases, checkpoints, digests, model_graphs, operations, reference, toy

pytestmark = pytest.mark.timeout(120)  # A test trains each model that it is the first to need.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory in which each case runs once."""
    folder = tmp_path_factory.mktemp("guards")
    toy.write(folder)
    return folder


@pytest.mark.parametrize("name", model_graphs.NAMES)
def test_object_graph_of_a_model(name):
    assert reference.digest(model_graphs.list_variables(name)) == reference.read("object_graphs")[name]


@pytest.mark.parametrize("name", reference.TRAINED)
def test_three_steps(folder, name):
    cases.run(name, folder)
    assert reference.digest(checkpoints.list_variables(folder / name)) == reference.read("object_graphs")[name]
    if name not in reference.ROUNDED:
        found = checkpoints.summarize(checkpoints.read(folder / name))
        assert reference.find_difference(reference.read("summaries")[name], found) == ""


@pytest.mark.parametrize("name", operations.TRAINED)
def test_operations_of_a_step(folder, name):
    found = operations.count_training(name, folder)
    assert reference.describe_increase(reference.read("operations")[f"training/{name}"], found) == ""


@pytest.mark.parametrize("name", operations.EXPORTS)
def test_operations_of_an_export(folder, name):
    found = operations.count_export(name, folder)
    assert reference.describe_increase(reference.read("operations")[f"export/{name}"], found) == ""


def test_record_and_compare(tmp_path, capsys):
    path = tmp_path / "record.json"
    assert digests.record(path, "^classifier$")
    assert digests.compare(path)
    with np.load(digests.get_tensors_path(path, "classifier")) as arrays:
        tensors = dict(arrays)
    tensors["training_log|loss"][1] += 1e-3
    np.savez(digests.get_tensors_path(path, "classifier"), **tensors)
    path.write_text(path.read_text().replace('"digest": "', '"digest": "0'))
    assert not digests.compare(path, "class")
    assert re.search(r"classifier: 1 of \d+ tensors; training_log/loss: maximum difference 0.001, .*\n"
                     "1 cases, 1 differ: classifier\n$", capsys.readouterr().out)
