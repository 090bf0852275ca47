"""Pre-training on records of each objective, and in phases; settings that cannot change."""

import dataclasses
import pathlib
import shutil

import pytest

from bert_tf import models
from bert_tf.checkpoints import open_checkpoint
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.config import BertConfig
from data_prep.pretraining import InstanceSettings, JobSettings
from data_prep.pretraining import job as pretraining_data
from run.pretraining import job
from run.pretraining.settings import PretrainingSettings
from run.training.settings import TrainingSettings
from tests.data_prep.pretraining.pretraining_records import CORPUS_FILE, VOCAB_FILE
from tests.end_to_end.toy_files import assert_same_tensors
from tests.errors import rejects

pytestmark = pytest.mark.large

S = 64
P = 10
STEPS = 4
KINDS = {
    "segment_pairs": {"pack_sequences": True},
    "sentence_order": {
        "masking": "dynamic",
        "pack_sequences": True,
        "max_sequences_per_pack": 3,
        "do_whole_word_mask": True,
    },
    "full_sentences": {"masking": "dynamic"},
    "left_to_right": {"pack_sequences": True, "max_sequences_per_pack": 4},
}
PHASES = "32:0.75:3,64:0.25:2:9"  # Three steps, then one.


@pytest.fixture(scope="module")
def config():
    return BertConfig(
        len(pathlib.Path(VOCAB_FILE).read_text(encoding="utf-8").splitlines()),
        12,
        1,
        3,
        28,
        max_position_embeddings=S,
        type_vocab_size=2,
    )


def choose_config(config, objective):
    settings = {
        "left_to_right": {"attention": "causal"},
        "full_sentences": {"tie_word_embeddings": False},
    }
    return dataclasses.replace(config, **settings.get(objective, {}))


def get_predictions(objective):
    return {} if objective == "left_to_right" else {"max_predictions_per_seq": P}


def write_records(path, do_whole_word_mask=None, **settings):
    """Creates records. With dynamic masking, `do_whole_word_mask` is a setting of training only."""
    pretraining_data.run(
        JobSettings(
            CORPUS_FILE,
            str(path),
            VOCAB_FILE,
            instances=InstanceSettings(dupe_factor=1, **settings),
            random_seed=1,
        )
    )


def make_settings(folder, objective, phases=None, **schedule):
    """Returns the PretrainingSettings of a run on the records of an objective."""
    return PretrainingSettings(
        model=ModelSettings(bert_config_file="not read"),
        input_file=str(folder / f"{objective}.tfrecord"),
        max_seq_length=S,
        objective=objective,
        vocab_file=VOCAB_FILE,
        **get_predictions(objective),
        **KINDS[objective],
        do_train=True,
        phases=phases,
        do_eval=True,
        num_train_steps=STEPS,
        num_warmup_steps=1,
        max_eval_steps=2,
        **schedule,
        training=TrainingSettings(
            output_dir=str(folder / objective), train_batch_size=4, save_checkpoints_steps=2
        ),
    )


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory, config):
    """Directory with the records and a run of each objective."""
    folder = tmp_path_factory.mktemp("objectives")
    for objective, kind in KINDS.items():
        # Short sequences are packed, several per record.
        short = {"short_seq_prob": 0.95} if kind.get("pack_sequences") else {}
        write_records(
            folder / f"{objective}.tfrecord",
            objective=objective,
            max_seq_length=S,
            **get_predictions(objective),
            **kind,
            **short,
        )
        job.run(
            make_settings(folder, objective).replace_values(
                {"config": choose_config(config, objective)}
            )
        )
    return folder


@pytest.fixture(scope="module")
def phases(tmp_path_factory, config):
    """Settings of a run in phases, which is finished and has a checkpoint of each step."""
    folder = tmp_path_factory.mktemp("phases")
    for length, predictions in ((32, 5), (64, 9)):
        write_records(
            folder / f"of_{length}.tfrecord",
            objective="doc_sentences",
            max_seq_length=length,
            max_predictions_per_seq=predictions,
        )
    settings = PretrainingSettings(
        input_file=str(folder / "of_{length}.tfrecord"),
        objective="doc_sentences",
        do_train=True,
        phases=PHASES,
        do_eval=True,
        num_train_steps=STEPS,
        num_warmup_steps=1,
        max_eval_steps=1,
        training=TrainingSettings(output_dir=str(folder / "run"), save_checkpoints_steps=1),
    )
    job.run(settings.replace_values({"config": config}))
    return settings


