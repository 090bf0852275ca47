"""run.prune_model: what it takes out of fine-tuned models of each task, and how it goes on after an end."""

import json

import numpy as np
import pytest

from bert_tf import models, run_state
from bert_tf.checkpoints import checkpoint_files, open_checkpoint
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.compression.importance import Importance
from bert_tf.compression.pruning import pruned_config
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.export import litert
from bert_tf.serving import checkpoint
from bert_tf.serving.settings import of_checkpoint
from data_prep.tasks import classifier
from run.compression import pruning as pruning_job
from run.compression import selection
from run.compression.settings import PruneModelSettings, PruningSettings
from run.finetuning import job as finetuning_job
from run.finetuning.fine_tuned import FineTuned
from run.finetuning.settings import DataSettings, FineTuningSettings, TuningSettings
from run.settings import StepSettings, TrainingSettings
from run.techniques.settings import LossSettings
from tests import scripts, state_files, toy_runs
from tests.settings import resolved

FLAGS = {"init_checkpoint": "sst", **toy_runs.DATA["sst"], "train_batch_size": 4, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder of data of each task, and of models as toy_runs names them: one layer, 2 heads, 12 neurons."""
    folder = tmp_path_factory.mktemp("prune")
    toy_runs.write_tasks(folder, reference)
    toy_runs.write(folder, reference, {"encoder": (None, models.BertEncoder)})
    return folder


def prune(name, output_dir, batch_size=4, losses=None, **pruning):
    """Prunes in this process, in the current folder; returns what pruning.json says."""
    settings = PruneModelSettings(
        ModelSettings(init_checkpoint=name), TokenizerSettings(), DataSettings(**toy_runs.DATA.get(name, {})),
        PruningSettings(**pruning), TrainingSettings(output_dir=output_dir, train_batch_size=batch_size),
        losses=LossSettings(**losses or {}))
    pruning_job.run(resolved(settings))
    with open(f"{output_dir}/pruning.json", encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("name", ["tagger", "squad", "swag"])
def test_every_task(folder, name, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    report = prune(name, f"{name}_pruned", batch_size=2, keep_heads=0.5, keep_neurons=0.25)
    assert "measuring importance: 100%" in capsys.readouterr().err
    assert (report["rounds"][0]["heads"], report["rounds"][0]["neurons"]) == ([1], [3])
    assert report["metric"] in report["whole"]["scores"]
    servable, card = checkpoint.load(of_checkpoint(f"{name}_pruned"))
    assert card.kind == toy_runs.TASKS[name][0].kind
    assert servable.config.layer_sizes == [(1, 3)]


def test_nothing_is_taken_out_unless_it_is_asked_for(folder, monkeypatch):
    monkeypatch.chdir(folder)
    report = prune("sst", "same")
    assert report["rounds"][0] == report["whole"]
    assert (folder / "same" / "bert_config.json").read_bytes() == (folder / "sst" / "bert_config.json").read_bytes()
    there, before = (open_checkpoint(str(folder / name)).tensors for name in ("same", "sst"))
    assert there.keys() == before.keys()
    for name, tensor in there.items():
        np.testing.assert_array_equal(tensor.read(), before[name].read(), err_msg=name)


def test_a_number_of_operations():
    """The largest share of heads and neurons that fits; a part of the way in an earlier round."""
    config = BertConfig(100, 32, 2, 8, 64)
    rng = np.random.default_rng(1)
    scores = Importance([rng.random(8) for _ in range(2)], [rng.random(64) for _ in range(2)], 1)

    def share(keep_flops, part=1.0, **settings):
        kept = selection.select(scores, config, config, PruningSettings(keep_flops=keep_flops, **settings), part, 50)
        sizes = pruned_config(config, kept)
        return selection.flops(sizes, 50) / selection.flops(config, 50), sizes

    assert 0.65 < share(0.7)[0] <= 0.7
    assert share(0.7 * selection.flops(config, 50))[1] == share(0.7)[1]
    assert 0.8 < share(0.7, part=0.5)[0] <= 0.85
    assert share(0.5, prune_across="layer")[1].layer_sizes[0] == share(0.5, prune_across="layer")[1].layer_sizes[1]
    with pytest.raises(InputError, match=r"`keep_flops`=0\.02: with one head and one neuron a layer the encoder"):
        share(0.02)


def test_a_smaller_table(folder, monkeypatch, capfd):
    """The pieces of the training data suffice for its texts; factors of the table are trained on like all weights."""
    monkeypatch.chdir(folder)
    report = prune("sst", "table", prune_vocabulary=("sst-2/train.tsv",), embedding_size=3, num_train_epochs=1.0)
    assert "table/vocabulary: eval_accuracy" in capfd.readouterr().out
    whole = prune("sst", "whole")["whole"]
    assert report["whole"]["scores"] == pytest.approx(whole["scores"])
    pieces = (folder / "table" / "vocab.txt").read_text(encoding="utf-8").split()
    config = BertConfig.from_json_file(folder / "table" / "bert_config.json")
    assert len(pieces) == config.vocab_size == report["rounds"][0]["vocab_size"] < whole["vocab_size"] / 2
    assert {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "w", "##w", "2", "##2"} < {*pieces}
    assert "z" not in pieces
    assert config.embedding_size == 3
    tables = [open_checkpoint(str(folder / "table" / name)).tensors["bert/embeddings/embedding_projection"].read()
              for name in ("start", "")]
    assert np.abs(tables[0] - tables[1]).max() > 1e-6
    servable, _ = checkpoint.load(of_checkpoint("table"))
    assert servable.tokenizer.vocab_size == len(pieces)


def test_a_floor(folder, monkeypatch):
    """Scores here are chance: what counts is which model comes out."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(FineTuned, "score", lambda model: {
        "eval_accuracy": {12: 0.9, 9: 0.8, 6: 0.7, 3: 0.6, 1: 0.5}[model.config.layer_sizes[0][1]]})
    steps = {"keep_neurons": 0.0, "rounds": 4}
    report = prune("sst", "floor", least_score=0.65, **steps)
    assert (report["round"], len(report["rounds"])) == (2, 3)
    assert BertConfig.from_json_file(folder / "floor" / "bert_config.json").intermediate_size == 6
    with pytest.raises(InputError, match=r"`least_score`=0\.95: the whole model has eval_accuracy 0\.9000"):
        prune("sst", "never", least_score=0.95, **steps)
    assert not (folder / "never").exists()
    with pytest.raises(InputError, match=r"`keep_flops`=0\.02: with one head and one neuron a layer the encoder"):
        prune("sst", "never", keep_flops=0.02, prune_vocabulary=("sst-2/train.tsv",))
    assert not (folder / "never").exists()


