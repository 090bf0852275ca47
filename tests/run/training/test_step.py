"""Training steps: reference losses with every strategy, accumulation, dropout, and NaN.

The reference batches hold 4 examples with 1 to 6 predictions each, so that replicas and
micro-batches hold different numbers of predictions. Tolerance: 1e-4 relative, what the original
allows itself between machines.
"""

import contextlib
import dataclasses
import json
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.losses import Term, TotalLoss, classification_loss
from bert_tf.optimization import BertAdamW, create_optimizer
from run.training import host_batches
from run.training.step import Trainer
from tests import reference_training, scripts
from tests.clusters import start_workers

RELATIVE = 1e-4
WORKER_SECONDS = 240
RATE = 0.125
CONFIG = BertConfig(
    31, 8, 1, 2, 12, max_position_embeddings=6, type_vocab_size=2, initializer_range=1.0
)


class Line(tf_keras.Model):
    """x -> x * kernel."""

    def __init__(self):
        super().__init__()
        self.kernel = self.add_weight("kernel", [], initializer="ones")

    def call(self, features, training=False):
        return features["x"] * self.kernel


mean_output = TotalLoss(Term("loss", lambda outputs, features: outputs))
mean_root = TotalLoss(
    Term(  # Finite at 0, where its gradient is not.
        "loss", lambda outputs, features: tf.sqrt(outputs)
    )
)


class Training(NamedTuple):
    """A Trainer, and what it trains."""

    trainer: Trainer
    model: tf_keras.Model
    optimizer: tf_keras.optimizers.Optimizer

    def train(self, steps):
        """Trains a Line in one loop; returns its weight."""
        self.trainer.train(tf.constant(steps))
        return self.model.kernel.numpy()

    def copy_moments(self):
        """Returns the moments of the weight of a Line."""
        return (
            self.optimizer._first_moments[0].numpy(),
            self.optimizer._second_moments[0].numpy(),
        )

    def make_checkpoint(self):
        return tf.train.Checkpoint(model=self.model, optimizer=self.optimizer)


def make_line(strategy, loss, batches, make_optimizer=BertAdamW, **options):
    """Returns the Training of a Line on batches of numbers, whose last is repeated."""
    with strategy.scope():
        model = Line()
        optimizer = make_optimizer(RATE)
        optimizer.build(model.trainable_variables)
    trainer = Trainer(strategy, model, optimizer, loss, **options)
    numbers = np.array([*batches, *[batches[-1]] * 20], np.float32).reshape(-1)
    data = tf.data.Dataset.from_tensor_slices(
        {"x": numbers, "input_mask": np.ones([len(numbers), 1], np.int32)}
    )
    data = data.batch(len(batches[0]), drop_remainder=True)
    trainer.set_dataset(lambda share: data)
    return Training(trainer, model, optimizer)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_stops_every_later_update(bad, one_device):
    line = make_line(one_device, mean_output, [[1, 2], [2, 5], [bad, 1], [3, 7]])
    good = line.train(2)
    assert line.trainer.first_bad_step is None
    moments = line.copy_moments()
    assert line.train(3) == good
    assert line.trainer.first_bad_step == 3
    assert line.copy_moments() == moments
    assert line.train(2) == good
    assert line.trainer.first_bad_step == 3


def test_one_bad_replica_stops_both(two_replicas):
    line = make_line(two_replicas, mean_output, [[1, 2], [2, np.nan], [3, 7]])
    good = line.train(1)
    line.train(3)
    assert [value.numpy() for value in line.model.kernel.values] == [good, good]
    assert line.trainer.first_bad_step == 2


def test_a_gradient_that_is_not_finite_stops_them_too(one_device):
    line = make_line(one_device, mean_root, [[1, 4], [1, 0], [4, 1]])
    good = line.train(1)
    assert line.train(2) == good
    assert line.trainer.first_bad_step == 2


def test_gradients_that_overflow_under_a_loss_scale_lower_it(one_device, monkeypatch):
    """Gradients overflow at scale 8 and at scale 4, which become 4 and 2; training continues."""
    monkeypatch.setattr("bert_tf.optimization.optimizer.INITIAL", 8.0)
    line = make_line(
        one_device,
        mean_root,
        [[1, 4], [1, 0], [0, 4], [4, 1]],
        lambda rate: BertAdamW(rate, scale_loss=True),
    )
    good = line.train(1)
    assert line.train(2) == good
    assert line.train(1) != good
    assert line.trainer.first_bad_step is None
    assert float(line.optimizer.loss_scale) == 2
    assert int(line.optimizer.iterations) == 4


