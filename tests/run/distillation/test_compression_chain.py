"""From a teacher to an int8 file: distilled, pruned, trained for int8, exported, and compared.

The cost of int8 is measured, too.
"""

import json
import math

import pytest

from bert_tf.checkpoints import open_checkpoint
from bert_tf.serving import checkpoint, litert
from run.inference.served_models import resolve_checkpoint
from run.training.results import read_results
from tests import scripts, toy_runs

pytestmark = pytest.mark.extra_large

# Wide enough that its matrices have the 1,024 elements from which LiteRT keeps them in int8.
SIZES = {
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "initializer_range": 0.2,
}
DATA = {"data_dir": "sst-2"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """Directory with sst/, student/, pruned/, and int8/, each made from the previous one.

    The teacher, sst/, has two layers.
    """
    folder = tmp_path_factory.mktemp("chain")
    toy_runs.write_data(folder)
    toy_runs.write(folder, reference, {"sst": toy_runs.TASKS["sst"]}, **SIZES)
    (folder / "sst" / "run.json").write_text('{"task_name": "sst-2"}')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        scripts.run_here(
            "run.run_distillation",
            teacher="sst",
            output_dir="student",
            student_layers=1,
            hidden_weight=1,
            train_batch_size=6,
            num_train_epochs=1,
            **DATA,
        )
        scripts.run_here(
            "run.prune_model",
            init_checkpoint="student",
            output_dir="pruned",
            keep_heads=0.5,
            keep_neurons=0.5,
            train_batch_size=6,
            **DATA,
        )
        scripts.run_here(
            "run.run_classifier",
            init_checkpoint="pruned",
            output_dir="int8",
            task_name="sst-2",
            do_train=True,
            do_eval=True,
            max_seq_length=20,
            train_batch_size=6,
            num_train_epochs=2,
            quantize_from_step=2,
            **DATA,
        )
        yield folder


def test_the_int8_file_has_the_loss_of_its_training(folder):
    servable = checkpoint.load_servable(
        **resolve_checkpoint("int8").servable_options | {"static_length": True, "layer": "litert"}
    )
    (folder / "int8.tflite").write_bytes(
        litert.convert_servable(servable, "int8", lengths=(20,), batch_sizes=(8,))
    )
    scripts.run_here(
        "run.evaluate_models", models="int8,int8.tflite", output_file="int8.json", **DATA
    )
    losses = [
        row["scores"]["eval_loss"]
        for row in json.loads((folder / "int8.json").read_text())["models"]
    ]
    expected = read_results("int8/eval_results.txt")["eval_loss"]
    assert losses[1] == pytest.approx(expected, abs=1e-5)
    assert losses[0] != pytest.approx(expected, abs=1e-5)
    assert (
        json.loads((folder / "int8" / "run.json").read_text())["changeable"]["quantize_from_step"]
        == 2
    )


def test_the_cost_of_each_matrix_in_int8(folder, capsys):
    scripts.run_here(
        "run.evaluate_models",
        models="int8,student",
        output_file="costs.json",
        int8_matrices=True,
        **DATA,
    )
    output = capsys.readouterr().out
    report = json.loads((folder / "costs.json").read_text())
    assert [row["model"] for row in report["models"]] == ["int8", "student"]
    for row in report["models"]:
        tensors = open_checkpoint(row["model"]).tensors.values()
        assert row["bytes"] == 4 * sum(math.prod(tensor.shape) for tensor in tensors)
        assert min(row["milliseconds"].values()) > 0
    rows = report["int8"]
    names = [row["matrix"] for row in rows]
    assert names[:3] == [
        "nothing",
        "bert/embeddings/word_embeddings",
        "bert/encoder/layer_0/attention/output/dense",
    ]
    assert names[-3:] == ["bert/pooler/dense", "output_weights", "everything"]
    assert len(names) == 1 + 1 + 4 + 2 + 1
    differences = {row["matrix"]: row["largest_difference"] for row in rows}
    # The head has too few elements for int8.
    unchanged = {name for name, value in differences.items() if value == 0}
    assert unchanged == {"nothing", "output_weights"}
    assert all(name in output for name in names)
