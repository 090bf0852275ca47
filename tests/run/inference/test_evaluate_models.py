"""run.evaluate_models: scores of a checkpoint and of its exports on the development set."""

import json

import pytest

from tests import scripts
from tests.errors import rejects

pytestmark = [pytest.mark.large, pytest.mark.usefixtures("in_toys")]

EVALUATE = "run.evaluate_models"
EXPORT = "run.export_saved_model"
LITERT = {"format": "litert", "lengths": "12,20", "batch_sizes": "8"}
LITERT_FILE = "served/model_float32.tflite"
DATA = {
    "topics": {"data_dir": "own"},
    "stars": {"data_dir": "own"},
    "sst": {"data_dir": "sst-2"},
    "tagger": {"dev_file": "dev.txt"},
    "squad": {"predict_file": "dev.json"},
    "swag": {"dev_file": "dev.csv"},
}


@pytest.mark.parametrize(
    ("name", "export", "flags"),
    [
        pytest.param("squad", "served", {}, marks=pytest.mark.extra_large),
        ("swag", LITERT_FILE, LITERT),
        pytest.param("stars", "served", {}, marks=pytest.mark.extra_large),
        pytest.param("topics", "served", {}, marks=pytest.mark.extra_large),
        pytest.param("sst", "served", {"static_length": True}, marks=pytest.mark.extra_large),
        pytest.param("tagger", LITERT_FILE, LITERT, marks=pytest.mark.extra_large),
    ],
)
def test_an_export_has_the_scores_of_its_checkpoint(tmp_path, name, export, flags, capsys):
    scripts.run_here(EXPORT, init_checkpoint=name, export_dir=tmp_path / "served", **flags)
    scripts.run_here(
        EVALUATE,
        models=f"{name},{tmp_path / export}",
        output_file=tmp_path / "scores.json",
        **DATA[name],
    )
    first, second = json.loads((tmp_path / "scores.json").read_text())["models"]
    assert (first["model"], second["model"]) == (name, str(tmp_path / export))
    assert second["equal_decisions"] == 1
    assert first["scores"]
    assert second["scores"] == pytest.approx(first["scores"], abs=1e-5)
    assert second["bytes"] > 1000
    header, *rows = capsys.readouterr().out.splitlines()[-3:]
    assert header.split()[:2] == ["model", "megabytes"]
    assert [row.split()[0] for row in rows] == [name, str(tmp_path / export)]


def test_the_size_of_an_openvino_model_includes_its_weights(tmp_path):
    pytest.importorskip("openvino")
    scripts.run_here(EXPORT, init_checkpoint="sst", export_dir=tmp_path, format="openvino")
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    scripts.run_here(
        EVALUATE,
        models=f"sst,{tmp_path / 'model.xml'}",
        output_file=tmp_path / "scores.json",
        **DATA["sst"],
    )
    assert json.loads((tmp_path / "scores.json").read_text())["models"][1]["bytes"] == size


def test_an_export_requires_a_checkpoint_before_it():
    with rejects("models", "is an export", "its checkpoint describes", value="none.tflite"):
        scripts.run_here(EVALUATE, models="none.tflite,sst", **DATA["sst"])


def test_models_that_are_not_exports(tmp_path):
    (tmp_path / "model.tflite").write_text("")
    only_litert = ("contains no SavedModel", "saved_model.pb", f"set {tmp_path}/model.tflite")
    for path, parts in (("none.tflite", ("does not exist",)), (str(tmp_path), only_litert)):
        with rejects("models", *parts, value=path):
            scripts.run_here(EVALUATE, models=f"sst,{path}", **DATA["sst"])
