"""What is taken out of a model is gone without a trace; what stays computes as before."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import FORMATS, load_pretrained, model_tensors, open_checkpoint
from bert_tf.compression.importance import importance
from bert_tf.compression.pruning import Kept, drop_layers, most_important, prune
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.layers import Layout, attention_bias
from bert_tf.techniques.masks import masked
from tests.encoders import make_encoder

CONFIG = BertConfig(19, 12, 3, 4, 10, max_position_embeddings=9, type_vocab_size=2, initializer_range=0.4)
KEPT = Kept([np.array([1, 3]), np.array([2]), np.array([0, 1, 2, 3])],
            [np.array([0, 4, 9]), np.arange(10), np.array([7])])
LABELS = tf.constant([2, 0, 1])


@pytest.fixture(scope="module")
def features():
    rng = np.random.default_rng(3)
    return {"input_ids": tf.constant(rng.integers(0, 19, [3, 7]), tf.int32),
            "input_mask": tf.sequence_mask([7, 4, 6], 7, tf.int32),
            "segment_ids": tf.constant(rng.integers(0, 2, [3, 7]), tf.int32)}


@pytest.fixture(scope="module")
def model():
    return models.BertClassifier(models.BertEncoder(CONFIG), 3)


@pytest.fixture(scope="module")
def pruned(model, tmp_path_factory):
    """The folder of the model with what KEPT says, and its config."""
    folder = str(tmp_path_factory.mktemp("pruned"))
    tensors, config = prune(model_tensors(model), CONFIG, KEPT)
    FORMATS["tf1"].write(folder, tensors, config)
    return folder, config


def loaded(path, config, **options):
    model = models.BertClassifier(make_encoder(config, **options), 3)
    report = load_pretrained(model, path)
    assert report.missing == report.unused == ()
    return model


def masks():
    """Those that leave what KEPT says: heads, neurons."""
    return ([tf.constant([float(number in kept) for number in range(size)]) for kept in each]
            for each, size in ((KEPT.heads, 4), (KEPT.neurons, 10)))


@pytest.mark.parametrize("options", [{}, {"remove_padding": True}, {"last_where_read": True}])
def test_removing_is_masking(model, pruned, features, options):
    with masked(model.encoder, *masks()):
        expected = model(features)["logits"]
    assert np.abs(expected - model(features)["logits"]).max() > 1e-2  # what was masked did matter
    path, config = pruned
    np.testing.assert_allclose(loaded(path, config, **options)(features)["logits"], expected, atol=1e-6)
    assert config.layer_sizes == [(2, 3), (1, 10), (4, 1)]


def test_pruned_by_nothing_is_the_same_model(model):
    before = model_tensors(model)
    tensors, config = prune(before, CONFIG, Kept.everything(CONFIG))
    assert config.to_json() == CONFIG.to_json()
    assert tensors.keys() == before.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor.read(), before[name].read(), err_msg=name)


def test_equal_sizes_are_one_size(model):
    kept = Kept(KEPT.heads, [np.array([1, 5])] * 3)
    _, config = prune(model_tensors(model), CONFIG, kept)
    assert (config.intermediate_size, config.intermediate_size_per_layer) == (2, None)


def test_pruned_twice(model, pruned, features):
    """Numbers count among what the first time left."""
    path, config = pruned
    again = Kept([np.array([1]), np.array([0]), np.array([0, 3])], [np.array([0, 2]), np.array([3]), np.array([0])])
    tensors, _ = prune(open_checkpoint(path).tensors, config, again)
    once = Kept([np.array([3]), np.array([2]), np.array([0, 3])], [np.array([0, 9]), np.array([3]), np.array([7])])
    for name, tensor in prune(model_tensors(model), CONFIG, once)[0].items():
        np.testing.assert_array_equal(tensors[name].read(), tensor.read(), err_msg=name)


def test_masks_of_examples(model, features):
    """Each row has its own, and no other row sees it."""
    heads = [tf.constant([[1.0, 1, 1, 1], [0, 1, 1, 0], [1, 0, 0.5, 1]])] * 3
    with masked(model.encoder, heads):
        together = model(features)["logits"]
    for row in range(3):
        with masked(model.encoder, [mask[row] for mask in heads]):
            np.testing.assert_allclose(model(features)["logits"][row], together[row], atol=1e-5)


def test_importance_is_the_mean_size_of_each_examples_derivative(model, features):
    """By differences of the loss of one example at a time; a second batch adds to the first, no more."""
    batch = features | {"label_ids": LABELS}

    found = importance(model, losses.classification_loss, [batch, {name: value[:1] for name, value in batch.items()}])
    assert found.num_examples == 4
    step = 1e-2
    for kind, values, size, one in (("heads", found.heads, 4, 2), ("neurons", found.neurons, 10, 7)):
        mask = np.ones((3, size), np.float32)
        slopes = np.zeros(3)
        for sign in (1, -1):
            mask[1, one] = 1 + sign * step
            with masked(model.encoder, **{kind: [tf.constant(row) for row in mask]}):
                slopes += sign * tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=LABELS, logits=model(features)["logits"]).numpy() / (2 * step)
        expected = (np.abs(slopes).sum() + abs(slopes[0])) / 4
        np.testing.assert_allclose(values[1][one], expected, rtol=2e-2)
    for values in (*found.normalised().heads, *found.normalised().neurons):
        np.testing.assert_allclose(np.linalg.norm(values), 1)


def test_several_texts_an_example():
    """A derivative is that of an example's masks, which all its texts share."""
    rng = np.random.default_rng(4)
    model = models.BertMultipleChoice(models.BertEncoder(CONFIG))
    batch = {"input_ids": tf.constant(rng.integers(0, 19, [2, 3, 5]), tf.int32),
             "input_mask": tf.ones([2, 3, 5], tf.int32), "segment_ids": tf.zeros([2, 3, 5], tf.int32)}
    found = importance(model, lambda outputs, _: {"loss": tf.reduce_mean(outputs["logits"])}, [batch])
    step, mask = 1e-2, np.ones((3, 4), np.float32)
    slopes = 0
    for sign in (1, -1):
        mask[0, 3] = 1 + sign * step
        with masked(model.encoder, [tf.constant(row) for row in mask]):
            slopes += sign * tf.reduce_mean(model(batch)["logits"], axis=1).numpy() / (2 * step)
    np.testing.assert_allclose(found.heads[0][3], np.abs(slopes).mean(), rtol=2e-2)


