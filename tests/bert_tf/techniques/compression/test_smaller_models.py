"""Pruned models equal masked ones; importance by finite differences; smaller word embeddings."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import FORMATS, ModelDirectory, huggingface, model_tensors
from bert_tf.checkpoints.tensors import StoredTensor
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.techniques.compression.importance import importance, normalize_importances
from bert_tf.techniques.compression.pruning import most_important, prune
from bert_tf.techniques.compression.word_embeddings import factorize, keep_pieces
from bert_tf.techniques.masks import apply_masks
from bert_tf.variables import EMBEDDING_PROJECTION, WORD_EMBEDDINGS
from tests.encoders import load_all, make_encoder, make_features
from tests.errors import Message, raises_message
from tests.gradients import compute_gradients

CONFIG = BertConfig(
    19,
    12,
    3,
    4,
    10,
    max_position_embeddings=9,
    type_vocab_size=2,
    initializer_range=0.4,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
SHARED = dataclasses.replace(CONFIG, num_hidden_layers=4, num_hidden_groups=2, embedding_size=5)
# The heads and neurons of each layer that remain.
HEADS = [np.array([1, 3]), np.array([2]), np.array([0, 1, 2, 3])]
NEURONS = [np.array([0, 4, 9]), np.arange(10), np.array([7])]
LABELS = tf.constant([2, 0, 1])


@pytest.fixture(scope="module")
def features():
    return make_features(CONFIG, (7, 4, 6)) | {
        "masked_lm_positions": tf.constant([[1, 2], [0, 3], [5, 1]])
    }


@pytest.fixture(scope="module")
def model():
    return models.BertClassifier(models.BertEncoder(CONFIG), 3)


@pytest.fixture(scope="module")
def pruned(model, tmp_path_factory):
    """The directory of a model with HEADS and NEURONS, and its config."""
    folder = str(tmp_path_factory.mktemp("pruned"))
    tensors, config = prune(model_tensors(model), CONFIG, HEADS, NEURONS)
    FORMATS["tf1"].write(folder, tensors, config)
    return folder, config


def load(path, config, **options):
    return load_all(models.BertClassifier(make_encoder(config, **options), 3), path)


@pytest.mark.parametrize("options", [{}, {"remove_padding": True}, {"last_where_read": True}])
def test_pruning_is_equivalent_to_masking(model, pruned, features, options):
    masks = (
        [tf.constant([float(number in kept) for number in range(size)]) for kept in layers]
        for layers, size in ((HEADS, 4), (NEURONS, 10))
    )
    with apply_masks(model.encoder, *masks):
        expected = model(features)["logits"]
    assert np.abs(expected - model(features)["logits"]).max() > 1e-2
    path, config = pruned
    np.testing.assert_allclose(
        load(path, config, **options)(features)["logits"], expected, atol=1e-6
    )
    assert config.layer_sizes == [(2, 3), (1, 10), (4, 1)]


def measure_slopes(encoder, compute, *, part, layer, number, size, step=1e-2):
    """Returns the derivative of compute(), [B], by one element of a mask.

    It is computed from finite differences.
    """
    mask = np.ones((3, size), np.float32)
    values = []
    for sign in (1, -1):
        mask[layer, number] = 1 + sign * step
        with apply_masks(encoder, **{part: [tf.constant(row) for row in mask]}):
            values.append(compute().numpy())
    return (values[0] - values[1]) / (2 * step)


@pytest.mark.large
def test_importance_is_the_mean_absolute_derivative_over_examples(model, features):
    """The second batch is the first example again."""
    batch = features | {"label_ids": LABELS}
    heads, neurons = importance(
        model,
        losses.classification_loss,
        [batch, {name: value[:1] for name, value in batch.items()}],
    )

    def compute():
        return tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=LABELS, logits=model(features)["logits"]
        )

    for part, values, size, number in (("heads", heads, 4, 2), ("neurons", neurons, 10, 7)):
        slopes = np.abs(
            measure_slopes(model.encoder, compute, part=part, layer=1, number=number, size=size)
        )
        np.testing.assert_allclose(values[1][number], (slopes.sum() + slopes[0]) / 4, rtol=2e-2)
    for values in normalize_importances([*heads, *neurons]):
        np.testing.assert_allclose(np.linalg.norm(values), 1)


def test_importance_for_examples_of_several_texts():
    """All texts of an example share its mask."""
    model = models.BertMultipleChoice(models.BertEncoder(CONFIG))
    batch = {
        name: tf.reshape(value, [2, 3, 5]) for name, value in make_features(CONFIG, [5] * 6).items()
    }
    heads, _ = importance(
        model, lambda outputs, _: {"loss": tf.reduce_mean(outputs["logits"])}, [batch]
    )
    slopes = measure_slopes(
        model.encoder,
        lambda: tf.reduce_mean(model(batch)["logits"], axis=1),
        part="heads",
        layer=0,
        number=3,
        size=4,
    )
    np.testing.assert_allclose(heads[0][3], np.abs(slopes).mean(), rtol=2e-2)


def test_the_most_important_are_kept_and_one_per_layer():
    values = [np.array([0.9, 0.8, 0.7]), np.array([0.1, 0.2, 0.05]), np.array([0.75, 0.6, 0.01])]
    assert [list(each) for each in most_important(values, 4)] == [[0, 1], [1], [0]]
    assert [list(each) for each in most_important(values, 0)] == [[0], [1], [0]]
    assert [list(each) for each in most_important(values, 9)] == [[0, 1, 2]] * 3


def test_layers_that_share_weights_are_rejected():
    with pytest.raises(InputError, match="layers share weights cannot be pruned"):
        prune({}, dataclasses.replace(CONFIG, num_hidden_groups=1), HEADS, NEURONS)


def test_hugging_face_files_of_pruned_heads(model, features, tmp_path):
    tensors, config = prune(model_tensors(model), CONFIG, HEADS, [np.array([1, 5, 6])] * 3)
    FORMATS["huggingface"].write(str(tmp_path / "hf"), tensors, config)
    FORMATS["tf1"].write(str(tmp_path / "tf1"), tensors, config)
    assert config.intermediate_size_per_layer is None
    assert huggingface.read_config(str(tmp_path / "hf")) == config
    np.testing.assert_array_equal(
        load(str(tmp_path / "hf"), config)(features)["logits"],
        load(str(tmp_path / "tf1"), config)(features)["logits"],
    )


def reload(folder, tensors, config):
    """Writes tensors to files and loads them into a pretrainer."""
    FORMATS["tf1"].write(str(folder), tensors, config)
    assert ModelDirectory.open(str(folder)).config == config
    return load_all(models.BertPretrainer(models.BertEncoder(config)), folder)


def test_factorizing_a_matrix_of_low_rank_loses_nothing(features, tmp_path):
    model = models.BertPretrainer(models.BertEncoder(CONFIG))
    rng = np.random.default_rng(5)
    model.encoder.embeddings.word_embeddings.assign(
        rng.normal(size=(19, 5)) @ rng.normal(size=(5, 12))
    )
    factorized = factorize(model_tensors(model), CONFIG, 5)
    assert factorized.fraction == pytest.approx(1)
    assert factorized.tensors[WORD_EMBEDDINGS].shape == [19, 5]
    smaller = reload(tmp_path, factorized.tensors, factorized.config)(features)
    expected = model(features)
    for name, value in expected.items():
        np.testing.assert_allclose(smaller[name], value, atol=2e-4, err_msg=name)


def test_the_factorization_is_the_best_of_its_rank():
    table = np.random.default_rng(6).normal(size=(19, 12)).astype(np.float32)
    factorized = factorize({WORD_EMBEDDINGS: StoredTensor([19, 12], lambda: table)}, CONFIG, 4)
    left, values, right = np.linalg.svd(table, full_matrices=False)
    words = factorized.tensors[WORD_EMBEDDINGS].read()
    projection = factorized.tensors[EMBEDDING_PROJECTION].read()
    np.testing.assert_allclose(words @ projection, left[:, :4] * values[:4] @ right[:4], atol=1e-5)
    np.testing.assert_allclose(
        np.linalg.norm(words, axis=0), np.linalg.norm(projection, axis=1), rtol=1e-4
    )
    assert factorized.fraction == pytest.approx((values[:4] ** 2).sum() / (values**2).sum())


@pytest.mark.parametrize(
    ("config", "size", "message"),
    [
        (
            CONFIG,
            12,
            Message("embedding_size", "must be at least 1", "less than hidden_size, 12", value=12),
        ),
        (
            SHARED,
            3,
            Message("embedding_size", "already factorized", "size 5", value=3),
        ),
    ],
)
def test_rejected_sizes(config, size, message):
    with raises_message(message):
        factorize({}, config, size)


def test_scores_of_a_reduced_vocabulary(features, tmp_path):
    model = models.BertPretrainer(models.BertEncoder(CONFIG))
    ids = np.array([0, 2, 3, 7, 8, 11, 18])
    tensors, config = keep_pieces(model_tensors(model), CONFIG, ids)
    assert config.vocab_size == 7
    smaller = reload(tmp_path, tensors, config)
    indices = np.random.default_rng(7).integers(0, 7, [3, 7])
    expected = model(features | {"input_ids": tf.constant(ids[indices], tf.int32)})[
        "masked_lm_logits"
    ]
    found = smaller(features | {"input_ids": tf.constant(indices, tf.int32)})["masked_lm_logits"]
    np.testing.assert_allclose(found, tf.gather(expected, ids, axis=2), atol=1e-5)


def test_layers_that_share_their_weights(features, tmp_path):
    """The model is equivalent to four layers with equal weights, whose gradients are added.

    Layers 0 and 1 share their weights, and so do layers 2 and 3.
    """
    shared = models.BertPretrainer(models.BertEncoder(SHARED))
    layers = shared.encoder.encoder_layers
    assert layers[0] is layers[1] is not layers[2] is layers[3]
    tensors = model_tensors(shared)
    copies = {
        name.replace(f"/layer_{number // 2}/", f"/layer_{number}/"): tensor
        for number in range(4)
        for name, tensor in tensors.items()
        if "/layer_" not in name or f"/layer_{number // 2}/" in name
    }
    unshared = reload(
        tmp_path / "unshared", copies, dataclasses.replace(SHARED, num_hidden_groups=None)
    )

    found, expected = (
        compute_gradients(
            model,
            features,
            lambda outputs, features: {
                "loss": sum(tf.reduce_sum(value**2) for value in outputs.values())
            },
        )
        for model in (shared, unshared)
    )
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-6)
    name = "bert/encoder/layer_{}/intermediate/dense/kernel:0"
    np.testing.assert_allclose(
        found[name.format(1)],
        expected[name.format(2)] + expected[name.format(3)],
        rtol=1e-3,
        atol=1e-4,
    )

    tf.train.Checkpoint(model=shared).write(str(tmp_path / "ckpt-1"))
    again = load_all(models.BertPretrainer(models.BertEncoder(SHARED, seed=1)), tmp_path / "ckpt-1")
    np.testing.assert_array_equal(
        again(features)["masked_lm_logits"], shared(features)["masked_lm_logits"]
    )
