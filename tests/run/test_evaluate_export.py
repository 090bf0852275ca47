"""run.evaluate_export: a checkpoint and its export, judged alike on development data."""

import json
import re
import shutil

import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.export import litert
from bert_tf.model_folder.task_metadata import TaskMetadata
from bert_tf.serving import checkpoint, open_model
from bert_tf.serving.settings import of_checkpoint
from bert_tf.tasks import KINDS
from run.inference import export_evaluation, feature_models
from run.inference.settings import ExportedModelSettings, ExportEvaluationSettings, PredictionSettings
from tests import scripts, toy_runs
from tests.settings import resolved

SQUAD = {"data": [{"title": "t", "paragraphs": [{"context": "The debugger stops at the first line. " * 3, "qas": [
    {"id": str(number), "question": question, "answers": [{"text": "first", "answer_start": 26}]}
    for number, question in enumerate(("What stops?", "Where?", "Which line?"))]}]}]}
TASKS = {
    "stars": (TaskMetadata("classifier", 20, True), lambda config: models.BertClassifier(config, 1)),
    "topics": (TaskMetadata("classifier", 20, True, ("a", "b", "c"), multi_label=True),
               lambda config: models.BertClassifier(config, 3)),
    "sst": (TaskMetadata("classifier", 20, True, ("0", "1")), lambda config: models.BertClassifier(config, 2)),
    "tagger": (TaskMetadata("token_classifier", 20, True, ("B-PER", "I-PER", "O")),
               lambda config: models.BertTokenClassifier(config, 3)),
    "squad": (TaskMetadata("span_labeler", 29, True, doc_stride=5, max_query_length=7), models.BertSpanLabeler),
    "swag": (TaskMetadata("multiple_choice", 20, True), models.BertMultipleChoice),
}
STARTED_WITH = {  # run.json of each, as far as it shapes features
    "stars": {"task_name": "own", "regression": True, "label_column": "stars", "data_dir": {"files": 1}},
    "topics": {"task_name": "own", "label_separator": ",", "label_column": "topics"},
    "sst": {"task_name": "sst-2"}, "tagger": {"token_column": 0, "label_column": -1},
    "squad": {"doc_stride": 5, "max_query_length": 7}, "swag": {"data_format": "swag"},
}
DATA = {"topics": {"data_dir": "own"}, "sst": {"data_dir": "sst-2"}, "tagger": {"dev_file": "dev.txt"},
        "squad": {"predict_file": "dev.json"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder of development data of each task, and of output folders of runs, as TASKS names them."""
    folder = tmp_path_factory.mktemp("evaluate")
    texts = [f"word {number} the line" + " stops" * (number % 5) for number in range(12)]
    for name in ("own", "sst-2"):
        (folder / name).mkdir()
    rows = [f"{text}\t{number % 3}.5\t{'abc'[number % 3]},c" for number, text in enumerate(texts)]
    for split in ("train", "dev"):
        (folder / "own" / f"{split}.tsv").write_text("\n".join(["text\tstars\ttopics", *rows, ""]))
    (folder / "sst-2" / "dev.tsv").write_text("\n".join(
        ["sentence\tlabel", *(f"{text}\t{number % 2}" for number, text in enumerate(texts)), ""]))
    (folder / "dev.txt").write_text("Mary B-PER\nShelley I-PER\nwrote O\n\nShe O\nwrote O\n\n")
    (folder / "dev.json").write_text(json.dumps(SQUAD))
    (folder / "dev.csv").write_text("sent1,sent2,ending0,ending1,ending2,ending3,label\n" + "".join(
        f"It stops.,Then,{text},b,c,d,{number % 4}\n" for number, text in enumerate(texts)))
    toy_runs.write(folder, reference, TASKS)
    for name, started_with in STARTED_WITH.items():
        (folder / name / "run.json").write_text(json.dumps(started_with))
    return folder


@pytest.mark.parametrize("name", ["topics", "tagger", "squad"])
def test_an_export_scores_as_its_checkpoint(folder, name):
    scripts.succeed("run.export_saved_model", folder, init_checkpoint=name, export_dir=f"served/{name}")
    output = scripts.succeed("run.evaluate_export", folder, init_checkpoint=name, model=f"served/{name}",
                             output_file=f"{name}.json", most_lost=0, **DATA[name])
    report = json.loads((folder / f"{name}.json").read_text())
    assert report["decisions"] == report["equal_decisions"] > 2
    for row in report["scores"].values():
        assert row["export"] == pytest.approx(row["checkpoint"], abs=1e-5)
    assert f"{report['decisions']} of {report['decisions']} decisions are the same" in output


@pytest.mark.parametrize("name", ["stars", "swag"])
def test_numbers_and_choices_are_compared(folder, name, monkeypatch):
    monkeypatch.chdir(folder)
    servable, card = checkpoint.load(of_checkpoint(name))
    class Export:
        kind = card.kind

        def __call__(self, features, batch_size):
            answer = {name: value.numpy() for name, value in servable.answer(features).items()}
            return KINDS[card.kind].logits_of(answer)

    monkeypatch.setattr(feature_models, "open_export", lambda path: Export())
    data = {"data_dir": "own"} if name == "stars" else {"dev_file": "dev.csv"}
    settings = ExportEvaluationSettings(ModelSettings(init_checkpoint=name), ExportedModelSettings("served"),
                                        output_file=f"{name}.json", **data)
    export_evaluation.run(resolved(settings))
    report = json.loads((folder / f"{name}.json").read_text())
    assert report["decisions"] == report["equal_decisions"] == 12


@pytest.mark.parametrize("name", ["swag", "tagger"])
def test_a_litert_file_scores_as_its_checkpoint(folder, name, monkeypatch):
    monkeypatch.chdir(folder)
    servable, _ = checkpoint.load(of_checkpoint(name), static_length=True)
    (folder / f"{name}.tflite").write_bytes(litert.convert(servable, lengths=(12, 20), batch_sizes=(8,)))
    settings = ExportEvaluationSettings(
        ModelSettings(init_checkpoint=name), ExportedModelSettings(f"{name}.tflite"), output_file=f"lite_{name}.json",
        dev_file={"swag": "dev.csv", "tagger": "dev.txt"}[name])
    export_evaluation.run(resolved(settings))
    report = json.loads((folder / f"lite_{name}.json").read_text())
    assert report["decisions"] == report["equal_decisions"] > 2
    row = report["scores"]["eval_loss"]
    assert row["export"] == pytest.approx(row["checkpoint"], abs=1e-5)


def test_another_model_scores_otherwise(folder, reference):
    shutil.copytree(folder / "sst", folder / "other")
    config = BertConfig.from_json_file(str(folder / "sst" / "bert_config.json"))
    other = models.BertClassifier(models.BertEncoder(config, seed=5), 2)
    tf.train.Checkpoint(model=other).write(str(folder / "other" / "ckpt-3"))
    scripts.succeed("run.export_saved_model", folder, init_checkpoint="other", export_dir="served/other",
                    static_length=True)
    asked = {"init_checkpoint": "sst", "model": "served/other", **DATA["sst"]}
    output = scripts.succeed("run.evaluate_export", folder, output_file="other.json", **asked)
    row = json.loads((folder / "other.json").read_text())["scores"]["eval_loss"]
    assert abs(row["difference"]) > 1e-3
    assert f"{row['checkpoint']:10.4f}{row['export']:10.4f}{row['difference']:+12.4f}" in output
    done = scripts.run_script("run.evaluate_export", folder, most_lost=-101, **asked)
    assert done.returncode == 1
    assert "--most_lost=-101.0: eval_accuracy fell by " in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(("flags", "message"), [
    ({}, "--init_checkpoint is required"),
    ({"init_checkpoint": "sst"}, "--model is required"),
    ({"init_checkpoint": "sst", "model": "sst", "data_dir": "sst-2"}, "--model=sst: holds no SavedModel"),
    ({"init_checkpoint": "sst", "model": "none.tflite", "data_dir": "sst-2"}, "--model=none.tflite: no such file"),
])
def test_flags_that_are_refused(folder, flags, message):
    assert message in scripts.fail("run.evaluate_export", folder, **flags)


def test_a_folder_of_a_litert_file_alone(tmp_path):
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "model.tflite").write_text("")
    message = (f"`model`={tmp_path}/export: holds no SavedModel (looked for saved_model.pb); of the LiteRT model there "
               f"give the file, {tmp_path}/export/model.tflite")
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        feature_models.open_export(str(tmp_path / "export"))
    with pytest.raises(InputError, match="give the file, "):
        open_model(resolved(PredictionSettings(str(tmp_path / "export"), input_file="-", output_file="-")))
