"""run.run_general_distillation: a pre-trained model teaches a smaller one on records."""

import dataclasses
import json

import numpy as np
import pytest

from bert_tf import models, run_state
from bert_tf.checkpoints import checkpoint_files, load_pretrained
from bert_tf.config import BertConfig
from data_prep import records
from tests import scripts, state_files, toy_runs
from tests.run.compression.test_distillation import ALL_LOSSES, log_of

S, P, COUNT = 16, 3, 24
FLAGS = {"teacher": "pretrained", "input_file": "records", "max_seq_length": S, "max_predictions_per_seq": P,
         "train_batch_size": 8, "num_train_steps": 6, "num_warmup_steps": 1, "learning_rate": 1e-2,
         "iterations_per_loop": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    """A folder with a pre-trained model, an encoder without heads, configs, and records of random tokens."""
    folder = tmp_path_factory.mktemp("general")
    toy_runs.write(folder, reference, {"pretrained": (None, models.BertPretrainer), "headless": (
        None, models.BertEncoder)}, num_hidden_layers=3)
    config = BertConfig.from_json_file(folder / "pretrained" / "bert_config.json")
    narrow = dataclasses.replace(config, hidden_size=6, num_hidden_layers=2)
    (folder / "narrow.json").write_text(narrow.to_json())
    (folder / "few.json").write_text(json.dumps({**narrow.to_dict(), "vocab_size": 100}))
    (folder / "records").mkdir()
    rng = np.random.default_rng(4)
    lengths = rng.integers(6, S + 1, [COUNT, 1])
    mask = (np.arange(S) < lengths).astype(np.int64)
    with records.RecordWriter(str(folder / "records" / "0.tfrecord"), records.pretraining_features(S, P)) as writer:
        writer.write({
            "input_ids": rng.integers(5, 100, [COUNT, S]) * mask, "input_mask": mask, "segment_ids": 0 * mask,
            "masked_lm_positions": rng.integers(1, 6, [COUNT, P]), "masked_lm_ids": rng.integers(5, 100, [COUNT, P]),
            "masked_lm_weights": np.tile(np.array([1, 1, 0], np.float32), [COUNT, 1]),
            "next_sentence_labels": rng.integers(0, 2, [COUNT, 1])})
    return folder


def test_a_narrower_student_of_a_pretrained_model(folder):
    scripts.succeed("run.run_general_distillation", folder, output_dir="student", student_config_file="narrow.json",
                    **FLAGS, **ALL_LOSSES)
    log = log_of(folder / "student")
    total = (log["logits_loss"] + 0.5 * log["label_loss"] + log["hidden_loss"] + 0.5 * log["attention_loss"]
             + 2 * log["cls_loss"])
    np.testing.assert_allclose(log["loss"], total, rtol=1e-5)
    assert log["loss"][-1] < log["loss"][0]
    teacher = checkpoint_files(str(folder / "pretrained"))
    state_files.assert_holds(folder / "student" / "run.json", {
        "input_file": run_state.fingerprint([str(folder / "records" / "0.tfrecord")]), "max_seq_length": S,
        "max_predictions_per_seq": P, "masking": "static", "objective": "sentence_pairs", "pack_sequences": False,
        "max_sequences_per_pack": 12, "phases": None, "train_batch_size": 8, "optimizer": "adamw",
        "random_seed": 12345, "teacher": run_state.fingerprint(teacher), "student_config_file": "narrow.json",
        **state_files.LOSSES, "hidden_weight": 1.0, "attention_weight": 0.5, "cls_weight": 2.0,
        "changeable": {**state_files.CHANGEABLE, "learning_rate": 0.01, "num_train_steps": 6, "num_warmup_steps": 1}})
    student = models.BertPretrainer(BertConfig.from_json_file(folder / "student" / "bert_config.json"))
    report = load_pretrained(student, str(folder / "student"))
    assert report.missing == report.unused == ()


@pytest.mark.parametrize(("flags", "message"), [
    ({"student_layers": "0,3"}, "--student_layers=0,3: the teacher has no layer 3, its layers are 0 to 2"),
    ({"student_config_file": "few.json"}, "--teacher=pretrained: has 21558 vocabulary entries, the student 100: they "
     "must have one vocabulary"),
    ({"teacher": "headless", "student_layers": "0"}, "--teacher=headless: has no masked LM head, whose answers could "
     "be learned; give --logits_weight=0"),
    ({"teacher": "none", "student_layers": "0"}, "--teacher=none: no such file or folder"),
    ({"student_layers": "0", "pack_sequences": True, "hidden_weight": 1}, "--hidden_weight=1.0: cannot be combined "
     "with --pack_sequences; its loss takes a row for one sequence, logits alone can be learned on packs"),
])
def test_what_is_refused(folder, flags, message):
    line = scripts.last_error("run.run_general_distillation", folder, output_dir="refused", **{**FLAGS, **flags})
    assert message in line, line
    assert not (folder / "refused").exists()
