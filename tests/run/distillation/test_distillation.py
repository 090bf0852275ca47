"""run.run_distillation and run.run_general_distillation: students of each kind of teacher."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from bert_tf import models
from bert_tf.checkpoints import ModelDirectory, load_pretrained, open_checkpoint
from bert_tf.config import BertConfig
from run.training.step import LOGGED
from tests import scripts, toy_runs
from tests.robustness import world

pytestmark = pytest.mark.large

ALL_LOSSES = {"hidden_weight": 1, "attention_weight": 0.5, "cls_weight": 2}
QUICK = {"train_batch_size": 4, "num_train_epochs": 2.0, "learning_rate": 1e-2}


def distill(teacher, output_dir, **flags):
    """Runs the script in this process, in the current directory."""
    scripts.run_here(
        "run.run_distillation",
        **{
            "teacher": teacher,
            "output_dir": output_dir,
            **toy_runs.DATA[teacher],
            **QUICK,
            **flags,
        },
    )


def read_log(folder):
    """Returns training_log.csv of a run as a structured array."""
    return np.genfromtxt(folder / "training_log.csv", delimiter=",", names=True)


def assert_losses_add_up(log, label_weight=0.5):
    """Asserts that the loss of each step is the sum of the losses by the weights of ALL_LOSSES."""
    total = (
        log["logits_loss"] + log["hidden_loss"] + 0.5 * log["attention_loss"] + 2 * log["cls_loss"]
    )
    if label_weight:
        total += label_weight * log["label_loss"]
    np.testing.assert_allclose(log["loss"], total, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "flags", "stores"),
    [
        pytest.param("tagger", {}, False, marks=pytest.mark.extra_large),
        pytest.param("squad", {}, True, marks=pytest.mark.extra_large),
        ("sst", {"lora_rank": 2}, False),
        pytest.param(
            "swag",
            {
                "keep_answers": False,
                "unlabeled_file": "dev.csv",
                "train_file": None,
                "label_weight": 0,
            },
            False,
            marks=pytest.mark.extra_large,
        ),
    ],
)
def test_each_task_has_students(in_toys, tmp_path, name, flags, stores):
    student = tmp_path / "student"
    distill(
        name,
        student,
        student_layers="0,2",
        cache_dir=tmp_path / "stored" if stores else None,
        **flags,
        **ALL_LOSSES,
    )
    assert_losses_add_up(read_log(student), flags.get("label_weight", 0.5))
    assert BertConfig.from_json_file(student / "bert_config.json").num_hidden_layers == 2
    assert {"task.json", "vocab.txt", "eval_results.txt", "checkpoint"} < {
        path.name for path in student.iterdir()
    }
    assert not (student / "answers").exists()
    assert (tmp_path / "stored").exists() == stores
    assert (student / "adapter").exists() == ("lora_rank" in flags)


@pytest.fixture(scope="module")
def narrow_student(toys, tmp_path_factory):
    """Directory of a run of a narrower student."""
    folder = tmp_path_factory.mktemp("narrow_student")
    config = BertConfig.from_json_file(toys / "sst" / "bert_config.json").to_dict()
    (folder / "narrow.json").write_text(
        json.dumps({**config, "hidden_size": 6, "num_hidden_layers": 2})
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toys)
        distill("sst", folder / "whole", student_config_file=folder / "narrow.json", **ALL_LOSSES)
    return folder / "whole"


def test_the_projection_is_not_part_of_the_student(in_toys, narrow_student):
    assert not [
        name for name in open_checkpoint(str(narrow_student)).tensors if "projection" in name
    ]
    results = narrow_student / "eval_results.txt"
    before = results.read_text()
    scripts.run_here(
        "run.run_classifier",
        task_name="sst-2",
        data_dir="sst-2",
        output_dir=narrow_student,
        max_seq_length=20,
        do_eval=True,
    )
    assert results.read_text() == before


@pytest.mark.extra_large
def test_texts_without_labels_and_layers_replaced_by_the_teachers(in_toys, tmp_path):
    """With a learning rate of 0, the student ends with the weights that it was initialized with."""
    student_dir = tmp_path / "student"
    distill(
        "sst",
        student_dir,
        student_layers="1,2",
        unlabeled_file="texts.txt",
        label_weight=0,
        replacing_rate=0.3,
        learning_rate=0,
    )
    log = read_log(student_dir)
    assert {*log.dtype.names} == {"step", "loss", "logits_loss", *LOGGED}
    assert np.isfinite(log["loss"]).all()
    student = models.BertClassifier(BertConfig.from_json_file(student_dir / "bert_config.json"), 2)
    teacher = open_checkpoint(str(in_toys / "sst")).tensors
    load_pretrained(student, str(student_dir))
    for variable in student.variables:
        if "encoder/layer_0" in variable.name and "qkv" not in variable.name:
            name = variable.name.removesuffix(":0").replace("layer_0", "layer_1")
            np.testing.assert_array_equal(variable, teacher[name].read(), err_msg=name)


@pytest.mark.usefixtures("in_toys")
def test_a_narrower_student_of_a_pretrained_model(tmp_path):
    world.write_records(tmp_path / "random.tfrecord", count=24, length=16, predictions=3)
    config = BertConfig.from_json_file("pretrained/bert_config.json")
    shutil.copytree("pretrained", tmp_path / "teacher")
    (tmp_path / "teacher" / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    narrow = tmp_path / "narrow.json"
    narrow.write_text(dataclasses.replace(config, hidden_size=6, num_hidden_layers=2).to_json())
    scripts.run_here(
        "run.run_general_distillation",
        teacher=tmp_path / "teacher",
        input_file=tmp_path / "random.tfrecord",
        output_dir=tmp_path / "student",
        student_config_file=narrow,
        max_seq_length=16,
        max_predictions_per_seq=3,
        train_batch_size=8,
        num_train_steps=6,
        num_warmup_steps=1,
        learning_rate=1e-2,
        **ALL_LOSSES,
        log_steps=1,
    )
    log = read_log(tmp_path / "student")
    assert_losses_add_up(log)
    assert log["loss"][-1] < log["loss"][0]
    student = models.BertPretrainer(
        BertConfig.from_json_file(tmp_path / "student" / "bert_config.json")
    )
    report = load_pretrained(student, str(tmp_path / "student"))
    assert report.missing == report.unused == ()
    found = ModelDirectory.open(str(tmp_path / "student")).tokenizer
    assert (found.vocab_file, found.do_lower_case) == (
        str(tmp_path / "student" / "vocab.txt"),
        False,
    )