@pytest.mark.parametrize("objective", KINDS)
def test_results_of_the_evaluation(trained_folder, objective):
    lines = (
        (trained_folder / objective / "eval_results.txt").read_text(encoding="utf-8").splitlines()
    )
    results = {key: float(value) for key, value in (line.split(" = ") for line in lines)}
    label = {"sentence_order": ["sentence_order_accuracy", "sentence_order_loss"]}.get(
        objective, []
    )
    tokens = "next_token" if objective == "left_to_right" else "masked_lm"
    assert sorted(results) == sorted(
        ["global_step", "loss", f"{tokens}_accuracy", f"{tokens}_loss", *label]
    )
    # `loss` is a mean over batches; the others are means over predictions or sequences.
    assert results["loss"] == pytest.approx(
        results[f"{tokens}_loss"] + results.get("sentence_order_loss", 0), rel=0.2
    )


@pytest.mark.extra_large
@pytest.mark.parametrize("objective", ["sentence_order", "left_to_right"])
def test_a_resumed_run_ends_like_an_uninterrupted_one(trained_folder, config, tmp_path, objective):
    assert_resumes(
        make_settings(trained_folder, objective),
        choose_config(config, objective),
        2,
        tmp_path / "resumed",
    )


@pytest.mark.extra_large
@pytest.mark.parametrize("step", [2, 3])
def test_a_run_resumes_in_any_phase(phases, config, tmp_path, step):
    assert_resumes(phases, config, step, tmp_path / "resumed")


def assert_resumes(settings, config, step, resumed):
    """Resumes a copy of a finished run, in the directory `resumed`, after a step.

    All variables must be those of the finished run.
    """
    finished = settings.training.output_dir
    shutil.copytree(finished, resumed)
    for later in range(step + 1, STEPS + 1):
        for path in resumed.glob(f"ckpt-{later}.*"):
            path.unlink()
    (resumed / "checkpoint").write_text(
        f'model_checkpoint_path: "ckpt-{step}"\nall_model_checkpoint_paths: "ckpt-{step}"\n'
    )
    job.run(settings.replace_values({"output_dir": str(resumed), "config": config}))
    assert_same_tensors(resumed / f"ckpt-{STEPS}", pathlib.Path(finished, f"ckpt-{STEPS}"))


def test_a_model_without_a_label_lacks_its_head_and_keeps_its_pooler(trained_folder, config):
    names = open_checkpoint(str(trained_folder / "full_sentences")).tensors
    assert "bert/pooler/dense/kernel" in names
    assert not any(name.startswith("cls/seq_relationship") for name in names)
    model = models.BertPretrainer(config, sentence_label=None)
    assert not any("pooler" in variable.name for variable in model.trainable_variables)
    assert any(
        "pooler" in variable.name for variable in models.BertPretrainer(config).trainable_variables
    )


def test_packs_with_more_masks_than_fit(trained_folder, config):
    settings = make_settings(trained_folder, "sentence_order").replace_values(
        {"masked_lm_prob": 0.9, "output_dir": str(trained_folder / "too_many"), "config": config}
    )
    with rejects(None, "more masked tokens", "`max_predictions_per_seq`"):
        job.run(settings)


def test_an_evaluation_reads_the_records_of_the_last_phase(phases, config, tmp_path):
    records = pathlib.Path(phases.input_file)
    found = {}
    for length, predictions in ((None, None), (64, 9), (32, 5)):
        shutil.copytree(phases.training.output_dir, tmp_path / str(length))
        only = (
            {}
            if length is None
            else {
                "phases": None,
                "input_file": str(records).format(length=length),
                "max_seq_length": length,
                "max_predictions_per_seq": predictions,
            }
        )
        job.run(
            phases.replace_values(
                {
                    **only,
                    "output_dir": str(tmp_path / str(length)),
                    "do_train": False,
                    "config": config,
                }
            )
        )
        found[length] = (tmp_path / str(length) / "eval_results.txt").read_text(encoding="utf-8")
    assert found[None] == found[64] != found[32]
