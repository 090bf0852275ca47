"""Learning rates that differ from layer to layer."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.optimization import create_optimizer, layerwise_factors

NAMES = {  # of a model of three layers -> power of the decay
    "bert/embeddings/word_embeddings": 3,
    "bert/embeddings/LayerNorm/gamma": 3,
    "bert/encoder/layer_0/attention/self/qkv/kernel": 2,
    "bert/encoder/layer_1/output/dense/bias": 1,
    "bert/encoder/layer_2/intermediate/dense/kernel": 0,
    "bert/pooler/dense/kernel": 0,
    "output_weights": 0,
    "cls/squad/output_bias": 0,
}


def test_factors_fall_from_layer_to_layer():
    variables = [tf.Variable(0.0, name=name) for name in NAMES]
    pairs = layerwise_factors(variables, 3, 0.5)
    assert {variable.name.removesuffix(":0"): factor for variable, factor in pairs} == {
        name: 0.5**power for name, power in NAMES.items()}


def test_every_layer_of_a_model_is_found(reference_config):
    model = models.BertClassifier(models.BertEncoder(reference_config), 3)
    factors = {variable.name: factor for variable, factor in layerwise_factors(model.trainable_variables, 2, 0.25)}
    assert sorted(set(factors.values())) == [0.25**2, 0.25, 1.0]
    assert {name.split("/")[2] for name, factor in factors.items() if factor == 0.25} == {"layer_0"}
    assert {name.split("/")[1] for name, factor in factors.items() if factor == 0.25**2} == {"embeddings"}


@pytest.mark.parametrize("name", ["adamw", "lamb"])
def test_a_variable_moves_and_decays_at_its_own_rate(name):
    """Twins get the same gradients; one of them has a quarter of the rate."""
    initial = np.float32([[2.0, -1.0, 0.5]])
    twins = [tf.Variable(initial, name=f"{scope}/kernel") for scope in ("whole", "quarter")]
    optimizer = create_optimizer(0.125, 7, 0, name, weight_decay=0.5)
    optimizer.set_rate_factors([(twins[1], 0.25)])
    gradient = tf.constant([[0.25, 0.5, -0.125]])
    optimizer.apply_gradients([(gradient, variable) for variable in twins])
    moves = [variable.numpy() - initial for variable in twins]
    np.testing.assert_allclose(moves[1], 0.25 * moves[0], rtol=1e-5)
    assert np.abs(moves[0]).min() > 0
