"""Runs of run_pretraining that are killed, preempted or meet bad records, as processes of their own."""

import csv
import random
import re
import signal

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from data_prep import records
from tests import scripts
from tests.robustness.soak import comparison

VOCAB_SIZE, S, P, NUM_RECORDS = 97, 20, 3, 37
STEPS = 24  # of 8 examples: over five epochs
FLAGS = {"bert_config_file": "bert_config.json", "input_file": "*.tfrecord", "do_train": True, "max_seq_length": S,
         "max_predictions_per_seq": P, "train_batch_size": 8, "num_train_steps": STEPS, "num_warmup_steps": 2,
         "save_checkpoints_steps": 4, "learning_rate": 1e-3}
STRATEGIES = {"one_device": {}, "mirrored": {"distribution_strategy": "mirrored", "num_cpu_devices": 2}}


def write_records(path, count, seed):
    generator = np.random.default_rng(seed)
    mask = np.arange(S) < generator.integers(S // 2, S + 1, [count, 1])
    with records.RecordWriter(str(path), records.pretraining_features(S, P)) as writer:
        writer.write({
            "input_ids": generator.integers(5, VOCAB_SIZE, [count, S]) * mask, "input_mask": mask,
            "segment_ids": (np.arange(S) > S // 4) & mask,
            "masked_lm_positions": np.sort(generator.integers(1, S // 2, [count, P])),
            "masked_lm_ids": generator.integers(5, VOCAB_SIZE, [count, P]),
            "masked_lm_weights": np.ones([count, P], np.float32),
            "next_sentence_labels": generator.integers(0, 2, [count, 1])})


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with records and a config; dropout is 0.1."""
    folder = tmp_path_factory.mktemp("resume")
    write_records(folder / "first.tfrecord", NUM_RECORDS - 11, seed=1)
    write_records(folder / "second.tfrecord", 11, seed=2)
    (folder / "bert_config.json").write_text(
        BertConfig(VOCAB_SIZE, 12, 1, 3, 28, max_position_embeddings=32, type_vocab_size=2).to_json())
    return folder


def interrupt(folder, output_dir, flags, after_step, how):
    """Starts a run and sends a signal soon after it has logged a step; returns status and standard error."""
    return scripts.kill_when(
        scripts.command("run.run_pretraining", output_dir=output_dir, iterations_per_loop=1, **flags), folder,
        lambda: last_step(folder / output_dir) >= after_step, how)


def last_step(folder):
    if not (folder / "training_log.csv").exists():
        return 0
    with open(folder / "training_log.csv", newline="", encoding="utf-8") as file:
        steps = [row["step"] for row in csv.DictReader(file) if None not in row.values()]
    return int(steps[-1]) if steps else 0


def final_tensors(folder):
    """All that the last checkpoint holds: name -> array."""
    reader = tf.train.load_checkpoint(str(folder / f"ckpt-{STEPS}"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()
            if name != "_CHECKPOINTABLE_OBJECT_GRAPH"}


@pytest.mark.timeout(300)  # it trains four or five times
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_killed_at_random_steps_ends_bitwise_as_one_never_killed(prepared, strategy):
    flags = {**FLAGS, **STRATEGIES[strategy]}
    whole, broken = f"whole_{strategy}", f"broken_{strategy}"
    scripts.succeed("run.run_pretraining", prepared, output_dir=whole, **flags)
    first, second = sorted(random.Random(3).sample(range(1, STEPS - 6), 2))
    status, _ = interrupt(prepared, broken, flags, first, signal.SIGKILL)
    assert status == -signal.SIGKILL
    if strategy == "one_device":
        status, errors = interrupt(prepared, broken, flags, max(second, last_step(prepared / broken) + 1),
                                   signal.SIGTERM)
        assert status == 143
        saved = re.search(r"broken_one_device: stopped by SIGTERM, saved at step (\d+); the same command resumes there",
                          errors)
        assert saved, errors[-3000:]
        assert (prepared / broken / f"ckpt-{saved[1]}.index").exists()
        assert int(saved[1]) in {step for _, step, _ in comparison.contents(prepared / broken)["events"]}
    done = scripts.run_anew("run.run_pretraining", prepared, output_dir=broken, **flags)
    assert re.search(rf"{broken}: (resuming at step \d+|a new run) of {STEPS}", done.stdout), done.stderr[-3000:]
    expected, tensors = (final_tensors(prepared / name) for name in (whole, broken))
    assert tensors.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(tensors[name], values, err_msg=name)
    output = scripts.succeed("run.run_pretraining", prepared, output_dir=broken, **{
        **flags, "learning_rate": 3e-3, "num_warmup_steps": 5, "clip_norm": 0})
    assert (f"{broken}: goes on with other settings than it was started with: --learning_rate 0.003 (was 0.001), "
            "--clip_norm 0.0 (was 1.0), --num_warmup_steps 5 (was 2)\n") in output
    assert "training is finished, at step 24 of 24" in output
