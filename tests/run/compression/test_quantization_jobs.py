"""Training for int8, and run.measure_quantization."""

import csv
import json

import pytest

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.export import litert
from run.compression.data_settings import DataSettings
from run.compression.quantization.settings import QuantizationSettings
from run.finetuning import job as finetuning_job
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.finetuning.task_settings import ClassificationSettings
from run.finetuning.tasks import Classification
from run.inference import export_evaluation, loading
from run.inference.settings import ExportedModelSettings, ExportEvaluationSettings
from run.settings import ModelSettings, TokenizerSettings, TrainingSettings
from tests import scripts


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder with SST-2's files and a run trained for int8 from its third step on, in out/."""
    folder = tmp_path_factory.mktemp("int8")
    vocabulary = reference / "text" / "vocab.txt"
    entries = len(vocabulary.read_text(encoding="utf-8").splitlines())
    # Wide enough that its matrices have the 1,024 elements from which LiteRT keeps them in int8.
    config = BertConfig(entries, 48, 2, 4, 64, max_position_embeddings=32, type_vocab_size=2, initializer_range=0.2)
    (folder / "bert_config.json").write_text(config.to_json())
    (folder / "sst-2").mkdir()
    for split in ("train", "dev"):
        (folder / "sst-2" / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *(
            f"word {number} the line {'stops' if number % 2 else 'class'}\t{number % 2}" for number in range(24)), ""]))
    settings = FineTuningSettings(
        model=ModelSettings("bert_config.json"), tokenizer=TokenizerSettings(str(vocabulary), max_seq_length=16),
        training=TrainingSettings("out", train_batch_size=8),
        tuning=TuningSettings(do_train=True, do_eval=True, num_train_epochs=2.0, quantize_from_step=2),
        task=ClassificationSettings(task_name="sst-2", data_dir="sst-2"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        finetuning_job.run(Classification, settings, settings.read_config())
    return folder


def test_the_exported_file_scores_as_the_run_said(folder, monkeypatch):
    monkeypatch.chdir(folder)
    servable, _ = loading.load("out", {"static_length": True})
    (folder / "out.tflite").write_bytes(litert.convert(servable, "int8", lengths=(16,), batch_sizes=(8,)))
    export_evaluation.run(ExportEvaluationSettings(
        ModelSettings(init_checkpoint="out"), ExportedModelSettings("out.tflite"), data_dir="sst-2",
        output_file="out.json"), {})
    losses = json.loads((folder / "out.json").read_text())["scores"]["eval_loss"]
    results = dict(line.split(" = ") for line in (folder / "out" / "eval_results.txt").read_text().splitlines())
    assert losses["export"] == pytest.approx(float(results["eval_loss"]), abs=1e-5)
    assert losses["checkpoint"] != pytest.approx(float(results["eval_loss"]), abs=1e-5)
    assert json.loads((folder / "out" / "run.json").read_text())["changeable"]["quantize_from_step"] == 2


def test_what_each_matrix_costs(folder):
    output = scripts.succeed("run.measure_quantization", folder, init_checkpoint="out", data_dir="sst-2",
                             output_file="costs.tsv")
    with open(folder / "costs.tsv", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header[:2] == ["in int8", "eval_accuracy"]
    names = [row[0] for row in rows]
    assert names[:3] == ["nothing", "bert/embeddings/word_embeddings", "bert/encoder/layer_0/attention/self/qkv"]
    assert names[-3:] == ["bert/pooler/dense", "output_weights", "everything"]
    assert len(names) == 1 + 1 + 2 * 4 + 2 + 1
    differences = {row[0]: float(row[4]) for row in rows}
    assert differences["nothing"] == differences["output_weights"] == 0  # the head has too few elements
    assert min(value for name, value in differences.items() if name not in ("nothing", "output_weights")) > 0
    assert all(name in output for name in names)
    assert "no task.json there says that it was fine-tuned" in scripts.fail(
        "run.measure_quantization", folder, init_checkpoint="sst-2", data_dir="sst-2",
        bert_config_file="bert_config.json", vocab_file="out/vocab.txt")


def test_the_table_does_not_take_the_place_of_what_is_read(tmp_path):
    (tmp_path / "dev.txt").write_text("x")
    settings = QuantizationSettings(
        model=ModelSettings(init_checkpoint="model"), data=DataSettings(dev_file=f"{tmp_path}/dev.txt"),
        output_file=f"{tmp_path}/dev.txt")
    with pytest.raises(InputError, match=f"`output_file`={tmp_path}/dev.txt: is `dev_file`, which would be lost"):
        settings.check_places()
