"""run.run_distillation: students of each task, what is refused, resume, and what is kept of the teacher."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models, run_state
from bert_tf.checkpoints import checkpoint_files, load_pretrained, open_checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from run.arrays import kept_rows
from run.techniques import teacher_outputs
from tests import scripts, state_files, toy_runs

SIZES = {"num_hidden_layers": 3}
ALL_LOSSES = {"hidden_weight": 1, "attention_weight": 0.5, "cls_weight": 2}
QUICK = {"train_batch_size": 4, "num_train_epochs": 2.0, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder of data for each task, and of teachers of three layers, as toy_runs.TASKS names them."""
    folder = tmp_path_factory.mktemp("distillation")
    toy_runs.write_tasks(folder, reference, **SIZES)
    return folder


def distil(folder, teacher, output_dir, run=scripts.succeed, **flags):
    return run("run.run_distillation", folder, teacher=teacher, output_dir=output_dir,
               **{**toy_runs.DATA[teacher], **QUICK, **flags})


def log_of(folder):
    return np.genfromtxt(folder / "training_log.csv", delimiter=",", names=True)


@pytest.mark.parametrize(("name", "flags", "keeps"), [
    ("tagger", {"keep_teacher_answers": True}, True), ("squad", {}, False), ("swag", {"keep_answers": False}, False)])
def test_every_task_has_students(folder, name, flags, keeps):
    distil(folder, name, f"student_{name}", student_layers="0,2", **flags, **ALL_LOSSES)
    log = log_of(folder / f"student_{name}")
    total = (log["logits_loss"] + 0.5 * log["label_loss"] + log["hidden_loss"] + 0.5 * log["attention_loss"]
             + 2 * log["cls_loss"])
    np.testing.assert_allclose(log["loss"], total, rtol=1e-5)
    assert BertConfig.from_json_file(folder / f"student_{name}" / "bert_config.json").num_hidden_layers == 2
    assert {"task.json", "vocab.txt", "eval_results.txt", "checkpoint"} < {
        path.name for path in (folder / f"student_{name}").iterdir()}
    assert (folder / f"student_{name}" / "answers").exists() == keeps
    if name == "tagger":
        teacher = checkpoint_files(str(folder / name))
        state_files.assert_holds(folder / "student_tagger" / "run.json", {
            "train_file": run_state.fingerprint([str(folder / "dev.txt")]), "token_column": 0, "label_column": -1,
            "document_context": False, "teacher": run_state.fingerprint(teacher), "student_layers": [0, 2],
            **state_files.LOSSES, "hidden_weight": 1.0, "attention_weight": 0.5, "cls_weight": 2.0,
            "max_seq_length": 20, "train_batch_size": 4, "group_by_length": True, "pack_sequences": False,
            "optimizer": "adamw", "random_seed": 12345, "freeze_layers": None, "layerwise_learning_rate_decay": 1.0,
            "lora_rank": None, "lora_alpha": 16.0, "weight_pruning": None, "changeable": {
                **state_files.CHANGEABLE, "learning_rate": 0.01, "num_train_epochs": 2.0, "warmup_proportion": 0.1}})


