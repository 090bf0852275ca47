"""Floating-point operations and throughput, compared with matrix multiplications."""

import itertools
import types

import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.fast import Fast, FastEncoder
from bert_tf.losses import Term, TotalLoss
from run.pretraining import job
from run.pretraining.settings import PretrainingSettings, RecordSettings
from run.techniques.base import Build
from run.techniques.settings import TrainedWeightsSettings
from run.techniques.trained_weights import TrainedWeights
from run.training import strategies, utilization

CONFIG = BertConfig(vocab_size=11, hidden_size=6, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7,
                    max_position_embeddings=13)


def test_flops_counted_by_hand():
    tokens = 5
    projections = 4 * (2 * tokens * 6 * 6)  # query, key, value, output
    attention = 2 * (2 * tokens * tokens * 6)  # scores and weighted sum, all heads together
    feed_forward = 2 * (2 * tokens * 6 * 7)
    assert utilization.encoder_flops(CONFIG, 3, tokens) == 3 * 2 * (projections + attention + feed_forward)
    head = 4 * (2 * 6 * 6 + 2 * 6 * 11)  # 4 predictions: transform, logits
    assert utilization.masked_lm_flops(CONFIG, 1, 4) == head
    assert utilization.pretraining_flops(CONFIG, tokens, 4) == 3 * (
        2 * (projections + attention + feed_forward) + head)


def test_the_last_layer_counts_where_it_is_computed():
    """On CPUs, at [CLS] and the predictions; all positions have queries, keys, and values."""
    tokens, read = 5, 2
    skipped = (tokens - read) * (2 * 6 * 6 + 2 * (2 * tokens * 6) + 2 * (2 * 6 * 7))  # output, attention, feed-forward
    assert utilization.encoder_flops(CONFIG, 3, tokens, read) == (
        utilization.encoder_flops(CONFIG, 3, tokens) - 3 * skipped)
    assert utilization.finetuning_flops(CONFIG, tokens, num_read=read) == (
        utilization.finetuning_flops(CONFIG, tokens) - 3 * skipped)
    assert utilization.pretraining_flops(CONFIG, tokens, 1, last_where_read=True) == (
        utilization.pretraining_flops(CONFIG, tokens, 1) - 3 * skipped)


@pytest.mark.parametrize(("last_where_read", "per_position", "num_read"), [
    (True, False, 1), (True, True, None), (False, False, None)])
def test_tasks_say_where_the_last_layer_is_read(last_where_read, per_position, num_read):
    model = types.SimpleNamespace(encoder=FastEncoder(CONFIG, Fast(last_where_read=last_where_read)))
    build, technique = Build(model, None, None, 0, None), TrainedWeights(TrainedWeightsSettings())
    technique.read(types.SimpleNamespace(needs=None, per_position=per_position), None)
    technique.build(build)
    assert build.flops(5) == utilization.finetuning_flops(CONFIG, 5, num_read=num_read)


@pytest.mark.parametrize("last_where_read", [True, False])
def test_pretraining_says_where_the_last_layer_is_read(last_where_read):
    settings = PretrainingSettings(records=RecordSettings(max_predictions_per_seq=3))
    flops = job.count_flops(settings, FastEncoder(CONFIG, Fast(last_where_read=last_where_read)))
    assert flops(5) == utilization.pretraining_flops(CONFIG, 5, 3, last_where_read)


def test_the_fastest_of_several_timings_is_the_rate(monkeypatch):
    """Another process takes the device during all but one of them."""
    monkeypatch.setattr(utilization, "MATRIX_WIDTHS", {"CPU": 32})
    monkeypatch.setattr(strategies, "device_type", lambda _: "CPU")
    durations = iter([1.0, 0.1, 4.0, 3.0, 0.5, 3.0, 4.0])  # of tracing, of one product, of each timing
    times = itertools.chain.from_iterable((0.0, duration) for duration in durations)
    monkeypatch.setattr(utilization.time, "perf_counter", lambda: next(times))
    assert utilization.measure_matmul_rate(tf.distribute.OneDeviceStrategy("CPU:0"), "float16") == 2 * 32**3 / 0.5


def test_a_rate_that_was_measured_on_a_busy_device_is_not_compared_with():
    assert utilization.compare(80.0, 100.0) == {"model_flop_utilisation": 0.8}
    assert utilization.compare(113.0, 100.0) == {}


def test_tokens_are_counted_beside_a_loss():
    loss = TotalLoss(Term("loss", lambda outputs, features: outputs, counts=1), utilization.TOKENS_PER_EXAMPLE)
    features = {"input_mask": tf.constant([[1, 1, 0], [1, 1, 1]])}
    found = loss(tf.constant([1.0, 2.0]), features)
    assert {name: float(value) for name, value in found.items()} == {"loss": 1.5, "tokens": 2.5}
    packed = {"input_mask": tf.constant([[1, 1, 0], [1, 2, 3]]),
              "sequence_weights": tf.constant([[1.0, 0, 0], [1, 1, 1]])}
    assert loss(tf.constant([1.0, 2.0]), packed)["tokens"] == 5 / 4
