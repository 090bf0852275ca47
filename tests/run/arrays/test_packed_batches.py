"""Packing of several examples into a row: each step has the same examples, losses, and gradients."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from run.arrays import batches, packing
from run.training.host_batches import WHOLE, HostShare
from tests import scripts, toy_runs

NUM, WIDTH, BATCH = 23, 17, 6


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(4)
    lengths = rng.integers(3, WIDTH // 2, NUM)
    lengths[0] = WIDTH
    mask = (np.arange(WIDTH) < lengths[:, np.newaxis]).astype(np.int32)
    return {"input_ids": mask * rng.integers(5, 120, [NUM, WIDTH], np.int32), "input_mask": mask,
            "segment_ids": mask * (np.arange(WIDTH, dtype=np.int32) > 4),
            "label_ids": np.arange(NUM, dtype=np.int32) % 3}


def get_batch(dataset, step):
    (batch,) = itertools.islice(dataset, step, step + 1)
    return batch


def pack_batches(arrays, **options):
    return packing.make_packed_batches(arrays, BATCH, 5, 20, **{"share": WHOLE, **options})


@pytest.mark.parametrize("kind", ["labels", "numbers", "several", "tokens"])
def test_losses_and_gradients_equal_those_of_separate_examples(arrays, reference_config, kind):
    labels = {"labels": arrays["label_ids"], "numbers": (arrays["label_ids"] * 0.7).astype(np.float32),
              "several": (np.arange(NUM * 3).reshape(NUM, 3) % 2).astype(np.int32),
              "tokens": np.where(arrays["input_mask"] == 1, arrays["input_ids"] % 3, -1).astype(np.int32)}[kind]
    arrays = {**arrays, "label_ids": labels}
    loss = {"labels": losses.classification_loss, "numbers": losses.regression_loss,
            "several": losses.multi_label_loss, "tokens": losses.token_classification_loss}[kind]
    separate = get_batch(batches.training_batches(arrays, BATCH, 5, static_shapes=True), 3)
    packed = get_batch(pack_batches(arrays, per_position=kind == "tokens"), 3)
    assert packed["input_ids"].shape[0] < BATCH
    config = dataclasses.replace(reference_config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)

    def loss_and_gradients(features):
        encoder = models.BertEncoder(config, seed=3)
        if kind == "tokens":
            model = models.BertTokenClassifier(encoder, 3)
        else:
            model = models.BertClassifier(encoder, 1 if kind == "numbers" else 3)
        with tf.GradientTape() as tape:
            value = loss(model(features, training=True), features)["loss"]
        return value, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(value, model.trainable_variables)
                       if gradient is not None]

    found, expected = (loss_and_gradients(each) for each in (packed, separate))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    assert len(found[1]) == len(expected[1])
    norms = [float(tf.linalg.global_norm(gradients)) for gradients in (
        [gradient - other for gradient, other in zip(found[1], expected[1], strict=True)], expected[1])]
    assert norms[0] < 1e-6 * norms[1]


def test_all_batches_have_one_shape_and_resume(arrays):
    first = [get_batch(pack_batches(arrays), step) for step in range(9)]
    shapes = {tuple((name, tuple(values.shape)) for name, values in batch.items()) for batch in first}
    assert len(shapes) == 1
    resumed = get_batch(pack_batches(arrays, first_step=7), 0)
    for name, values in resumed.items():
        np.testing.assert_array_equal(values, first[7][name])
    even = get_batch(pack_batches(arrays, multiple=4), 0)
    assert even["input_ids"].shape[0] % 4 == 0
    halves = [get_batch(pack_batches(arrays, multiple=4, share=HostShare(index, 2)), 0) for index in range(2)]
    for name, values in even.items():
        np.testing.assert_array_equal(np.concatenate([half[name] for half in halves]), values)


def test_packing_is_first_fit_decreasing():
    packs = packing.pack(np.array([3, 9, 5, 4, 1]), 10)
    assert [list(map(int, pack)) for pack in packs] == [[1, 4], [2, 3], [0]]
    assert len(packing.pack(np.ones(30, int), 100)) == 3  # At most twelve per row.


@pytest.mark.parametrize(("script", "name"), [("run.run_classifier", "sst"), ("run.run_tagger", "tagger")])
def test_a_packed_run_has_the_losses_of_an_unpacked_one(tmp_path, reference, monkeypatch, script, name):
    toy_runs.write_data(tmp_path)
    toy_runs.write(tmp_path, reference, {name: toy_runs.TASKS[name]}, hidden_dropout_prob=0.0,
                   attention_probs_dropout_prob=0.0)
    monkeypatch.chdir(tmp_path)
    flags = {"init_checkpoint": name, "max_seq_length": 20, "train_batch_size": 4, "iterations_per_loop": 1,
             "jit_compile": True, "accumulate_steps": 2, "group_by_length": False, "do_train": True,
             "num_train_epochs": 1, **toy_runs.DATA[name], **({"task_name": "sst-2"} if name == "sst" else {})}
    curves = []
    for pack_sequences in (True, False):
        directory = f"packed_{pack_sequences}"
        scripts.run_here(script, output_dir=directory, pack_sequences=pack_sequences, **flags)
        curves.append(np.genfromtxt(f"{directory}/training_log.csv", delimiter=",", names=True)["loss"])
    assert curves[0].size > 0
    np.testing.assert_allclose(*curves, rtol=1e-5)