def test_answers_that_are_kept_are_the_teachers_but_for_rounding(tmp_path):
    """Of multiple choice, whose rows are the longest for all their choices; also in another order."""
    rng, lengths = np.random.default_rng(5), [4, 1, 3, 4, 2]
    whole = {"logits": rng.normal(size=[5, 2]).astype(np.float32),
             "hidden": rng.normal(size=[5, 2, 3, 4, 6]).astype(np.float16),  # [B, choices, K, S, H]
             "attention": rng.normal(size=[5, 2, 3, 2, 4, 4]).astype(np.float16)}
    parts = [(rows, {name: value[rows] for name, value in whole.items()}) for rows in ([3, 0, 2], [4, 1])]
    path = kept_rows.find(str(tmp_path / "kept"), [{"of": "one"}, {"data": 1}])
    teacher_outputs.write(path, {"teacher": {"of": "one"}}, lengths, parts,
                  {"logits": (), "hidden": (-2,), "attention": (-2, -1)})
    kept = teacher_outputs.read(path)
    rows = [2, 4, 2]  # of at most 3 tokens
    found = dict(zip(kept.entries, kept.look_up(rows, 3), strict=True))
    np.testing.assert_array_equal(found["logits"], whole["logits"][rows])
    real = np.arange(3) < np.array(lengths)[rows, np.newaxis]
    expected = whole["hidden"][rows, :, :, :3] * real[:, np.newaxis, np.newaxis, :, np.newaxis]
    np.testing.assert_array_equal(found["hidden"], expected)
    both = (real[:, :, np.newaxis] & real[:, np.newaxis])[:, np.newaxis, np.newaxis, np.newaxis]
    np.testing.assert_array_equal(found["attention"], whole["attention"][rows, ..., :3, :3] * both)
    batches = teacher_outputs.add_outputs(kept, tf.data.Dataset.from_tensor_slices(
        {"input_ids": np.zeros([6, 4], np.int32), "row": np.array([0, 1, 2, 3, 4, 0])}).batch(3, drop_remainder=True),
        "row")
    assert batches.element_spec["teacher_hidden"].shape == [3, 2, 3, 4, 6]
    assert kept_rows.find(str(tmp_path / "kept"), [{"of": "one"}, {"data": 2}]) != path
    with pytest.raises(InputError, match=r"`answers_dir`=.*kept: holds the answers of another teacher; choose"):
        teacher_outputs.check_teacher(str(tmp_path / "kept"), {"of": "another"})
    (tmp_path / "kept" / path.rpartition("/")[2] / "hidden.bin").write_bytes(b"cut")
    with pytest.raises(InputError, match=r"hidden.bin: is missing or damaged; remove .*, and the teacher is"):
        teacher_outputs.read(path)


@pytest.mark.timeout(240)  # it trains three times
def test_a_killed_run_ends_as_one_never_killed(folder):
    """In two steps, of a student of another width: the projection and which step it is are resumed too."""
    config = BertConfig.from_json_file(folder / "sst" / "bert_config.json").to_dict()
    (folder / "narrow.json").write_text(json.dumps({**config, "hidden_size": 6, "num_hidden_layers": 2}))
    flags = {"teacher": "sst", "student_config_file": "narrow.json", **toy_runs.DATA["sst"], **QUICK, **ALL_LOSSES,
             "inner_proportion": 0.5, "num_train_epochs": 4.0, "save_checkpoints_steps": 3,
             "answers_dir": "kept"}
    scripts.succeed("run.run_distillation", folder, output_dir="whole", iterations_per_loop=3, **flags)
    command = scripts.command("run.run_distillation", **flags, output_dir="killed", iterations_per_loop=1)
    scripts.kill_when(command, folder, (folder / "killed" / "checkpoint").exists)
    done = scripts.run_script("run.run_distillation", folder, output_dir="killed", **flags)
    assert "resuming at step" in done.stdout, done.stderr[-3000:]
    assert "the teacher's answers are taken from there" in done.stdout  # as the first run left them
    ends = [tf.train.load_checkpoint(str(folder / name)) for name in ("whole", "killed")]
    names = [name for name in ends[0].get_variable_to_shape_map() if "CHECKPOINTABLE" not in name]
    assert any("projection/kernel" in name for name in names)
    for name in names:
        if "save_counter" not in name:
            np.testing.assert_array_equal(*(end.get_tensor(name) for end in ends), err_msg=name)
    assert not [name for name in open_checkpoint(str(folder / "whole")).tensors if "projection" in name]
    log = log_of(folder / "whole")
    inner, outer = log[log["step"] <= 6], log[log["step"] > 6]
    np.testing.assert_allclose(inner["loss"], inner["hidden_loss"] + 0.5 * inner["attention_loss"]
                               + 2 * inner["cls_loss"], rtol=1e-5)
    np.testing.assert_allclose(outer["loss"], outer["logits_loss"] + 0.5 * outer["label_loss"], rtol=1e-5)
    scripts.succeed("run.run_classifier", folder, task_name="sst-2", data_dir="sst-2", output_dir="whole",
                    max_seq_length=20, do_eval=True)
    assert "holds a run with --hidden_weight 1.0, not 3.0" in scripts.last_error(
        "run.run_distillation", folder, output_dir="whole", **{**flags, "hidden_weight": 3})


