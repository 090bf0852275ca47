"""run.evaluate_models: scores of a checkpoint and of its exports on the development set."""

import json
import re
import shutil

import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TaskMetadata
from run.compression import exported_models
from run.serving.predicting import open_model
from run.serving.settings import PredictionSettings
from tests import scripts, toy_runs
from tests.settings import resolved

pytestmark = pytest.mark.large

CUSTOM = {  # Directory -> metadata, function that creates its model, and run.json.
    "stars": (TaskMetadata("classifier", 20, True), lambda config: models.BertClassifier(config, 1),
              {"regression": True, "label_column": "stars", "data_dir": {"files": 1}}),
    "topics": (TaskMetadata("classifier", 20, True, ("a", "b", "c"), multi_label=True),
               lambda config: models.BertClassifier(config, 3), {"label_separator": ",", "label_column": "topics"}),
}
DATA = {"topics": {"data_dir": "own"}, "stars": {"data_dir": "own"}, "sst": {"data_dir": "sst-2"},
        "tagger": {"dev_file": "dev.txt"}, "squad": {"predict_file": "dev.json"}, "swag": {"dev_file": "dev.csv"}}
EVALUATE, EXPORT = "run.evaluate_models", "run.export_saved_model"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """Development sets, and fine-tuned models of all tasks."""
    folder = tmp_path_factory.mktemp("evaluate")
    toy_runs.write_tasks(folder, reference)
    toy_runs.write(folder, reference, {name: custom[:2] for name, custom in CUSTOM.items()})
    for name, (*_, values) in CUSTOM.items():
        (folder / name / "run.json").write_text(json.dumps({"task_name": "custom", **values}))
    (folder / "own").mkdir()
    rows = [f"{text}\t{number % 3}.5\t{'abc'[number % 3]},c" for number, text in enumerate(toy_runs.TEXTS)]
    for split in ("train", "dev"):
        (folder / "own" / f"{split}.tsv").write_text("\n".join(["text\tstars\ttopics", *rows, ""]))
    return folder


@pytest.fixture(autouse=True)
def current_directory(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(("name", "export", "flags"), [
    *((name, f"served/{name}", {}) for name in ("stars", "topics", "squad")),
    *((name, f"served/{name}/model_float32.tflite", {"format": "litert", "lengths": "12,20", "batch_sizes": "8"})
      for name in ("swag", "tagger"))])
def test_an_export_has_the_scores_of_its_checkpoint(folder, name, export, flags, capsys):
    scripts.run_here(EXPORT, init_checkpoint=name, export_dir=f"served/{name}", **flags)
    scripts.run_here(EVALUATE, models=f"{name},{export}", output_file=f"{name}.json", **DATA[name])
    first, second = json.loads((folder / f"{name}.json").read_text())["models"]
    assert (first["model"], second["model"]) == (name, export)
    assert second["equal_decisions"] == 1
    assert first["scores"]
    assert second["scores"] == pytest.approx(first["scores"], abs=1e-5)
    assert second["bytes"] > 1000
    header, *rows = capsys.readouterr().out.splitlines()[-3:]
    assert header.split()[:2] == ["model", "megabytes"]
    assert [row.split()[0] for row in rows] == [name, export]


def test_another_model_has_other_scores(folder, capsys):
    shutil.copytree(folder / "sst", folder / "other")
    config = BertConfig.from_json_file(str(folder / "sst" / "bert_config.json"))
    other = models.BertClassifier(models.BertEncoder(config, seed=5), 2)
    tf.train.Checkpoint(model=other).write(str(folder / "other" / "ckpt-3"))
    scripts.run_here(EXPORT, init_checkpoint="other", export_dir="served/other", static_length=True)
    scripts.run_here(EVALUATE, models="sst,served/other", output_file="other.json", **DATA["sst"])
    losses = [row["scores"]["eval_loss"] for row in json.loads((folder / "other.json").read_text())["models"]]
    assert abs(losses[0] - losses[1]) > 1e-3
    output = capsys.readouterr().out
    assert all(f"{loss:.4f}" in output for loss in losses)


def test_an_export_requires_a_checkpoint_before_it():
    with pytest.raises(InputError, match=r"^`models`=none\.tflite: is an export, whose data its checkpoint describes"):
        scripts.run_here(EVALUATE, models="none.tflite,sst", **DATA["sst"])


def test_models_that_are_not_exports(tmp_path):
    (tmp_path / "model.tflite").write_text("")
    only_litert = (f"`model`={tmp_path}: contains no SavedModel (expected saved_model.pb); for the LiteRT model, set "
                   f"the file {tmp_path}/model.tflite")
    for path, message in (("sst", "`model`=sst: contains no SavedModel"),
                          ("none.tflite", "`model`=none.tflite: does not exist"), (str(tmp_path), only_litert)):
        with pytest.raises(InputError, match=f"^{re.escape(message)}"):
            exported_models.open_export(path)
    with pytest.raises(InputError, match="for the LiteRT model, set the file "):
        open_model(resolved(PredictionSettings(str(tmp_path), input_file="-", output_file="-")))
