"""Pre-training on records of every objective: what is learned, resumed, evaluated and refused."""

import dataclasses
import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models, run_state
from bert_tf.checkpoints import open_checkpoint
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.config import BertConfig
from bert_tf.tokenization import BertTokenizer
from data_prep.pretraining import InstanceSettings, local_runner
from run.pretraining import job
from run.pretraining.settings import PretrainingSettings, RecordSettings, ScheduleSettings
from run.settings import TrainingSettings
from tests import state_files
from tests.data_prep.pretraining.pretraining_records import CORPUS_FILE, VOCAB_FILE

S, P, STEPS = 64, 10, 4
KINDS = {
    "sentence_pairs": {},
    "segment_pairs": {"pack_sequences": True},
    "sentence_order": {"masking": "dynamic", "pack_sequences": True, "max_sequences_per_pack": 3,
                       "do_whole_word_mask": True},
    "full_sentences": {"masking": "dynamic"},
    "doc_sentences": {"pack_sequences": True, "max_sequences_per_pack": 5},
}
TRAINED = ("segment_pairs", "sentence_order", "full_sentences")


@pytest.fixture(scope="module")
def config():
    return BertConfig(len(pathlib.Path(VOCAB_FILE).read_text(encoding="utf-8").splitlines()), 12, 1, 3, 28,
                      max_position_embeddings=S, type_vocab_size=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with records of every kind."""
    folder = tmp_path_factory.mktemp("objectives")
    tokenizer = BertTokenizer(VOCAB_FILE)
    for name, kind in KINDS.items():
        local_runner.create_pretraining_data(
            [CORPUS_FILE], [str(folder / f"{name}.tfrecord")], tokenizer, InstanceSettings(
                objective=name, max_seq_length=S, max_predictions_per_seq=P, dupe_factor=1,
                **({} if name.endswith("_sentences") else {"short_seq_prob": 0.95}), **kind), 1, num_workers=1)
    return folder


def settings_of(folder, records, output, **kind):
    """PretrainingSettings of a run on the records of a name, as `kind` says."""
    return PretrainingSettings(
        model=ModelSettings(bert_config_file="not read"),
        records=RecordSettings(input_file=str(folder / f"{records}.tfrecord"), max_seq_length=S,
                               max_predictions_per_seq=P,
                               **{"objective": records, "vocab_file": VOCAB_FILE, **KINDS[records], **kind}),
        schedule=ScheduleSettings(do_train=True, do_eval=True, num_train_steps=STEPS, num_warmup_steps=1,
                                  max_eval_steps=2),
        training=TrainingSettings(output_dir=str(folder / output), train_batch_size=4, save_checkpoints_steps=2))


@pytest.fixture(scope="module")
def trained(folder, config):
    for name in TRAINED:
        job.run(settings_of(folder, name, name).with_values({"config": config}))
    return folder


@pytest.mark.parametrize("name", TRAINED)
def test_what_is_evaluated(trained, name):
    lines = (trained / name / "eval_results.txt").read_text(encoding="utf-8").splitlines()
    results = {key: float(value) for key, value in (line.split(" = ") for line in lines)}
    label = {"sentence_order": ["sentence_order_accuracy", "sentence_order_loss"]}.get(name, [])
    assert sorted(results) == sorted(["global_step", "loss", "masked_lm_accuracy", "masked_lm_loss", *label])
    assert results["loss"] == pytest.approx(
        results["masked_lm_loss"] + results.get("sentence_order_loss", 0), rel=0.2)  # means of other things


@pytest.mark.parametrize("name", TRAINED)
def test_a_run_resumed_ends_as_one_never_stopped(trained, config, tmp_path, name):
    assert_resumes(settings_of(trained, name, name), config, 2, tmp_path / "left")


def assert_resumes(settings, config, step, left):
    """A run of which what there was after a step is left, in the folder `left`, ends as the whole one did."""
    whole_run = settings.training.output_dir
    shutil.copytree(whole_run, left)
    for later in range(step + 1, STEPS + 1):
        for path in left.glob(f"ckpt-{later}.*"):
            path.unlink()
    (left / "checkpoint").write_text(
        f'model_checkpoint_path: "ckpt-{step}"\nall_model_checkpoint_paths: "ckpt-{step}"\n')

    job.run(settings.with_values({"output_dir": str(left), "config": config}))

    whole, resumed = (tf.train.load_checkpoint(os.path.join(each, f"ckpt-{STEPS}")) for each in (whole_run, left))
    names = [each for each in whole.get_variable_to_shape_map() if each != "_CHECKPOINTABLE_OBJECT_GRAPH"]
    assert len(names) > 20
    for each in names:
        np.testing.assert_array_equal(resumed.get_tensor(each), whole.get_tensor(each), err_msg=each)


def test_a_model_without_a_label_lacks_its_head_and_keeps_its_pooler(trained, config):
    names = open_checkpoint(str(trained / "full_sentences")).tensors
    assert "bert/pooler/dense/kernel" in names
    assert not any(name.startswith("cls/seq_relationship") for name in names)
    model = models.BertPretrainer(config, sentence_label=None)
    assert not any("pooler" in variable.name for variable in model.trainable_variables)
    assert any("pooler" in variable.name for variable in models.BertPretrainer(config).trainable_variables)


@pytest.mark.parametrize(("records", "kind", "message"), [
    ("sentence_pairs", {"objective": "full_sentences"},
     "its records say of each pair whether the second part is the next: give `objective`=sentence_pairs"),
    ("full_sentences", {"objective": "sentence_pairs"},
     "its records do not say whether the second part is the next one: give the `objective` they were made with"),
    ("sentence_order", {"objective": "sentence_pairs"},
     "its records say of each pair whether its parts are swapped: give `objective`=sentence_order"),
    ("doc_sentences", {"pack_sequences": False, "max_sequences_per_pack": 12},
     "its records hold several sequences each: give `pack_sequences`"),
    ("full_sentences", {"pack_sequences": True}, "its records each hold one sequence: leave out `pack_sequences`"),
    ("segment_pairs", {"max_sequences_per_pack": 1}, "holds [2-9] in input_mask, the model has room for 0 to 1"),
    ("sentence_order", {"max_sequences_per_pack": 2}, "numbers in sentence_order_positions, 2 are expected"),
])
def test_records_of_another_kind_are_refused(folder, config, records, kind, message):
    with pytest.raises(ValueError, match=message):
        job.run(settings_of(folder, records, "refused", **kind).with_values({"config": config}))
    assert not (folder / "refused").exists()


def test_packs_with_more_masks_than_fit_are_refused(folder, config):
    with pytest.raises(ValueError, match="more masked positions together than `max_predictions_per_seq`"):
        job.run(settings_of(folder, "sentence_order", "too_many", masked_lm_prob=0.9).with_values({"config": config}))


def test_a_setting_without_effect_is_refused():
    with pytest.raises(ValueError, match="`max_sequences_per_pack`=3: has no effect without `pack_sequences`"):
        RecordSettings(max_sequences_per_pack=3)


PHASES = "32:0.75:3,64:0.25:2:9"  # three steps, then one


@pytest.fixture(scope="module")
def phases(folder, config):
    """Settings of a run in phases, which was made; checkpoints after each step."""
    for length, predictions in ((32, 5), (64, 9)):
        local_runner.create_pretraining_data(
            [CORPUS_FILE], [str(folder / f"of_{length}.tfrecord")], BertTokenizer(VOCAB_FILE), InstanceSettings(
                objective="doc_sentences", max_seq_length=length, max_predictions_per_seq=predictions, dupe_factor=1),
            1, num_workers=1)
    settings = PretrainingSettings(
        records=RecordSettings(input_file=str(folder / "of_{length}.tfrecord"), objective="doc_sentences"),
        schedule=ScheduleSettings(do_train=True, do_eval=True, num_train_steps=STEPS, num_warmup_steps=1,
                                  max_eval_steps=1, phases=PHASES),
        training=TrainingSettings(output_dir=str(folder / "phases"), save_checkpoints_steps=1))
    job.run(settings.with_values({"config": config}))
    return settings


@pytest.mark.parametrize("step", [2, 3])
def test_phases_are_one_run_that_resumes_in_any_of_them(phases, config, tmp_path, step):
    assert_resumes(phases, config, step, tmp_path / "left")


def test_the_learning_rate_and_the_log_are_of_all_phases(phases):
    log = pathlib.Path(phases.training.output_dir, "training_log.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in log[1:]] == ["1", "2", "3", "4"]


def test_what_a_run_was_started_with(trained, phases):
    rest = {"optimizer": "adamw", "random_seed": 12345, "changeable": {
        **state_files.CHANGEABLE, "num_train_steps": STEPS, "num_warmup_steps": 1}}
    path = str(trained / "full_sentences.tfrecord")
    state_files.assert_holds(trained / "full_sentences" / "run.json", {
        "input_file": run_state.fingerprint([path]), "max_seq_length": S, "max_predictions_per_seq": P,
        "masking": "dynamic", "objective": "full_sentences", "pack_sequences": False, "max_sequences_per_pack": 12,
        "vocab_file": run_state.fingerprint([VOCAB_FILE]), "masked_lm_prob": 0.15, "do_whole_word_mask": False,
        "phases": None, "train_batch_size": 4, **rest})
    paths = [str(trained / f"of_{length}.tfrecord") for length in (32, 64)]
    state_files.assert_holds(trained / "phases" / "run.json", {
        "input_file": run_state.fingerprint(paths), "max_seq_length": 32, "max_predictions_per_seq": 5,
        "masking": "static", "objective": "doc_sentences", "pack_sequences": False, "max_sequences_per_pack": 12,
        "phases": PHASES, "train_batch_size": 32, **rest})


def test_another_division_into_phases_is_refused(phases, config):
    others = dataclasses.replace(phases, schedule=dataclasses.replace(phases.schedule, phases="32:0.5:3,64:0.5:2:9"))
    with pytest.raises(ValueError, match=r"holds a run with `phases` 32:0.75:3,64:0.25:2:9, not 32:0.5:3"):
        job.run(others.with_values({"config": config}))


def test_a_run_without_phases_is_not_resumed_with_some(trained, config):
    settings = settings_of(trained, "full_sentences", "full_sentences")
    with pytest.raises(ValueError, match=f"holds a run with `phases` None, not {S}:1:2:{P}"):
        job.run(settings.with_values({"phases": f"{S}:1:2:{P}", "config": config}))