def test_a_loop_logs_the_last_and_the_largest_norm(one_device):
    """The gradient of a Line is the mean of its batch."""
    line = make_line(one_device, mean_output, [[1, 2], [2, 5], [3, 1]])
    values = line.trainer.train(tf.constant(3))
    assert (values["gradient_norm"], values["largest_gradient_norm"]) == (2, 3.5)
    assert values["learning_rate"] == RATE
    values = line.trainer.train(tf.constant(1))  # The largest is of these steps only.
    assert (values["gradient_norm"], values["largest_gradient_norm"]) == (2, 2)


def test_the_logged_norm_is_unscaled_and_of_steps_that_are_not_skipped(one_device, monkeypatch):
    monkeypatch.setattr("bert_tf.optimization.optimizer.INITIAL", 8.0)
    line = make_line(
        one_device, mean_root, [[1, 4], [1, 0]], lambda rate: BertAdamW(rate, scale_loss=True)
    )
    values = line.trainer.train(tf.constant(2))  # The second overflows.
    assert values["gradient_norm"] == values["largest_gradient_norm"] == pytest.approx(0.75)
    assert line.trainer.train(tf.constant(1))["gradient_norm"] == 0


@pytest.mark.extra_large
@pytest.mark.parametrize("kind", reference_training.KINDS)
@pytest.mark.parametrize("accumulate_steps", [1, 2])
def test_the_logged_norm_is_that_of_tensorflow(kind, accumulate_steps, two_replicas):
    """tf.linalg.global_norm of the gradients of the entire first batch, on one device."""
    model = reference_training.make_model(kind)
    features = next(iter(reference_training.read_batches(host_batches.WHOLE)))
    with tf.GradientTape() as tape:
        outputs = model(features, training=True)
        loss = reference_training.LOSSES[kind](outputs, features)["loss"]
    gradients = tape.gradient(loss, model.trainable_variables)
    norm = tf.linalg.global_norm([each for each in gradients if each is not None])

    with two_replicas.scope():
        model = reference_training.make_model(kind)
        optimizer = create_optimizer(1e-3, 9, 2, clip_norm=0.5)
        optimizer.build(model.trainable_variables)
    trainer = Trainer(
        two_replicas,
        model,
        optimizer,
        reference_training.LOSSES[kind],
        accumulate_steps=accumulate_steps,
    )
    trainer.set_dataset(reference_training.read_batches)
    values = trainer.train(1)
    assert values["gradient_norm"] == pytest.approx(float(norm), rel=1e-5)
    assert float(norm) > 0.5  # The norm after clipping.
    assert values["learning_rate"] == 0
    rates = [trainer.train(1)["learning_rate"] for _ in range(3)]
    assert rates == pytest.approx([1e-3 / 2, 1e-3 * 7 / 9, 1e-3 * 6 / 9])


@pytest.mark.large
def test_gradient_accumulation_on_replicas_with_batches_from_a_generator(two_replicas):
    """TensorFlow does not know that a generator has no end.

    It considers the batch size unknown if another dimension is.
    """
    numbers = np.arange(1, 5, dtype=np.float32)
    expected = make_line(two_replicas, mean_output, [numbers]).train(1)
    line = make_line(two_replicas, mean_output, [numbers], accumulate_steps=2)
    line.trainer.set_dataset(
        lambda share: tf.data.Dataset.from_generator(
            lambda: iter([{"x": numbers, "input_mask": np.ones([4, 3], np.int32)}] * 9),
            output_signature={
                "x": tf.TensorSpec([4]),
                "input_mask": tf.TensorSpec([4, None], tf.int32),
            },
        )
    )
    assert line.train(1) == pytest.approx(expected)