def test_layers_are_checked_before_the_evaluation(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(FineTuned, "score", lambda model: pytest.fail("it must not be evaluated"))
    (folder / "layers").mkdir()
    with pytest.raises(InputError, match=r"`drop_layers`: there is no layer 9, the model has the layers 0 to 0"):
        prune("sst", "layers", drop_layers=(9,))
    assert list((folder / "layers").iterdir()) == []


def test_a_floor_that_no_model_reaches(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(FineTuned, "score", lambda model: {
        "eval_accuracy": {12: 0.9, 3: 0.6}[model.config.layer_sizes[0][1]]})
    with pytest.raises(InputError, match=r"`least_score`=0\.85: no pruned model reaches it; low holds the best, of "
                                         r"round 1, with eval_accuracy 0\.6000"):
        prune("sst", "low", least_score=0.85, keep_neurons=0.25)
    assert BertConfig.from_json_file(folder / "low" / "bert_config.json").intermediate_size == 3


@pytest.mark.parametrize(("changes", "message"), [
    ({"init_checkpoint": "encoder"}, "no task.json there says that it was fine-tuned for a task"),
    ({"output_dir": "sst"}, "--output_dir=sst: is the folder of --init_checkpoint; give another"),
    ({"drop_layers": "1"}, "--drop_layers: there is no layer 1, the model has the layers 0 to 0"),
    ({"keep_flops": 0.5, "keep_heads": 0.5}, "--keep_flops=0.5: cannot be combined with --keep_heads"),
    ({"output_dir": "sst-2"}, "--output_dir=sst-2: is not empty, and has no prune.json to resume from"),
])
def test_what_cannot_be_pruned(folder, changes, message):
    assert message in scripts.last_error("run.prune_model", folder, **FLAGS | {"output_dir": "wrong"} | changes)


@pytest.mark.parametrize(("losses", "pruning", "message"), [
    ({}, {"distill": True}, "`distill`=True: requires `num_train_epochs`"),
    ({}, {"distill": True, "num_train_epochs": 1.0, "prune_vocabulary": ("a",)}, "`distill`=True: cannot "
     "be combined with `prune_vocabulary`; prune the vocabulary first"),
    ({"hidden_weight": 2.0}, {}, "`hidden_weight`=2.0: requires `distill`"),
    ({"replacing_rate": 0.5}, {"distill": True, "num_train_epochs": 1.0},
     "`replacing_rate`=0.5: is of run_distillation alone"),
])
def test_distillation_that_cannot_be(losses, pruning, message):
    with pytest.raises(InputError, match=f"^{message}"):
        PruneModelSettings(pruning=PruningSettings(**pruning), losses=LossSettings(**losses))


def test_a_batch_divides_into_micro_batches():
    with pytest.raises(InputError, match=r"^`train_batch_size`=4: must be a multiple of `accumulate_steps`=3"):
        PruneModelSettings(pruning=PruningSettings(num_train_epochs=1.0), training=TrainingSettings(train_batch_size=4),
                           step=StepSettings(accumulate_steps=3))


STEPS = {"keep_heads": 0.5, "keep_neurons": 0.3, "rounds": 2, "num_train_epochs": 1.0, "distill": True}
LOSSES = {"hidden_weight": 1.0}


@pytest.fixture(scope="module")
def undisturbed(folder):
    """What comes out of STEPS: of two rounds, each followed by an epoch with the whole model as the teacher."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        report = prune("sst", "undisturbed", losses=LOSSES, **STEPS)
    assert [each["neurons"] for each in report["rounds"]] == [[8], [4]]
    assert not (folder / "undisturbed" / "answers").exists()
    log = np.genfromtxt(folder / "undisturbed" / "round_2" / "tuned" / "training_log.csv", delimiter=",", names=True)
    np.testing.assert_allclose(log["loss"], log["logits_loss"] + 0.5 * log["label_loss"] + log["hidden_loss"], 1e-5)
    assert (log["hidden_loss"] > 0).all()
    return folder / "undisturbed"


def test_a_killed_pruning_ends_as_an_undisturbed_one(folder, undisturbed, monkeypatch):
    """It is killed in the training of its second round."""
    command = scripts.command("run.prune_model", init_checkpoint="sst", output_dir="killed", **toy_runs.DATA["sst"],
                              **STEPS, **LOSSES, train_batch_size=4, iterations_per_loop=1, save_checkpoints_steps=1)
    (folder / "killed").mkdir()
    (folder / "killed" / "prune.json.partial").touch()  # of a run that was killed at its very start
    scripts.kill_when(command, folder, (folder / "killed" / "round_2" / "tuned" / "checkpoint").exists)
    assert not (folder / "killed" / "pruning.json").exists()
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match=r"holds a run with `keep_neurons` 0\.3, not 0\.4; choose another folder"):
        prune("sst", "killed", losses=LOSSES, **STEPS | {"keep_neurons": 0.4})
    prune("sst", "killed", losses=LOSSES, **STEPS)
    data, teacher = ["sst-2/train.tsv"], checkpoint_files("sst")
    kept = {"task_name": "sst-2", "teacher": run_state.fingerprint(teacher), "student_checkpoint": "sst",
            **state_files.LOSSES, "hidden_weight": 1.0}
    state_files.assert_holds(folder / "killed" / "prune.json", {
        "init_checkpoint": str(folder / "sst"), "data_dir": run_state.fingerprint(data), **kept,
        "max_seq_length": 20, "keep_heads": 0.5, "keep_neurons": 0.3, "keep_flops": None, "drop_layers": [],
        "embedding_size": None, "prune_vocabulary": [], "prune_across": "model", "importance_examples": 2048,
        "rounds": 2, "num_train_epochs": 1.0, "distill": True, "warmup_proportion": 0.1, "least_score": None,
        "train_batch_size": 4, "random_seed": 12345, **state_files.CHANGEABLE, "optimizer": "adamw"})
    state_files.assert_holds(folder / "killed" / "run.json", {"task_name": "sst-2"})
    for name in ("bert_model.ckpt.data-00000-of-00001", "bert_config.json", "task.json", "run.json", "pruning.json"):
        assert (folder / "killed" / name).read_bytes() == (undisturbed / name).read_bytes(), name


def test_what_comes_out_is_trained_on_and_exported(folder, undisturbed, monkeypatch):
    monkeypatch.chdir(folder)
    settings = resolved(FineTuningSettings(
        model=ModelSettings(init_checkpoint=str(undisturbed)), tokenizer=TokenizerSettings(max_seq_length=20),
        training=TrainingSettings(output_dir="trained_on", train_batch_size=4),
        tuning=TuningSettings(do_train=True, num_train_epochs=1.0),
        task=classifier.Settings(task_name="sst-2", data_dir="sst-2")), {})
    finetuning_job.run(settings)
    servable, _ = checkpoint.load(of_checkpoint("trained_on"), static_length=True)
    assert servable.config.layer_sizes == [(1, 4)]
    (folder / "pruned.tflite").write_bytes(litert.convert(servable, lengths=(20,), batch_sizes=(1,)))
    assert max(litert.largest_differences(servable, str(folder / "pruned.tflite")).values()) < 1e-4
