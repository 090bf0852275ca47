"""Evaluation of pre-training: means over predictions and examples, also on replicas."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.config import BertConfig
from run.pretraining import evaluation, job
from run.pretraining.settings import PretrainingSettings
from run.training.settings import TrainingSettings
from tests.errors import check_message, rejects

pytestmark = pytest.mark.large

CONFIG = BertConfig(
    vocab_size=41,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=3,
    intermediate_size=7,
    max_position_embeddings=13,
    type_vocab_size=2,
)
S = 9
P = 2
EXAMPLES = 11


@pytest.fixture(scope="module")
def examples():
    generator = np.random.default_rng(1)
    arrays = {
        "input_ids": generator.integers(0, 41, [EXAMPLES, S]),
        "input_mask": np.ones([EXAMPLES, S]),
        "segment_ids": np.zeros([EXAMPLES, S]),
        "masked_lm_positions": generator.integers(0, S, [EXAMPLES, P]),
        "masked_lm_ids": generator.integers(0, 41, [EXAMPLES, P]),
        "next_sentence_labels": generator.integers(0, 2, [EXAMPLES, 1]),
    }
    weights = np.arange(EXAMPLES * P).reshape(EXAMPLES, P) % 3 > 0
    return {
        **{name: tf.constant(value, tf.int32) for name, value in arrays.items()},
        "masked_lm_weights": tf.constant(weights, tf.float32),
    }


def evaluate(strategy, examples, max_steps=99):
    with strategy.scope():
        model = models.BertPretrainer(models.BertEncoder(CONFIG, seed=3))
    evaluator = evaluation.PretrainingEvaluator(strategy, model, "next_sentence")
    data = tf.data.Dataset.from_tensor_slices(examples).batch(5)  # 5, 5, and 1.
    results = evaluator(lambda share: data, max_steps)
    # The first call leaves no state.
    assert results == evaluator(lambda share: data, max_steps)
    return model, results


def test_means_are_over_predictions_and_examples(examples):
    model, results = evaluate(tf.distribute.OneDeviceStrategy("CPU:0"), examples)
    outputs = model(examples)
    whole = losses.pretraining_loss(outputs, examples)
    for name in ("masked_lm_loss", "next_sentence_loss"):
        # The loss of training divides by the number of predictions + 1e-5.
        assert results[name] == pytest.approx(float(whole[name]), rel=1e-4)
    hits = np.argmax(outputs["masked_lm_logits"], axis=-1) == examples["masked_lm_ids"].numpy()
    weights = examples["masked_lm_weights"].numpy()
    assert results["masked_lm_accuracy"] == pytest.approx((hits * weights).sum() / weights.sum())
    batches = [
        losses.pretraining_loss(model(batch), batch)["loss"]
        for batch in tf.data.Dataset.from_tensor_slices(examples).batch(5)
    ]
    assert results["loss"] == pytest.approx(np.mean(batches), rel=1e-5)


@pytest.mark.extra_large
def test_two_replicas_give_the_same_results(examples, two_replicas):
    """The last batch has no examples for one of them."""
    _, expected = evaluate(tf.distribute.OneDeviceStrategy("CPU:0"), examples)
    _, results = evaluate(two_replicas, examples)
    assert results == pytest.approx(expected, rel=1e-5)


def test_nothing_to_evaluate(examples):
    with rejects(None, "there are too few records", "add records"):
        evaluate(
            tf.distribute.OneDeviceStrategy("CPU:0"),
            {name: value[:0] for name, value in examples.items()},
        )


def test_a_checkpoint_without_heads_is_trained_but_not_evaluated(tmp_path, capsys):
    tf.train.Checkpoint(model=models.BertEncoder(CONFIG)).write(str(tmp_path / "encoder"))
    settings = PretrainingSettings(
        do_eval=True,
        model=ModelSettings(init_checkpoint=str(tmp_path / "encoder"), config=CONFIG),
        training=TrainingSettings(output_dir=str(tmp_path / "out")),
    )
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with rejects(None, "cannot be evaluated", "lacks cls/"):
        job.start(settings, strategy)
    with rejects(
        None, "contains no checkpoint to evaluate", "train first", "set `init_checkpoint`"
    ):
        job.start(dataclasses.replace(settings, model=ModelSettings(config=CONFIG)), strategy)
    job.start(dataclasses.replace(settings, do_eval=False, do_train=True), strategy)
    check_message(
        capsys.readouterr().err,
        None,
        "note",
        f"{tmp_path}/encoder lacks heads",
        "(predictions, seq_relationship)",
        "random weights",
    )
