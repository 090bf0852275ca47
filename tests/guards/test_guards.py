"""Object graphs, weights after three steps, and operations are equal to tests/reference/guards/.

The relative tolerance of weights is 1e-4, `reference.TOLERANCE`. `python -m tests.guards check` runs all cases.
"""

import pytest

from tests.guards import cases, checkpoints, model_graphs, operations, reference, toy

ROUNDED = ("classifier_float16",)  # the rounding depends on the machine
TRAINED = ("classifier", "windows", "tagger", "squad_v2", "multiple_choice", "pretraining", "packed_pretraining",
           "lora", "theseus", "narrow_student", "frozen_features", *ROUNDED)

pytestmark = pytest.mark.timeout(120)  # a test trains each model that it is the first to need


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory in which each case runs once."""
    folder = tmp_path_factory.mktemp("guards")
    toy.write(folder)
    return folder


@pytest.mark.parametrize("name", model_graphs.NAMES)
def test_object_graph_of_a_model(name):
    assert reference.graph_difference(name, model_graphs.lines(name)) == ""


@pytest.mark.parametrize("name", TRAINED)
def test_three_steps(folder, name):
    cases.run(name, folder)
    assert reference.graph_difference(name, checkpoints.object_graphs(folder / name)) == ""
    if name not in ROUNDED:
        assert reference.summary_difference(name, checkpoints.summary(checkpoints.read(folder / name))) == ""


@pytest.mark.parametrize("name", operations.TRAINED)
def test_operations_of_a_step(folder, name):
    assert reference.operations_difference(f"training/{name}", operations.of_training(name, folder)) == ""


@pytest.mark.parametrize("name", operations.OF_KINDS)
def test_operations_of_an_export(folder, name):
    assert reference.operations_difference(f"export/{name}", operations.of_export(name, folder)) == ""


def test_operations_of_a_litert_model(folder):
    assert reference.operations_difference("litert/classifier", operations.of_litert("classifier", folder)) == ""


def test_what_differs_is_named():
    lines = model_graphs.lines("models/classifier")
    assert reference.graph_difference("models/classifier", [*lines[1:], "new"]) == f"- {lines[0]}\n+ new"
    assert reference.graph_difference("models/classifier", lines[::-1]) == "the same lines, reordered"
    summary = reference.read(reference.SUMMARIES)["tagger"]
    assert reference.summary_difference("tagger", {**summary, "others": summary["others"] * 1.001}).startswith("others")
    counts = reference.read(reference.OPERATIONS)["training/classifier"]
    assert "operations, not" in reference.operations_difference("training/classifier", {**counts, "Cast": 10**6})