def make_classifier(strategy, dropout, **options):
    """Returns the Training of a classifier.

    In addition to the loss, the Trainer gives the mean of the squared losses of the micro-batches.
    """
    config = dataclasses.replace(
        CONFIG, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    with strategy.scope():
        model = models.BertClassifier(config, 2)
        optimizer = create_optimizer(1e-3, 9, 2, scale_loss=True)
        optimizer.build(model.trainable_variables)

    def mean_of_power(exponent):
        return lambda outputs, features: tf.repeat(
            classification_loss(outputs, features)["loss"] ** exponent,
            tf.shape(features["input_ids"])[0],
        )

    loss = TotalLoss(
        Term("loss", mean_of_power(1)),
        Term("square", mean_of_power(2), factor=0.0),
    )
    return Training(Trainer(strategy, model, optimizer, loss, **options), model, optimizer)


def make_texts(share, are_alike=False):
    """Returns batches of a host's rows of 4 texts."""
    ids = np.random.default_rng(1).integers(1, 31, [1 if are_alike else 4 * 9, 6]).astype(np.int32)
    data = tf.data.Dataset.from_tensor_slices(
        {
            "input_ids": ids,
            "input_mask": np.ones_like(ids),
            "segment_ids": np.zeros_like(ids),
            "label_ids": ids[:, 0] % 2,
        }
    )
    return data.repeat().batch(4 // share.count, drop_remainder=True)


@pytest.mark.extra_large
@pytest.mark.parametrize(
    ("dropout", "jit_compile"),
    [(0.0, False), (0.5, False), (0.5, True)],
    ids=["without", "with", "with, under XLA"],
)
def test_micro_batches_have_their_own_dropout(dropout, jit_compile, one_device):
    trainer = make_classifier(
        one_device, dropout, accumulate_steps=4, jit_compile=jit_compile
    ).trainer
    trainer.set_dataset(lambda share: make_texts(share, are_alike=True))
    means = trainer.train(tf.constant(1))
    spread = float(means["square"]) - float(means["loss"]) ** 2
    assert spread > 1e-3 if dropout else abs(spread) < 1e-5


@pytest.mark.extra_large
def test_a_resumed_run_ends_bit_identical(two_replicas, tmp_path):
    """Two micro-batches on each of two replicas, with dropout and a loss scale."""
    complete = make_classifier(two_replicas, 0.2, accumulate_steps=2)
    complete.trainer.set_dataset(make_texts)
    complete.trainer.train(tf.constant(2))
    path = complete.make_checkpoint().save(str(tmp_path / "ckpt"))
    complete.trainer.train(tf.constant(2))

    resumed = make_classifier(two_replicas, 0.2, accumulate_steps=2)
    with two_replicas.scope():
        resumed.make_checkpoint().restore(path).assert_consumed()
    resumed.trainer.set_dataset(lambda share: make_texts(share).skip(2))
    resumed.trainer.train(tf.constant(2))
    for first, second in zip(
        complete.model.trainable_variables, resumed.model.trainable_variables, strict=True
    ):
        np.testing.assert_array_equal(first.numpy(), second.numpy(), err_msg=first.name)


def assert_reference(numbers, found):
    """Compares losses and norms with the numbers of the original BERT."""
    for name, values in zip(("loss", "final_norms"), found, strict=True):
        np.testing.assert_allclose(values, numbers[name], rtol=RELATIVE, err_msg=name)


@pytest.mark.large
@pytest.mark.parametrize(
    ("kind", "on_replicas", "options"),
    [
        ("pretrain", True, {}),
        ("classify", True, {"accumulate_steps": 2}),
        ("pretrain", False, {"accumulate_steps": 2, "encoder_options": {"remove_padding": True}}),
        ("pretrain", False, {"accumulate_steps": 2, "jit_compile": True}),
    ],
    ids=[
        "replicas",
        "replicas with gradient accumulation",
        "gradient accumulation without padding",
        "XLA",
    ],
)
def test_losses_and_weights_are_the_originals(
    kind, on_replicas, options, one_device, two_replicas, reference_numbers
):
    strategy = two_replicas if on_replicas else one_device
    assert_reference(reference_numbers(kind), reference_training.train(kind, strategy, **options))


@pytest.mark.extra_large
@pytest.mark.parametrize("jit_compile", [False, True], ids=["plain", "compiled by XLA"])
def test_float16_with_a_loss_scale(jit_compile, one_device, two_replicas, reference_numbers):
    """float16 carries 11 bits: the losses are the original's to 2^-11."""
    found, _ = reference_training.train(
        "pretrain",
        one_device if jit_compile else two_replicas,
        scale_loss=True,
        encoder_options={"dtype": "mixed_float16"},
        jit_compile=jit_compile,
    )
    np.testing.assert_allclose(found, reference_numbers("pretrain")["loss"], rtol=2**-11)


@pytest.mark.extra_large
@pytest.mark.timeout(WORKER_SECONDS)
def test_two_processes(reference_numbers, tmp_path):
    with contextlib.ExitStack() as stack:
        _, workers = start_workers(stack, tmp_path, scripts.command("tests.reference_training"))
        answers = [worker.communicate(timeout=WORKER_SECONDS) for worker in workers]
    for worker, (output, errors) in zip(workers, answers, strict=True):
        assert worker.returncode == 0, errors[-3000:]
        found = json.loads(output)
        for kind in reference_training.KINDS:
            assert_reference(reference_numbers(kind), (found[kind]["losses"], found[kind]["norms"]))
