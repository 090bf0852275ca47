"""Word embeddings that are factorized or have fewer tokens, and layers that share their weights."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import FORMATS, load_pretrained, model_tensors, open_checkpoint
from bert_tf.checkpoints.tensors import StoredTensor
from bert_tf.compression.word_embeddings import factorize, keep_pieces
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.variables import EMBEDDING_PROJECTION, WORD_EMBEDDINGS
from tests.encoders import make_features
from tests.gradients import compute_gradients

CONFIG = BertConfig(19, 12, 4, 3, 10, max_position_embeddings=9, type_vocab_size=2, initializer_range=0.4,
                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
SHARED = dataclasses.replace(CONFIG, num_hidden_groups=2, embedding_size=5)


@pytest.fixture(scope="module")
def features():
    return make_features(CONFIG, (7, 4, 6)) | {"masked_lm_positions": tf.constant([[1, 2], [0, 3], [5, 1]])}


def load(folder, tensors, config):
    """Writes tensors to files and loads them into a pretrainer."""
    FORMATS["tf1"].write(str(folder), tensors, config)
    model = models.BertPretrainer(models.BertEncoder(config))
    report = load_pretrained(model, str(folder))
    assert report.missing == report.unused == ()
    assert open_checkpoint(str(folder)).config == config
    return model


def test_factorizing_a_matrix_of_low_rank_loses_nothing(features, tmp_path):
    model = models.BertPretrainer(models.BertEncoder(CONFIG))
    rng = np.random.default_rng(5)
    model.encoder.embeddings.word_embeddings.assign(rng.normal(size=(19, 5)) @ rng.normal(size=(5, 12)))
    tensors, config, fraction = factorize(model_tensors(model), CONFIG, 5)
    assert fraction == pytest.approx(1)
    assert tensors[WORD_EMBEDDINGS].shape == [19, 5]
    smaller, expected = load(tmp_path, tensors, config)(features), model(features)
    for name, value in expected.items():
        np.testing.assert_allclose(smaller[name], value, atol=2e-4, err_msg=name)


def test_the_factorization_is_the_best_of_its_rank():
    table = np.random.default_rng(6).normal(size=(19, 12)).astype(np.float32)
    tensors, _, fraction = factorize({WORD_EMBEDDINGS: StoredTensor([19, 12], lambda: table)}, CONFIG, 4)
    left, values, right = np.linalg.svd(table, full_matrices=False)
    words, projection = (tensors[name].read() for name in (WORD_EMBEDDINGS, EMBEDDING_PROJECTION))
    np.testing.assert_allclose(words @ projection, left[:, :4] * values[:4] @ right[:4], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(words, axis=0), np.linalg.norm(projection, axis=1), rtol=1e-4)
    assert fraction == pytest.approx((values[:4] ** 2).sum() / (values**2).sum())


@pytest.mark.parametrize(("config", "size", "message"), [
    (CONFIG, 12, "`embedding_size`=12: must be at least 1 and less than hidden_size, 12"),
    (SHARED, 3, "`embedding_size`=3: the word embeddings of the model are already factorized, to size 5"),
])
def test_rejected_sizes(config, size, message):
    with pytest.raises(InputError, match=message):
        factorize({}, config, size)


def test_scores_of_a_reduced_vocabulary(features, tmp_path):
    model = models.BertPretrainer(models.BertEncoder(CONFIG))
    ids = np.array([0, 2, 3, 7, 8, 11, 18])
    tensors, config = keep_pieces(model_tensors(model), CONFIG, ids)
    assert config.vocab_size == 7
    smaller = load(tmp_path, tensors, config)
    places = np.random.default_rng(7).integers(0, 7, [3, 7])
    expected = model(features | {"input_ids": tf.constant(ids[places], tf.int32)})["masked_lm_logits"]
    found = smaller(features | {"input_ids": tf.constant(places, tf.int32)})["masked_lm_logits"]
    np.testing.assert_allclose(found, tf.gather(expected, ids, axis=2), atol=1e-5)


def test_layers_that_share_their_weights(features, tmp_path):
    """Layers 0 and 1 share, and 2 and 3: equivalent to four layers with equal weights, whose gradients are added."""
    shared = models.BertPretrainer(models.BertEncoder(SHARED))
    layers = shared.encoder.encoder_layers
    assert layers[0] is layers[1] is not layers[2] is layers[3]
    tensors = model_tensors(shared)
    copies = {name.replace(f"/layer_{number // 2}/", f"/layer_{number}/"): tensor for number in range(4)
              for name, tensor in tensors.items() if "/layer_" not in name or f"/layer_{number // 2}/" in name}
    unshared = load(tmp_path / "unshared", copies, dataclasses.replace(SHARED, num_hidden_groups=None))

    found, expected = (compute_gradients(model, features, lambda outputs, features: {
        "loss": sum(tf.reduce_sum(value**2) for value in outputs.values())}) for model in (shared, unshared))
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-6)
    name = "bert/encoder/layer_{}/intermediate/dense/kernel:0"
    np.testing.assert_allclose(found[name.format(1)], expected[name.format(2)] + expected[name.format(3)],
                               rtol=1e-3, atol=1e-4)

    tf.train.Checkpoint(model=shared).write(str(tmp_path / "ckpt-1"))
    again = models.BertPretrainer(models.BertEncoder(SHARED, seed=1))
    report = load_pretrained(again, str(tmp_path / "ckpt-1"))
    assert report.missing == report.unused == ()
    np.testing.assert_array_equal(again(features)["masked_lm_logits"], shared(features)["masked_lm_logits"])
