"""Settings of distillation, pruning, and comparison that are rejected, before any output."""

import dataclasses
import json
import os
import shutil

import pytest

from bert_tf.config import BertConfig
from run.distillation.settings import check_sizes
from run.techniques.settings import LossSettings
from tests import scripts, toy_runs
from tests.errors import Message, raises_message, rejects

TEACHER = BertConfig(99, 8, 3, 2, 12)


@pytest.mark.parametrize(
    ("settings", "values", "message"),
    [
        (
            LossSettings,
            {"layer_map": "deep", "hidden_weight": 1},
            Message("layer_map", "must be one of uniform", "last", value="deep"),
        ),
        (
            LossSettings,
            {"logits_weight": 0, "label_weight": 0},
            Message("logits_weight", "all losses have weight 0", value=0),
        ),
    ],
)
def test_values_that_are_rejected(settings, values, message):
    with raises_message(message):
        settings(**values)


@pytest.mark.parametrize(
    ("losses", "student", "message"),
    [
        ({"cls_weight": 1}, {}, Message("cls_weight", "compares layers before the last", value=1)),
        (
            {"attention_weight": 1},
            {"num_attention_heads": 4},
            Message("attention_weight", "the student has 4 heads", "teacher 2", value=1),
        ),
        (
            {"cls_weight": 1},
            {"attention": "causal"},
            Message("cls_weight", "compares tokens that causal attention excludes", value=1),
        ),
        (
            {"replacing_rate": 0.3},
            {"hidden_size": 16},
            Message(
                "replacing_rate",
                "requires equal hidden sizes",
                "student has 16",
                "teacher 8",
                value=0.3,
            ),
        ),
        (
            {"replacing_rate": 0.3},
            {"num_hidden_groups": 1, "num_hidden_layers": 3},
            Message("replacing_rate", "the student's layers share their weights", value=0.3),
        ),
    ],
)
def test_students_that_cannot_be_compared_with_the_teacher(losses, student, message):
    config = dataclasses.replace(TEACHER, **{"num_hidden_layers": 1, **student})
    rate = losses.pop("replacing_rate", None)
    with raises_message(message):
        check_sizes(LossSettings(**losses), config, TEACHER, rate=rate)


@pytest.fixture(scope="module")
def variants(toys, tmp_path_factory):
    """Directory with damaged or unusual copies of the teacher `sst`, and configs of students."""
    folder = tmp_path_factory.mktemp("variants")
    for name in ("no_task", "other_words", "frozen", "sharing"):
        shutil.copytree(toys / "sst", folder / name)
    (folder / "no_task" / "task.json").unlink()
    metadata = json.loads((folder / "frozen" / "task.json").read_text())
    (folder / "frozen" / "task.json").write_text(json.dumps({**metadata, "kind": "encoder"}))
    words = (folder / "other_words" / "vocab.txt").read_text().splitlines()
    (folder / "other_words" / "vocab.txt").write_text("\n".join([*words[:-1], "elsewhere", ""]))
    config = json.loads((folder / "sharing" / "bert_config.json").read_text())
    (folder / "sharing" / "bert_config.json").write_text(
        json.dumps({**config, "num_hidden_groups": 1})
    )
    (folder / "few.json").write_text(json.dumps({**config, "vocab_size": 100}))
    (folder / "causal.json").write_text(json.dumps({**config, "attention": "causal"}))
    shutil.copytree(toys / "headless", folder / "headless")
    shutil.copy(toys / "sst" / "task.json", folder / "headless")
    return folder


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"student_layers": "0,4"},
            Message("student_layers", "layer 4 does not exist", "layers 0 to 2", value="0,4"),
        ),
        (
            {"dev_file": "dev.txt"},
            Message(
                "dev_file",
                "does not apply to the teacher",
                "a classifier",
                "set `task_name`",
                value="dev.txt",
            ),
        ),
        (
            {"student_layers": None, "student_checkpoint": "{variants}/other_words"},
            Message(
                "student_checkpoint",
                "other_words: ",
                "its vocabulary differs from the vocabulary",
                "`teacher`=sst",
            ),
        ),
        (
            {"teacher": "{variants}/no_task"},
            Message(
                "teacher",
                "no_task: ",
                "is not a fine-tuned model",
                "its directory has no task.json",
            ),
        ),
        (
            {"teacher": "{variants}/frozen"},
            Message(
                "teacher", "frozen: ", "is not a fine-tuned model", "its task.json says encoder"
            ),
        ),
        (
            {"teacher": "{variants}/sharing"},
            Message("student_layers", "the teacher's layers share their weights", value=0),
        ),
        (
            {"teacher": "{variants}/headless", "task_name": "sst-2"},
            Message(
                "teacher",
                "headless: ",
                "is not a fine-tuned classifier",
                "it lacks output_bias, output_weights",
            ),
        ),
    ],
)
@pytest.mark.usefixtures("in_toys")
def test_students_and_teachers_that_are_rejected(variants, tmp_path, flags, message):
    flags = {
        "teacher": "sst",
        "student_layers": "0",
        "output_dir": tmp_path / "out",
        **toy_runs.DATA["sst"],
        **flags,
    }
    assert_rejected("run.run_distillation", variants, flags, message)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"student_config_file": "{variants}/few.json"},
            Message(
                "teacher", "has 21558 vocabulary entries", "student has 100", value="pretrained"
            ),
        ),
        (
            {"student_config_file": "{variants}/causal.json", "objective": "left_to_right"},
            Message(
                "teacher",
                "has bidirectional attention",
                "student has causal attention",
                "both must have the same",
                value="pretrained",
            ),
        ),
        (
            {"teacher": "headless", "student_layers": "0"},
            Message("teacher", "has no masked LM head", value="headless"),
        ),
    ],
)
@pytest.mark.usefixtures("in_toys")
def test_general_students_and_teachers_that_are_rejected(variants, tmp_path, flags, message):
    flags = {
        "teacher": "pretrained",
        "input_file": "texts.txt",
        "max_seq_length": 16,
        "output_dir": tmp_path / "out",
        **flags,
    }
    assert_rejected("run.run_general_distillation", variants, flags, message)


