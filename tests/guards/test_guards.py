"""Object graphs, weights after three steps, and operations are equal to tests/reference/guards/.

If an object graph or a summary differs, `python -m tests.guards` shows where, with a record of an
earlier tree.
"""

import pytest

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
    assert (
        reference.digest(checkpoints.list_variables(folder / name))
        == reference.read("object_graphs")[name]
    )
    if name not in reference.ROUNDED:
        found = checkpoints.summarize(checkpoints.read(folder / name))
        assert reference.find_difference(reference.read("summaries")[name], found) == ""


@pytest.mark.extra_large
@pytest.mark.parametrize("name", operations.TRAINED)
def test_operations_of_a_step(folder, name):
    found = operations.count_training(name, folder)
    assert (
        reference.describe_increase(reference.read("operations")[f"training/{name}"], found) == ""
    )


@pytest.mark.extra_large
@pytest.mark.parametrize("name", operations.EXPORTS)
def test_operations_of_an_export(folder, name):
    found = operations.count_export(name, folder)
    assert reference.describe_increase(reference.read("operations")[f"export/{name}"], found) == ""
