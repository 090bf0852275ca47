"""run.run_general_distillation: a pre-trained model teaches a smaller one on pre-training records."""

import dataclasses
import shutil

import numpy as np
import pytest

from bert_tf import models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.model_folder import find_tokenizer
from data_prep import records
from tests import scripts
from tests.run.compression.students import ALL_LOSSES, assert_losses_add_up, read_log

pytestmark = pytest.mark.large

S, P, COUNT = 16, 3, 24


@pytest.fixture(scope="module")
def record_file(tmp_path_factory):
    """Records of random tokens."""
    path = str(tmp_path_factory.mktemp("records") / "0.tfrecord")
    rng = np.random.default_rng(4)
    mask = (np.arange(S) < rng.integers(6, S + 1, [COUNT, 1])).astype(np.int64)
    with records.RecordWriter(path, records.pretraining_features(S, P)) as writer:
        writer.write({
            "input_ids": rng.integers(5, 100, [COUNT, S]) * mask, "input_mask": mask, "segment_ids": 0 * mask,
            "masked_lm_positions": rng.integers(1, 6, [COUNT, P]), "masked_lm_ids": rng.integers(5, 100, [COUNT, P]),
            "masked_lm_weights": np.tile(np.array([1, 1, 0], np.float32), [COUNT, 1]),
            "next_sentence_labels": rng.integers(0, 2, [COUNT, 1])})
    return path


@pytest.mark.usefixtures("in_teachers")
def test_a_narrower_student_of_a_pretrained_model(record_file, tmp_path):
    config = BertConfig.from_json_file("pretrained/bert_config.json")
    shutil.copytree("pretrained", tmp_path / "teacher")
    shutil.copy("sst/vocab.txt", tmp_path / "teacher")
    (tmp_path / "teacher" / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    narrow = tmp_path / "narrow.json"
    narrow.write_text(dataclasses.replace(config, hidden_size=6, num_hidden_layers=2).to_json())
    scripts.run_here("run.run_general_distillation", teacher=tmp_path / "teacher", input_file=record_file,
                     output_dir=tmp_path / "student", student_config_file=narrow, max_seq_length=S,
                     max_predictions_per_seq=P, train_batch_size=8, num_train_steps=6, num_warmup_steps=1,
                     learning_rate=1e-2, iterations_per_loop=2, **ALL_LOSSES)
    log = read_log(tmp_path / "student")
    assert_losses_add_up(log)
    assert log["loss"][-1] < log["loss"][0]
    student = models.BertPretrainer(BertConfig.from_json_file(tmp_path / "student" / "bert_config.json"))
    report = load_pretrained(student, str(tmp_path / "student"))
    assert report.missing == report.unused == ()
    found = find_tokenizer(str(tmp_path / "student"))
    assert (found.vocab_file, found.do_lower_case) == (str(tmp_path / "student" / "vocab.txt"), False)
