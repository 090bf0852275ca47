"""Prediction: outputs of a model for arrays of examples, in batches of similar length."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from run.training.padding import Padding
from run.training.prediction import Predictor

pytestmark = pytest.mark.large

NUM_EXAMPLES = 11
LENGTH = 9
BATCH = 4


@pytest.fixture(scope="module")
def features(reference_config):
    generator = np.random.default_rng(2)
    lengths = generator.integers(3, LENGTH - 1, NUM_EXAMPLES)
    mask = (np.arange(LENGTH) < lengths[:, np.newaxis]).astype(np.int32)
    ids = generator.integers(0, reference_config.vocab_size, mask.shape, dtype=np.int32)
    return {
        "input_ids": ids * mask,
        "input_mask": mask,
        "segment_ids": np.zeros_like(mask),
        "label_ids": np.zeros(NUM_EXAMPLES, np.int32),
    }


@pytest.mark.parametrize("padding", [Padding.DYNAMIC, Padding.STATIC])
def test_outputs_are_in_the_order_of_the_examples(
    reference_config, features, two_replicas, padding
):
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        with strategy.scope():
            model = models.BertClassifier(reference_config, 3)
        expected = model({name: tf.constant(features[name]) for name in features})["logits"]
        predictor = Predictor(strategy, model, padding=padding)
        outputs = predictor(features, BATCH)
        np.testing.assert_allclose(outputs["logits"], expected, atol=1e-6)


def test_outputs_per_position_are_padded_with_zeros(reference_config, features):
    model = models.BertTokenClassifier(reference_config, 5)
    expected = model({name: tf.constant(features[name]) for name in features})["logits"].numpy()
    outputs = Predictor(tf.distribute.get_strategy(), model, per_position=True)(features, BATCH)
    assert outputs["logits"].shape == (NUM_EXAMPLES, LENGTH, 5)
    real = features["input_mask"].astype(bool)
    np.testing.assert_allclose(outputs["logits"][real], expected[real], atol=1e-6)
    assert not outputs["logits"][:, -1].any()  # No example is that long.


@pytest.mark.parametrize(("replicas", "shapes"), [(1, [[BATCH, None]]), (2, [[2, 4], [2, None]])])
def test_the_model_is_traced_once_for_all_lengths(features, two_replicas, replicas, shapes):
    """Several replicas trace it a second time, for a second length."""
    traces = []

    def model(batch, training):
        traces.append(batch["input_ids"].shape.as_list())
        return {"sums": tf.reduce_sum(batch["input_ids"], axis=1)}

    predictor = Predictor(two_replicas if replicas == 2 else tf.distribute.get_strategy(), model)
    for _ in range(2):
        outputs = predictor(features, BATCH)
        np.testing.assert_array_equal(outputs["sums"], features["input_ids"].sum(axis=1))
    assert traces[::replicas] == shapes


def test_no_examples(features):
    predictor = Predictor(tf.distribute.get_strategy(), lambda batch, training: batch)
    with pytest.raises(ValueError, match="evaluating: there are no examples"):
        predictor({name: values[:0] for name, values in features.items()}, BATCH, "evaluating")


def test_weights_are_cast_once_in_16_bits(reference_config, features):
    """They are cast once per call, since training can change them, and not once per batch."""
    model = models.BertClassifier(models.BertEncoder(reference_config, dtype="mixed_bfloat16"), 3)
    graphs = []

    def traced(batch, training=False):
        graphs.append(tf.compat.v1.get_default_graph())
        return model(batch, training=training)

    predictor = Predictor(tf.distribute.get_strategy(), traced, network=model)
    for _ in range(2):
        expected = model({name: tf.constant(features[name]) for name in features})["logits"]
        np.testing.assert_allclose(predictor(features, BATCH)["logits"], expected, atol=0.02)
        model.encoder.pooler.kernel.assign(-model.encoder.pooler.kernel)
    operations = [operation for graph in graphs for operation in graph.get_operations()]
    assert len(operations) > 100
    assert not [
        each
        for each in operations
        if each.type == "Cast" and each.inputs[0].op.type == "ReadVariableOp"
    ]