def test_the_most_important_stay_and_one_of_each_layer():
    values = [np.array([0.9, 0.8, 0.7]), np.array([0.1, 0.2, 0.05]), np.array([0.75, 0.6, 0.01])]
    assert [list(each) for each in most_important(values, 4)] == [[0, 1], [1], [0]]
    assert [list(each) for each in most_important(values, 0)] == [[0], [1], [0]]
    assert [list(each) for each in most_important(values, 9)] == [[0, 1, 2]] * 3


def test_a_layer_goes(model, features, tmp_path):
    tensors, config = drop_layers(model_tensors(model), CONFIG, [1])
    assert config.num_hidden_layers == 2
    FORMATS["tf1"].write(str(tmp_path), tensors, config)
    short = loaded(str(tmp_path), config).encoder
    whole = model.encoder
    first = short(features)["encoder_outputs"][0]
    np.testing.assert_array_equal(first, whole(features)["encoder_outputs"][0])
    bias = attention_bias(features["input_mask"])
    expected, _ = whole.encoder_layers[2](tf.reshape(first, [-1, 12]), Layout(features["input_mask"]), bias)
    np.testing.assert_allclose(short(features)["sequence_output"], tf.reshape(expected, [3, 7, 12]), atol=1e-6)


@pytest.mark.parametrize(("config", "layers", "message"), [
    (CONFIG, [3], "there is no layer 3, the model has the layers 0 to 2"),
    (CONFIG, [0, 1, 2], "names all layers of the model; one has to stay"),
    (dataclasses.replace(CONFIG, num_hidden_groups=1), [0], "layers that share their weights cannot be dropped"),
])
def test_layers_that_cannot_go(config, layers, message):
    with pytest.raises(InputError, match=message):
        drop_layers({}, config, layers)


def test_layers_that_share_their_weights_are_not_pruned():
    config = dataclasses.replace(CONFIG, num_hidden_groups=1)
    with pytest.raises(InputError, match="num_hidden_groups is 1: a model whose layers share their weights cannot be"):
        prune({}, config, Kept.everything(config))


def test_hugging_face_reads_pruned_heads(model, features, tmp_path):
    kept = Kept(KEPT.heads, [np.array([1, 5, 6])] * 3)
    tensors, config = prune(model_tensors(model), CONFIG, kept)
    FORMATS["huggingface"].write(str(tmp_path / "hf"), tensors, config)
    FORMATS["tf1"].write(str(tmp_path / "tf1"), tensors, config)
    there = open_checkpoint(str(tmp_path / "hf"))
    assert there.config == config
    np.testing.assert_array_equal(loaded(str(tmp_path / "hf"), config)(features)["logits"],
                                  loaded(str(tmp_path / "tf1"), config)(features)["logits"])


@pytest.mark.parametrize(("output_format", "message"), [
    ("huggingface", r"intermediate_size_per_layer is \[3, 10, 1\]: Hugging Face's BERT has no such setting"),
    ("model_garden", r"attention_heads_per_layer is \(2, 1, 4\): the Model Garden's encoder has no such setting"),
])
def test_a_format_without_a_place_for_the_sizes(pruned, tmp_path, output_format, message):
    path, config = pruned
    with pytest.raises(InputError, match=message):
        FORMATS[output_format].write(str(tmp_path / "out"), open_checkpoint(path).tensors, config)
    assert not list(tmp_path.glob("out/*"))


def test_training_options_and_a_training_checkpoint(pruned, features, tmp_path):
    """Gradients are the same with recomputed activations and compiled blocks; a run's own checkpoint is read back."""
    path, config = pruned
    config = dataclasses.replace(config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)

    def gradients(**options):
        model = loaded(path, config, **options)
        with tf.GradientTape() as tape:
            loss = losses.classification_loss(model(features, training=True), {"label_ids": LABELS})["loss"]
        return tape.gradient(loss, model.trainable_variables)

    expected = [tf.convert_to_tensor(each) for each in gradients()]
    for options in ({"remove_padding": True, "recompute": True},
                    {"remove_padding": True, "compiled": True}):
        for one, other in zip(expected, gradients(**options), strict=True):
            np.testing.assert_allclose(one, tf.convert_to_tensor(other), atol=1e-5)
    tf.train.Checkpoint(model=loaded(path, config)).write(str(tmp_path / "ckpt-1"))
    loaded(str(tmp_path / "ckpt-1"), config)
