"""From a teacher to an int8 file: distilled, pruned, trained for int8, exported, compared; and what int8 costs."""

import csv
import json
import math

import pytest

from bert_tf.checkpoints import open_checkpoint
from bert_tf.cli import places
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.export import litert
from bert_tf.serving import checkpoint
from bert_tf.serving.settings import of_checkpoint
from data_prep.tasks import classifier
from run.compression import comparison, distillation, pruning
from run.compression.distillation_settings import DistillationSettings, TeachingDataSettings
from run.compression.settings import ComparisonSettings, PruneModelSettings, PruningSettings, QuantizationSettings
from run.finetuning import job as finetuning_job
from run.finetuning.settings import DataSettings, FineTuningSettings, TuningSettings
from run.inference import export_evaluation
from run.inference.settings import ExportedModelSettings, ExportEvaluationSettings
from run.settings import TrainingSettings
from run.techniques.settings import Int8Settings, LossSettings, StudentSettings
from tests import scripts, toy_runs
from tests.settings import resolved

# Wide enough that its matrices have the 1,024 elements from which LiteRT keeps them in int8.
SIZES = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
         "initializer_range": 0.2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder with the teacher sst/ of two layers, and student/, pruned/ and int8/, each made of the one before."""
    folder = tmp_path_factory.mktemp("chain")
    toy_runs.write_data(folder)
    toy_runs.write(folder, reference, {"sst": toy_runs.TASKS["sst"]}, **SIZES)
    (folder / "sst" / "run.json").write_text('{"task_name": "sst-2"}')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        distil("sst", "student")
        prune("student", "pruned")
        train_for_int8("pruned", "int8")
    return folder


def distil(teacher, output_dir):
    settings = resolved(DistillationSettings(
        training=TrainingSettings(output_dir, train_batch_size=6), data=TeachingDataSettings(data_dir="sst-2"),
        tuning=TuningSettings(do_train=True, do_eval=True, num_train_epochs=1.0),
        student=StudentSettings(teacher, student_layers=(1,)), losses=LossSettings(hidden_weight=1.0)))
    distillation.run(settings)


def prune(model, output_dir):
    settings = PruneModelSettings(
        ModelSettings(init_checkpoint=model), data=DataSettings(data_dir="sst-2"),
        pruning=PruningSettings(keep_heads=0.5, keep_neurons=0.5, prune_across="layer"),
        training=TrainingSettings(output_dir, train_batch_size=6))
    pruning.run(resolved(settings))


def train_for_int8(model, output_dir):
    settings = resolved(FineTuningSettings(
        model=ModelSettings(init_checkpoint=model), tokenizer=TokenizerSettings(max_seq_length=20),
        training=TrainingSettings(output_dir, train_batch_size=6),
        tuning=TuningSettings(do_train=True, do_eval=True, num_train_epochs=2.0), int8=Int8Settings(2),
        task=classifier.Settings(task_name="sst-2", data_dir="sst-2")), {})
    finetuning_job.run(settings)


def test_each_model_is_smaller_than_the_one_before(folder):
    sizes = [BertConfig.from_json_file(folder / name / "bert_config.json").layer_sizes
             for name in ("sst", "student", "pruned", "int8")]
    assert sizes == [[(4, 96)] * 2, [(4, 96)], [(2, 48)], [(2, 48)]]
    assert (folder / "int8" / "vocab.txt").read_bytes() == (folder / "sst" / "vocab.txt").read_bytes()


def test_the_int8_file_scores_as_its_training_said(folder, monkeypatch):
    monkeypatch.chdir(folder)
    servable, _ = checkpoint.load(of_checkpoint("int8"), static_length=True)
    (folder / "int8.tflite").write_bytes(litert.convert(servable, "int8", lengths=(20,), batch_sizes=(8,)))
    export_evaluation.run(resolved(ExportEvaluationSettings(
        ModelSettings(init_checkpoint="int8"), ExportedModelSettings("int8.tflite"), data_dir="sst-2",
        output_file="int8.json")))
    losses = json.loads((folder / "int8.json").read_text())["scores"]["eval_loss"]
    results = dict(line.split(" = ") for line in (folder / "int8" / "eval_results.txt").read_text().splitlines())
    assert losses["export"] == pytest.approx(float(results["eval_loss"]), abs=1e-5)
    assert losses["checkpoint"] != pytest.approx(float(results["eval_loss"]), abs=1e-5)
    assert json.loads((folder / "int8" / "run.json").read_text())["changeable"]["quantize_from_step"] == 2


def test_the_last_beside_the_first(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    settings = resolved(ComparisonSettings(("sst", "int8"), ("saved_model", "litert_int8"), "report",
                                           data_dir="sst-2", timed_texts=8))
    comparison.run(settings)
    with open(folder / "report" / "comparison.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [(row["model"], row["format"]) for row in rows] == [
        (model, kind) for model in ("sst", "int8") for kind in settings.formats]
    for row in rows:
        tensors = open_checkpoint(row["model"]).tensors.values()
        assert int(row["parameters"]) == sum(math.prod(tensor.shape) for tensor in tensors)
    results = dict(line.split(" = ") for line in (folder / "int8" / "eval_results.txt").read_text().splitlines())
    assert float(rows[3]["eval_accuracy"]) == pytest.approx(float(results["eval_accuracy"]))
    assert [float(rows[0][name]) for name in ("size_divided_by", "kept", "speed_of_1", "speed_of_8")] == [1] * 4
    assert float(rows[1]["megabytes"]) < float(rows[0]["megabytes"])
    assert all(float(row[f"ms_of_{count}"]) > 0 for row in rows for count in (1, 8))
    assert (folder / "report" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    text = (folder / "report" / "comparison.txt").read_text()
    assert capsys.readouterr().out.endswith(text)
    assert text.splitlines()[0].split()[:4] == ["model", "format", "parameters", "megabytes"]


def test_what_each_matrix_costs(folder):
    output = scripts.succeed("run.measure_quantization", folder, init_checkpoint="int8", data_dir="sst-2",
                             output_file="costs.tsv")
    with open(folder / "costs.tsv", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header[:2] == ["in int8", "eval_accuracy"]
    names = [row[0] for row in rows]
    assert names[:3] == ["nothing", "bert/embeddings/word_embeddings", "bert/encoder/layer_0/attention/self/qkv"]
    assert names[-3:] == ["bert/pooler/dense", "output_weights", "everything"]
    assert len(names) == 1 + 1 + 4 + 2 + 1
    differences = {row[0]: float(row[4]) for row in rows}
    assert differences["nothing"] == differences["output_weights"] == 0  # the head has too few elements
    assert min(value for name, value in differences.items() if name not in ("nothing", "output_weights")) > 0
    assert all(name in output for name in names)
    assert "no task.json there says that it was fine-tuned" in scripts.fail(
        "run.measure_quantization", folder, init_checkpoint="sst-2", data_dir="sst-2",
        bert_config_file="int8/bert_config.json", vocab_file="int8/vocab.txt")


def test_the_table_does_not_take_the_place_of_what_is_read(tmp_path):
    (tmp_path / "dev.txt").write_text("x")
    settings = QuantizationSettings(
        ModelSettings(init_checkpoint="model"), TokenizerSettings(__file__),
        DataSettings(dev_file=f"{tmp_path}/dev.txt"), output_file=f"{tmp_path}/dev.txt")
    with pytest.raises(InputError, match=f"`output_file`={tmp_path}/dev.txt: is `dev_file`, which would be lost"):
        places.check(settings)