@pytest.mark.timeout(120)
def test_texts_without_labels_and_layers_that_stand_in_for_the_teachers(folder):
    distil(folder, "sst", "unlabeled", student_layers="1,2", unlabeled_file="texts.txt", label_weight=0,
           replacing_rate=0.3, learning_rate=0)
    log = log_of(folder / "unlabeled")
    assert {"step", "loss", "logits_loss"} == {*log.dtype.names}
    assert np.isfinite(log["loss"]).all()
    config = BertConfig.from_json_file(folder / "unlabeled" / "bert_config.json")
    student, teacher = models.BertClassifier(config, 2), open_checkpoint(str(folder / "sst")).tensors
    load_pretrained(student, str(folder / "unlabeled"))
    for variable in student.variables:  # with a learning rate of 0, what it started from
        if "encoder/layer_0" in variable.name and "qkv" not in variable.name:
            name = variable.name.removesuffix(":0").replace("layer_0", "layer_1")
            np.testing.assert_array_equal(variable, teacher[name].read(), err_msg=name)


def test_choices_without_labels_replace_the_training_file(folder):
    output = distil(folder, "swag", "unlabeled_swag", student_layers="0", unlabeled_file="dev.csv", label_weight=0,
                    train_file=None)
    assert "multiple_choice" in (folder / "unlabeled_swag" / "task.json").read_text(), output
    assert json.loads((folder / "unlabeled_swag" / "run.json").read_text())["unlabeled_file"]["files"] == 1


