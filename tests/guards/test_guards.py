"""Object graphs, weights after three steps, and operations are equal to tests/reference/guards/.

If an object graph or a summary differs, `python -m tests.guards` shows where, with a record of an earlier tree.
"""

import re

import numpy as np
import pytest

from tests.guards import __main__ as guards
from tests.guards import cases, checkpoints, operations, reference, toy

pytestmark = pytest.mark.timeout(120)  # A test trains each model that it is the first to need.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory in which each case runs once."""
    folder = tmp_path_factory.mktemp("guards")
    toy.write(folder)
    return folder


@pytest.mark.parametrize("name", [*reference.MODELS, *reference.SIZES])
def test_object_graph_of_a_model(name):
    assert reference.digest_model(name) == reference.read("object_graphs")[name]


@pytest.mark.extra_large
@pytest.mark.parametrize("name", reference.TRAINED)
def test_three_steps(folder, name):
    cases.run(name, folder)
    assert reference.digest(checkpoints.list_variables(folder / name)) == reference.read("object_graphs")[name]
    if name not in reference.ROUNDED:
        found = checkpoints.summarize(checkpoints.read(folder / name))
        assert reference.find_difference(reference.read("summaries")[name], found) == ""


@pytest.mark.extra_large
@pytest.mark.parametrize("name", operations.TRAINED)
def test_operations_of_a_step(folder, name):
    found = operations.count_training(name, folder)
    assert reference.describe_increase(reference.read("operations")[f"training/{name}"], found) == ""


@pytest.mark.extra_large
@pytest.mark.parametrize("name", operations.EXPORTS)
def test_operations_of_an_export(folder, name):
    found = operations.count_export(name, folder)
    assert reference.describe_increase(reference.read("operations")[f"export/{name}"], found) == ""


@pytest.mark.extra_large
def test_record_and_compare(tmp_path, capsys):
    before, after = tmp_path / "before", tmp_path / "after"
    for path in (before, after):
        assert guards.record(path, "^classifier$")
    assert guards.compare(before, after)
    with np.load(after / "classifier.npz") as arrays:
        arrays = dict(arrays)
    arrays["training_log/loss"][1] += 0.5
    np.savez(after / "classifier.npz", **arrays)
    assert not guards.compare(before, after)
    assert re.search(r"classifier.npz: 1 of \d+ arrays; training_log/loss: largest difference 0.5",
                     capsys.readouterr().out)
