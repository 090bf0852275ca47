"""run.compare_models: a table and a picture of models beside each other."""

import pytest

from bert_tf.errors import InputError
from run.compression import comparison
from run.compression.settings import ComparisonSettings
from tests import scripts, toy_runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder with a classifier and a tagger."""
    folder = tmp_path_factory.mktemp("comparison")
    toy_runs.write(folder, reference, {name: toy_runs.TASKS[name] for name in ("sst", "tagger")})
    return folder


def test_all_are_compared_with_the_first():
    first = comparison.Measured("a", "saved_model", 100, 4_000_000, 0.8, {1: 0.01, 8: 0.04})
    other = comparison.Measured("b", "litert_int8", 50, 1_000_000, 0.6, {1: 0.004, 8: 0.02})
    row = dict(zip(comparison.HEADER, comparison.rows([first, other])[1], strict=True))
    assert row == {"model": "b", "format": "litert_int8", "parameters": 50, "megabytes": 1.0, "size_divided_by": 4.0,
                   "{metric}": 0.6, "kept": pytest.approx(0.75), "ms_of_1": pytest.approx(4), "speed_of_1": 2.5,
                   "ms_of_8": pytest.approx(20), "speed_of_8": 2.0}


def test_models_of_two_tasks(folder, monkeypatch):
    monkeypatch.chdir(folder)
    settings = ComparisonSettings(("sst", "tagger"), ("saved_model",), "refused", data_dir="sst-2")
    with pytest.raises(InputError, match="`models`=tagger: is of a token_classifier, and sst of a classifier"):
        comparison.run(settings)
    assert not (folder / "refused").exists()


@pytest.mark.parametrize(("flags", "message"), [
    ({}, "--models is required"),
    ({"models": "sst,sst"}, "--models=sst: is named twice"),
    ({"models": "none"}, "--models=none: no such file or folder"),
    ({"models": "sst", "formats": "onnx"}, "--formats=onnx: it must be among saved_model, litert_float32"),
])
def test_flags_that_are_refused(folder, flags, message):
    assert message in scripts.fail("run.compare_models", folder, output_dir="refused", **flags)