@pytest.mark.parametrize(("flags", "message"), [
    ({"student_layers": "0,4"}, "--student_layers=0,4: the teacher has no layer 4, its layers are 0 to 2"),
    ({}, "--student_layers is required without --student_checkpoint or --student_config_file"),
    ({"student_layers": "0", "student_checkpoint": "sst"}, "--student_checkpoint=sst: cannot be combined with "
     "--student_layers"),
    ({"student_layers": "0", "hidden_weight": 1, "layer_map": "9"}, "--layer_map=9: the teacher has no layer 9"),
    ({"student_layers": "0", "hidden_weight": 1, "layer_map": "1,2"}, "--layer_map=1,2: names 2 layers, the "
     "student has 1"),
    ({"student_layers": "0", "layer_map": "deep"}, "--layer_map=deep: it must be uniform, last, or numbers"),
    ({"student_layers": "0", "cls_weight": 1}, "--cls_weight=1.0: compares layers before the last"),
    ({"student_config_file": "heads.json", "attention_weight": 1}, "--attention_weight=1.0: the student has 4 "
     "heads and the teacher 2: their attention cannot be compared; give 0"),
    ({"student_layers": "0", "logits_weight": 0, "label_weight": 0}, "nothing is to be learned"),
    ({"student_layers": "0", "inner_proportion": 0.5}, "--inner_proportion=0.5: requires --hidden_weight or "
     "--attention_weight or --cls_weight"),
    ({"student_layers": "0", "replacing_rate": 0.3, "hidden_weight": 1}, "--replacing_rate=0.3: cannot be combined "
     "with --hidden_weight; layers are mixed with the teacher's, and cannot be compared with them"),
    ({"student_config_file": "wide.json", "replacing_rate": 0.3}, "--replacing_rate=0.3: the student has width 16 and "
     "the teacher 8: layers of one cannot stand in"),
    ({"student_layers": "0", "unlabeled_file": "texts.txt"}, "--unlabeled_file=texts.txt: requires "
     "--label_weight=0.0"),
    ({"student_layers": "0", "task_name": "mrpc"}, "--task_name=mrpc: --teacher=sst was trained for sst-2"),
    ({"student_layers": "0", "dev_file": "dev.txt"}, "--dev_file=dev.txt: the teacher is a classifier, whose "
     "data are named by --task_name, --data_dir"),
    ({"student_checkpoint": "other_words"}, "--student_checkpoint=other_words: its vocabulary is not that of "
     "--teacher=sst"),
    ({"teacher": "no_such", "student_layers": "0"}, "--teacher=no_such: no such file or folder"),
    ({"teacher": "untold", "student_layers": "0"}, "--teacher=untold: is no fine-tuned model, there is no "
     "task.json beside it"),
    ({"teacher": "frozen", "student_layers": "0"}, "--teacher=frozen: is no fine-tuned model, its task.json says "
     "frozen_token_classifier"),
    ({"teacher": "sharing", "student_layers": "0"}, "--student_layers=0: the teacher's layers share their weights"),
    ({"student_config_file": "sharing/bert_config.json", "replacing_rate": 0.3}, "--replacing_rate=0.3: the student's "
     "layers share their weights, and cannot be replaced"),
    ({"teacher": "headless", "student_layers": "0"}, "--teacher=headless: is no fine-tuned classifier, it lacks "
     "output_bias, output_weights"),
    ({"student_layers": "0", "answers_dir": "answers_of_squad"}, "--answers_dir=answers_of_squad: holds the "
     "answers of another teacher; choose another folder"),
])
def test_what_is_refused(folder, flags, message):
    if not (folder / "untold").exists():
        for name in ("untold", "other_words", "headless", "frozen"):
            shutil.copytree(folder / "sst", folder / name)
        (folder / "untold" / "task.json").unlink()
        card = json.loads((folder / "frozen" / "task.json").read_text())
        (folder / "frozen" / "task.json").write_text(json.dumps({**card, "kind": "frozen_token_classifier"}))
        words = (folder / "sst" / "vocab.txt").read_text().splitlines()
        (folder / "other_words" / "vocab.txt").write_text("\n".join([*words[:-1], "elsewhere", ""]))
        config = BertConfig.from_json_file(folder / "sst" / "bert_config.json")
        tf.train.Checkpoint(model=models.BertEncoder(config)).write(str(folder / "headless" / "ckpt-3"))
        (folder / "wide.json").write_text(json.dumps({**config.to_dict(), "hidden_size": 16}))
        shutil.copytree(folder / "sst", folder / "sharing")
        (folder / "sharing" / "bert_config.json").write_text(json.dumps({**config.to_dict(), "num_hidden_groups": 1}))
        (folder / "heads.json").write_text(json.dumps({**config.to_dict(), "num_attention_heads": 4}))
        (folder / "answers_of_squad" / "0123").mkdir(parents=True)
        told = {"teacher": run_state.fingerprint([str(folder / "squad" / "ckpt-3.index")])}
        (folder / "answers_of_squad" / "0123" / "answers.json").write_text(json.dumps(told))
    flags = {"teacher": "sst", "output_dir": "refused", **toy_runs.DATA["sst"], **flags}
    line = scripts.last_error("run.run_distillation", folder, **flags)
    assert message in line, line
    assert not (folder / "refused").exists()


def test_labels_of_another_task_are_refused(folder):
    (folder / "places.txt").write_text("Rome B-LOC\n\n" * 4)
    line = distil(folder, "tagger", "refused", scripts.last_error, student_layers="0", train_file="places.txt")
    assert "places.txt:1: label 'B-LOC' is unknown: the labels of the training data are B-PER, I-PER, O" in line
