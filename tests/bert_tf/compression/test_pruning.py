"""Pruned models compute the same as masked ones; importances by finite differences."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import FORMATS, load_pretrained, model_tensors, open_checkpoint
from bert_tf.compression.importance import importance
from bert_tf.compression.pruning import RetainedUnits, most_important, prune
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.techniques.masks import apply_masks
from tests.encoders import make_encoder, make_features

CONFIG = BertConfig(19, 12, 3, 4, 10, max_position_embeddings=9, type_vocab_size=2, initializer_range=0.4)
KEPT = RetainedUnits([np.array([1, 3]), np.array([2]), np.array([0, 1, 2, 3])],
                     [np.array([0, 4, 9]), np.arange(10), np.array([7])])
LABELS = tf.constant([2, 0, 1])


@pytest.fixture(scope="module")
def features():
    return make_features(CONFIG, (7, 4, 6))


@pytest.fixture(scope="module")
def model():
    return models.BertClassifier(models.BertEncoder(CONFIG), 3)


@pytest.fixture(scope="module")
def pruned(model, tmp_path_factory):
    """The directory of a model with the heads and neurons of KEPT, and its config."""
    folder = str(tmp_path_factory.mktemp("pruned"))
    tensors, config = prune(model_tensors(model), CONFIG, KEPT)
    FORMATS["tf1"].write(folder, tensors, config)
    return folder, config


def load(path, config, **options):
    model = models.BertClassifier(make_encoder(config, **options), 3)
    report = load_pretrained(model, path)
    assert report.missing == report.unused == ()
    return model


def make_masks():
    """Returns masks for the heads and the neurons of KEPT."""
    return ([tf.constant([float(number in kept) for number in range(size)]) for kept in layers]
            for layers, size in ((KEPT.heads, 4), (KEPT.neurons, 10)))


@pytest.mark.parametrize("options", [{}, {"layers": "unpadded"}, {"last_where_read": True}])
def test_pruning_is_equivalent_to_masking(model, pruned, features, options):
    with apply_masks(model.encoder, *make_masks()):
        expected = model(features)["logits"]
    assert np.abs(expected - model(features)["logits"]).max() > 1e-2
    path, config = pruned
    np.testing.assert_allclose(load(path, config, **options)(features)["logits"], expected, atol=1e-6)
    assert config.layer_sizes == [(2, 3), (1, 10), (4, 1)]


def test_pruning_twice(model, pruned):
    """The second pruning numbers the remaining heads and neurons."""
    path, config = pruned
    again = RetainedUnits([np.array([1]), np.array([0]), np.array([0, 3])],
                          [np.array([0, 2]), np.array([3]), np.array([0])])
    tensors, _ = prune(open_checkpoint(path).tensors, config, again)
    once = RetainedUnits([np.array([3]), np.array([2]), np.array([0, 3])],
                         [np.array([0, 9]), np.array([3]), np.array([7])])
    for name, tensor in prune(model_tensors(model), CONFIG, once)[0].items():
        np.testing.assert_array_equal(tensors[name].read(), tensor.read(), err_msg=name)


def measure_slopes(encoder, compute, kind, layer, number, size, step=1e-2):
    """Returns the derivative of compute(), [B], by one element of a mask, from finite differences."""
    mask, values = np.ones((3, size), np.float32), []
    for sign in (1, -1):
        mask[layer, number] = 1 + sign * step
        with apply_masks(encoder, **{kind: [tf.constant(row) for row in mask]}):
            values.append(compute().numpy())
    return (values[0] - values[1]) / (2 * step)


@pytest.mark.large
def test_importance_is_the_mean_absolute_derivative_over_examples(model, features):
    """The second batch is the first example again."""
    batch = features | {"label_ids": LABELS}
    found = importance(model, losses.classification_loss, [batch, {name: value[:1] for name, value in batch.items()}])

    def compute():
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=model(features)["logits"])
    for kind, values, size, number in (("heads", found.heads, 4, 2), ("neurons", found.neurons, 10, 7)):
        slopes = np.abs(measure_slopes(model.encoder, compute, kind, 1, number, size))
        np.testing.assert_allclose(values[1][number], (slopes.sum() + slopes[0]) / 4, rtol=2e-2)
    for values in (*found.normalize().heads, *found.normalize().neurons):
        np.testing.assert_allclose(np.linalg.norm(values), 1)


def test_importance_for_examples_of_several_texts():
    """All texts of an example share its mask."""
    model = models.BertMultipleChoice(models.BertEncoder(CONFIG))
    batch = {name: tf.reshape(value, [2, 3, 5]) for name, value in make_features(CONFIG, [5] * 6).items()}
    found = importance(model, lambda outputs, _: {"loss": tf.reduce_mean(outputs["logits"])}, [batch])
    slopes = measure_slopes(model.encoder, lambda: tf.reduce_mean(model(batch)["logits"], axis=1), "heads", 0, 3, 4)
    np.testing.assert_allclose(found.heads[0][3], np.abs(slopes).mean(), rtol=2e-2)


def test_the_most_important_are_kept_and_one_per_layer():
    values = [np.array([0.9, 0.8, 0.7]), np.array([0.1, 0.2, 0.05]), np.array([0.75, 0.6, 0.01])]
    assert [list(each) for each in most_important(values, 4)] == [[0, 1], [1], [0]]
    assert [list(each) for each in most_important(values, 0)] == [[0], [1], [0]]
    assert [list(each) for each in most_important(values, 9)] == [[0, 1, 2]] * 3


def test_layers_that_share_weights_are_rejected():
    with pytest.raises(InputError, match="layers share weights cannot be pruned"):
        prune({}, dataclasses.replace(CONFIG, num_hidden_groups=1), KEPT)


def test_hugging_face_files_of_pruned_heads(model, features, tmp_path):
    kept = RetainedUnits(KEPT.heads, [np.array([1, 5, 6])] * 3)
    tensors, config = prune(model_tensors(model), CONFIG, kept)
    FORMATS["huggingface"].write(str(tmp_path / "hf"), tensors, config)
    FORMATS["tf1"].write(str(tmp_path / "tf1"), tensors, config)
    assert config.intermediate_size_per_layer is None
    assert open_checkpoint(str(tmp_path / "hf")).config == config
    np.testing.assert_array_equal(load(str(tmp_path / "hf"), config)(features)["logits"],
                                  load(str(tmp_path / "tf1"), config)(features)["logits"])
