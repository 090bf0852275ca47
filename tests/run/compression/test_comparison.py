"""run.compare_models: a table and a picture of models beside each other."""

import csv

import pytest

from bert_tf import models
from bert_tf.errors import InputError
from run.compression.comparison import job, report
from run.compression.comparison.measuring import Measured
from run.compression.comparison.settings import ComparisonSettings
from run.finetuning.task_metadata import TaskMetadata
from tests import scripts, toy_runs

SST = TaskMetadata("classifier", 14, True, ("0", "1"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("comparison")
    (folder / "sst-2").mkdir()
    (folder / "sst-2" / "dev.tsv").write_text("sentence\tlabel\n" + "".join(
        f"word {number} the line{' stops' * (number % 5)}\t{number % 2}\n" for number in range(12)))
    for name, layers in (("large", 2), ("small", 1)):
        (folder / name).mkdir()
        toy_runs.write(folder / name, reference, {
            "sst": (SST, lambda config: models.BertClassifier(config, 2)),
            "tagger": (TaskMetadata("token_classifier", 14, True, ("B-PER", "O")),
                       lambda config: models.BertTokenClassifier(config, 2))}, num_hidden_layers=layers)
        (folder / name / "sst" / "run.json").write_text('{"task_name": "sst-2"}')
    return folder


def test_two_models_in_two_formats(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    settings = ComparisonSettings(("large/sst", "small/sst"), ("saved_model", "litert_float32"), "report",
                                  data_dir="sst-2", timed_texts=8)
    settings.check_files()
    job.run(settings)
    with open(folder / "report" / "comparison.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [(row["model"], row["format"]) for row in rows] == [
        (model, kind) for model in ("large/sst", "small/sst") for kind in ("saved_model", "litert_float32")]
    for number in (0, 2):
        assert float(rows[number]["eval_accuracy"]) == float(rows[number + 1]["eval_accuracy"])
    layer = 4 * (8 * 8 + 8) + 2 * 8 * 12 + 12 + 8 + 4 * 8  # of H = 8 and a feed-forward layer of 12
    assert int(rows[0]["parameters"]) - int(rows[2]["parameters"]) == layer
    assert [float(rows[0][name]) for name in ("size_divided_by", "kept", "speed_of_1", "speed_of_8")] == [1] * 4
    assert all(float(row[f"ms_of_{count}"]) > 0 for row in rows for count in (1, 8))
    assert (folder / "report" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    text = (folder / "report" / "comparison.txt").read_text()
    assert capsys.readouterr().out.endswith(text)
    assert text.splitlines()[0].split()[:4] == ["model", "format", "parameters", "megabytes"]


def test_all_are_compared_with_the_first():
    first = Measured("a", "saved_model", 100, 4_000_000, 0.8, {1: 0.01, 8: 0.04})
    other = Measured("b", "litert_int8", 50, 1_000_000, 0.6, {1: 0.004, 8: 0.02})
    row = dict(zip(report.HEADER, report.rows([first, other])[1], strict=True))
    assert row == {"model": "b", "format": "litert_int8", "parameters": 50, "megabytes": 1.0, "size_divided_by": 4.0,
                   "{metric}": 0.6, "kept": pytest.approx(0.75), "ms_of_1": pytest.approx(4), "speed_of_1": 2.5,
                   "ms_of_8": pytest.approx(20), "speed_of_8": 2.0}


def test_models_of_two_tasks(folder, monkeypatch):
    monkeypatch.chdir(folder)
    settings = ComparisonSettings(("large/sst", "small/tagger"), ("saved_model",), "refused", data_dir="sst-2")
    with pytest.raises(InputError, match="`models`=small/tagger: is of a token_classifier, and large/sst of a classif"):
        job.run(settings)
    assert not (folder / "refused").exists()


@pytest.mark.parametrize(("flags", "message"), [
    ({}, "--models is needed"),
    ({"models": "large/sst,large/sst"}, "--models: large/sst is named twice"),
    ({"models": "none"}, "--models=none: no such file or folder"),
    ({"models": "large/sst", "formats": "onnx"}, "--formats=onnx: it must be among saved_model, litert_float32"),
])
def test_flags_that_are_refused(folder, flags, message):
    assert message in scripts.fail("run.compare_models", folder, output_dir="refused", **flags)
