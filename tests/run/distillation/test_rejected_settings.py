"""Settings of distillation, pruning, and comparison that are rejected, before any output."""

import dataclasses
import json
import os
import re
import shutil

import pytest

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from run.distillation.settings import check_sizes
from run.techniques.settings import LossSettings
from tests import scripts, toy_runs

TEACHER = BertConfig(99, 8, 3, 2, 12)


@pytest.mark.parametrize(
    ("settings", "values", "message"),
    [
        (
            LossSettings,
            {"layer_map": "deep", "hidden_weight": 1},
            "`layer_map`=deep: must be one of uniform, last, or ",
        ),
        (
            LossSettings,
            {"logits_weight": 0, "label_weight": 0},
            "`logits_weight`=0: all losses have weight 0",
        ),
    ],
)
def test_values_that_are_rejected(settings, values, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        settings(**values)


@pytest.mark.parametrize(
    ("losses", "student", "message"),
    [
        ({"cls_weight": 1}, {}, "`cls_weight`=1: compares layers before the last"),
        (
            {"attention_weight": 1},
            {"num_attention_heads": 4},
            "`attention_weight`=1: the student has 4 heads and the teacher 2",
        ),
        (
            {"cls_weight": 1},
            {"attention": "causal"},
            "`cls_weight`=1: compares tokens that causal attention excludes",
        ),
        (
            {"replacing_rate": 0.3},
            {"hidden_size": 16},
            "`replacing_rate`=0.3: requires equal hidden sizes, but the student "
            "has 16 and the teacher 8",
        ),
        (
            {"replacing_rate": 0.3},
            {"num_hidden_groups": 1, "num_hidden_layers": 3},
            "`replacing_rate`=0.3: the student's layers share their weights",
        ),
    ],
)
def test_students_that_cannot_be_compared_with_the_teacher(losses, student, message):
    config = dataclasses.replace(TEACHER, **{"num_hidden_layers": 1, **student})
    rate = losses.pop("replacing_rate", None)
    with pytest.raises(InputError, match=f"^{message}"):
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
            "`student_layers`=0,4: layer 4 does not exist; the teacher has layers 0 to 2",
        ),
        (
            {"dev_file": "dev.txt"},
            "`dev_file`=dev.txt: does not apply to the teacher, a classifier; set `task_name`",
        ),
        (
            {"student_layers": None, "student_checkpoint": "{variants}/other_words"},
            "other_words: its vocabulary differs from the vocabulary of `teacher`=sst",
        ),
        (
            {"teacher": "{variants}/no_task"},
            "no_task: is not a fine-tuned model: its directory has no task.json",
        ),
        (
            {"teacher": "{variants}/frozen"},
            "frozen: is not a fine-tuned model: its task.json says encoder",
        ),
        (
            {"teacher": "{variants}/sharing"},
            "`student_layers`=0: the teacher's layers share their weights",
        ),
        (
            {"teacher": "{variants}/headless", "task_name": "sst-2"},
            "headless: is not a fine-tuned classifier; it lacks output_bias, output_weights",
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
            "`teacher`=pretrained: has 21558 vocabulary entries, but the student has 100",
        ),
        (
            {"student_config_file": "{variants}/causal.json", "objective": "left_to_right"},
            "`teacher`=pretrained: "
            "has bidirectional attention, but the student has causal attention; both must",
        ),
        (
            {"teacher": "headless", "student_layers": "0"},
            "`teacher`=headless: has no masked LM head",
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
    (tmp_path / "places.txt").write_text("Rome B-LOC\n\n" * 4)
    assert_rejected(
        "run.run_distillation",
        "",
        {
            "teacher": "tagger",
            "output_dir": tmp_path / "out",
            **toy_runs.DATA["tagger"],
            "student_layers": "0",
            "train_file": tmp_path / "places.txt",
        },
        "places.txt:1: unknown label 'B-LOC'; the training data",
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"init_checkpoint": "headless"}, "must be a fine-tuned model, with a task.json"),
        (
            {"embedding_size": 99},
            "`embedding_size`=99: must be less than 8, the hidden size of the model",
        ),
        (
            {"output_dir": "sst"},
            "`output_dir`=sst: contains a training run; choose another directory",
        ),
        (
            {"output_dir": "sst-2"},
            "`output_dir`=sst-2: is not empty and has no prune.json to resume from",
        ),
        (
            {
                "distill": True,
                "num_train_epochs": 1,
                "train_batch_size": 4,
                "keep_heads": 0.5,
                "attention_weight": 1,
            },
            "`attention_weight`=1.0: pruned heads cannot be compared",
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
    with pytest.raises(
        InputError, match="`models`=tagger: is a token_classifier, but sst is a classifier"
    ):
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
    with pytest.raises(InputError, match=re.escape(message)):
        scripts.run_here(script, **flags)
    assert os.path.exists(flags["output_dir"]) == existed