@pytest.mark.usefixtures("in_toys")
def test_labels_of_another_task(tmp_path):
    (tmp_path / "entities.txt").write_text("Rome B-LOC\n\n" * 4)
    assert_rejected(
        "run.run_distillation",
        "",
        {
            "teacher": "tagger",
            "output_dir": tmp_path / "out",
            **toy_runs.DATA["tagger"],
            "student_layers": "0",
            "train_file": tmp_path / "entities.txt",
        },
        Message("entities.txt:1", "unknown label 'B-LOC'", "the training data"),
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"init_checkpoint": "headless"}, Message(None, "must be a fine-tuned model", "task.json")),
        (
            {"embedding_size": 99},
            Message("embedding_size", "must be less than 8", "the hidden size", value=99),
        ),
        (
            {"output_dir": "sst"},
            Message(
                "output_dir", "contains a training run", "choose another directory", value="sst"
            ),
        ),
        (
            {"output_dir": "sst-2"},
            Message("output_dir", "is not empty", "has no prune.json to resume", value="sst-2"),
        ),
        (
            {
                "distill": True,
                "num_train_epochs": 1,
                "train_batch_size": 4,
                "keep_heads": 0.5,
                "attention_weight": 1,
            },
            Message("attention_weight", "pruned heads cannot be compared", value=1.0),
        ),
    ],
)
@pytest.mark.usefixtures("in_toys")
def test_models_that_cannot_be_pruned(tmp_path, flags, message):
    flags = {
        "init_checkpoint": "sst",
        "output_dir": tmp_path / "out",
        **toy_runs.DATA["sst"],
        "keep_heads": 0.5,
        **flags,
    }
    assert_rejected("run.prune_model", "", flags, message)


@pytest.mark.usefixtures("in_toys")
def test_models_of_two_tasks_are_not_compared():
    with rejects("models", "is a token_classifier", "sst is a classifier", value="tagger"):
        scripts.run_here("run.evaluate_models", models="sst,tagger", data_dir="sst-2")


def assert_rejected(script, variants, flags, message):
    """Asserts that a script rejects flags, and does not create an output_dir.

    In the flags, {variants} stands for the directory of `variants`.
    """
    existed = os.path.exists(flags["output_dir"])
    flags = {
        name: value.format(variants=variants) if isinstance(value, str) else value
        for name, value in flags.items()
    }
    with raises_message(message):
        scripts.run_here(script, **flags)
    assert os.path.exists(flags["output_dir"]) == existed
