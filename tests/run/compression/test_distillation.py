"""run.run_distillation: students of each task, resuming, and the saved outputs of the teacher."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import checkpoint_files, load_pretrained, open_checkpoint
from bert_tf.cli import run_state
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests import scripts, state_files, toy_runs
from tests.run.compression.students import ALL_LOSSES, assert_losses_add_up, read_log

pytestmark = pytest.mark.large

QUICK = {"train_batch_size": 4, "num_train_epochs": 2.0, "learning_rate": 1e-2}
LONGER = {**ALL_LOSSES, "num_train_epochs": 4.0, "save_checkpoints_steps": 3, "keep_checkpoint_max": 9}


def distill(teacher, output_dir, **flags):
    """Runs the script in this process, in the current directory."""
    scripts.run_here("run.run_distillation", **get_flags(teacher, output_dir, **flags))


def get_flags(teacher, output_dir, **flags):
    return {"teacher": teacher, "output_dir": output_dir, **toy_runs.DATA[teacher], **QUICK, **flags}


@pytest.mark.parametrize(("name", "flags", "stores"), [
    ("tagger", {}, False), ("squad", {}, True),
    ("swag", {"keep_answers": False, "unlabeled_file": "dev.csv", "train_file": None, "label_weight": 0}, False)])
def test_each_task_has_students(in_teachers, tmp_path, name, flags, stores):
    student = tmp_path / "student"
    distill(name, student, student_layers="0,2", answers_dir=tmp_path / "stored" if stores else None, **flags,
            **ALL_LOSSES)
    assert_losses_add_up(read_log(student), flags.get("label_weight", 0.5))
    assert BertConfig.from_json_file(student / "bert_config.json").num_hidden_layers == 2
    assert {"task.json", "vocab.txt", "eval_results.txt", "checkpoint"} < {path.name for path in student.iterdir()}
    assert not (student / "answers").exists()
    assert (tmp_path / "stored").exists() == stores
    if name == "tagger":
        teacher = checkpoint_files(str(in_teachers / name))
        state_files.assert_holds(student / "run.json", {
            "train_file": run_state.fingerprint([str(in_teachers / "dev.txt")]), "token_column": 0, "label_column": -1,
            "document_context": False, "teacher": run_state.fingerprint(teacher), "student_layers": [0, 2],
            **state_files.LOSSES, "hidden_weight": 1.0, "attention_weight": 0.5, "cls_weight": 2.0,
            "max_seq_length": 20, "train_batch_size": 4, "group_by_length": True,
            "replacing_rate": None, "random_seed": 12345, "freeze_layers": None, "layerwise_learning_rate_decay": 1.0,
            "lora_rank": None, "changeable": {
                **state_files.CHANGEABLE, "learning_rate": 0.01, "num_train_epochs": 2.0, "warmup_proportion": 0.1}})


@pytest.fixture(scope="module")
def narrow_student(teachers, tmp_path_factory):
    """Directory with `whole`, an uninterrupted run of a narrower student, and the teacher's outputs."""
    folder = tmp_path_factory.mktemp("narrow_student")
    config = BertConfig.from_json_file(teachers / "sst" / "bert_config.json").to_dict()
    (folder / "narrow.json").write_text(json.dumps({**config, "hidden_size": 6, "num_hidden_layers": 2}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(teachers)
        distill("sst", folder / "whole", **get_narrow_flags(folder))
    return folder


def get_narrow_flags(folder):
    return {**LONGER, "student_config_file": folder / "narrow.json", "answers_dir": folder / "answers"}


def assert_same_checkpoints(first, second):
    """Compares all variables of the last checkpoints, for example projection and step."""
    first, second = (tf.train.load_checkpoint(str(folder)) for folder in (first, second))
    names = [name for name in first.get_variable_to_shape_map() if "CHECKPOINTABLE" not in name]
    assert any("projection/kernel" in name for name in names)
    for name in names:
        np.testing.assert_array_equal(first.get_tensor(name), second.get_tensor(name), err_msg=name)


@pytest.mark.extra_large
@pytest.mark.usefixtures("in_teachers")
def test_a_resumed_run_ends_like_an_uninterrupted_one(narrow_student, tmp_path, capsys):
    flags = get_narrow_flags(narrow_student)
    shutil.copytree(narrow_student / "whole", tmp_path / "resumed")
    (tmp_path / "resumed" / "checkpoint").write_text('model_checkpoint_path: "ckpt-3"\n')
    distill("sst", tmp_path / "resumed", **flags)
    output = capsys.readouterr().out
    assert "reusing the teacher outputs" in output
    assert "resuming at step 3 of 12" in output
    assert_same_checkpoints(narrow_student / "whole", tmp_path / "resumed")
    with pytest.raises(InputError, match=r"contains a run with `hidden_weight` 1\.0, not 3\.0"):
        distill("sst", tmp_path / "resumed", **{**flags, "hidden_weight": 3})


@pytest.mark.extra_large
@pytest.mark.timeout(240)  # It trains twice.
def test_a_killed_run_ends_like_an_uninterrupted_one(teachers, narrow_student, tmp_path):
    flags = get_flags("sst", tmp_path / "killed", **get_narrow_flags(narrow_student))
    command = scripts.command("run.run_distillation", **flags, iterations_per_loop=1)
    scripts.kill_when(command, teachers, (tmp_path / "killed" / "checkpoint").exists)
    assert "resuming at step" in scripts.succeed("run.run_distillation", teachers, **flags)
    assert_same_checkpoints(narrow_student / "whole", tmp_path / "killed")


def test_the_projection_is_not_part_of_the_student(in_teachers, narrow_student):
    assert not [name for name in open_checkpoint(str(narrow_student / "whole")).tensors if "projection" in name]
    results = narrow_student / "whole" / "eval_results.txt"
    before = results.read_text()
    scripts.run_here("run.run_classifier", task_name="sst-2", data_dir="sst-2", output_dir=narrow_student / "whole",
                     max_seq_length=20, do_eval=True)
    assert results.read_text() == before


@pytest.mark.extra_large
def test_texts_without_labels_and_layers_replaced_by_the_teachers(in_teachers, tmp_path):
    """With a learning rate of 0, the student ends with the weights that it was initialized with."""
    student_dir = tmp_path / "student"
    distill("sst", student_dir, student_layers="1,2", unlabeled_file="texts.txt", label_weight=0, replacing_rate=0.3,
            learning_rate=0)
    log = read_log(student_dir)
    assert {"step", "loss", "logits_loss"} == {*log.dtype.names}
    assert np.isfinite(log["loss"]).all()
    student = models.BertClassifier(BertConfig.from_json_file(student_dir / "bert_config.json"), 2)
    teacher = open_checkpoint(str(in_teachers / "sst")).tensors
    load_pretrained(student, str(student_dir))
    for variable in student.variables:
        if "encoder/layer_0" in variable.name and "qkv" not in variable.name:
            name = variable.name.removesuffix(":0").replace("layer_0", "layer_1")
            np.testing.assert_array_equal(variable, teacher[name].read(), err_msg=name)
