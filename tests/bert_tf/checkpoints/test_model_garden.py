"""Model Garden's checkpoints, in and out, held against tf-models-official's own models: outputs equal within 2e-5."""

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from official.nlp.modeling import layers, networks
from official.nlp.modeling.models import BertPretrainerV2

from bert_tf import models
from bert_tf.checkpoints import load_pretrained, model_garden, model_tensors, open_checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError

# Said by tf-models-official's encoder of the positions that its pretrainer hands on to it.
pytestmark = pytest.mark.filterwarnings("ignore:Input dict contained keys")

ACTIVATIONS = 2e-5

CONFIG = BertConfig(vocab_size=19, hidden_size=6, num_hidden_layers=4, num_attention_heads=3, intermediate_size=7,
                    max_position_embeddings=13, type_vocab_size=5)
ENCODERS = (networks.BertEncoder, networks.BertEncoderV2)


def gelu(x):
    return tf.nn.gelu(x, approximate=True)


def garden_encoder(encoder_class):
    encoder = encoder_class(
        vocab_size=CONFIG.vocab_size, hidden_size=CONFIG.hidden_size, num_layers=CONFIG.num_hidden_layers,
        num_attention_heads=CONFIG.num_attention_heads, inner_dim=CONFIG.intermediate_size, inner_activation=gelu,
        max_sequence_length=CONFIG.max_position_embeddings, type_vocab_size=CONFIG.type_vocab_size,
        dict_outputs=True)
    encoder(encoder.inputs)
    return encoder


def garden_pretrainer(encoder_class):
    head = layers.ClassificationHead(inner_dim=CONFIG.hidden_size, num_classes=2, name="next_sentence")
    pretrainer = BertPretrainerV2(garden_encoder(encoder_class), mlm_activation=gelu, classification_heads=[head])
    pretrainer(pretrainer.inputs)
    return pretrainer


def randomise(model, seed):
    """Gives every variable values by which no bias is zero and no scale is one."""
    random = np.random.default_rng(seed)
    for variable in model.variables:
        variable.assign(random.normal(0.4, 0.3, variable.shape))


@pytest.fixture
def features():
    """A batch of 3 sequences of 11, with padding."""
    random = np.random.default_rng(8)
    mask = (np.arange(11) < np.array([[11], [4], [7]])).astype(np.int32)
    return {"input_ids": random.integers(0, CONFIG.vocab_size, (3, 11), dtype=np.int32) * mask, "input_mask": mask,
            "segment_ids": random.integers(0, CONFIG.type_vocab_size, (3, 11), dtype=np.int32) * mask,
            "masked_lm_positions": np.array([[1, 10], [2, 3], [6, 1]], np.int32)}


def garden_features(features):
    names = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}
    return {names.get(name, name): tf.constant(value) for name, value in features.items()}


def assert_same_encoder(ours, theirs, features):
    encoded = ours(features)
    expected = theirs({name: value for name, value in garden_features(features).items() if "positions" not in name})
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(encoded[name], expected[name], rtol=0, atol=ACTIVATIONS, err_msg=name)


def assert_same_pretrainer(ours, theirs, features):
    outputs, expected = ours(features), theirs(garden_features(features))
    np.testing.assert_allclose(outputs["masked_lm_logits"], expected["mlm_logits"], rtol=0, atol=ACTIVATIONS)
    np.testing.assert_allclose(outputs["next_sentence_logits"], expected["next_sentence"], rtol=0, atol=ACTIVATIONS)


@pytest.mark.parametrize("encoder_class", ENCODERS)
@pytest.mark.parametrize("item", ["encoder", "model"])
def test_their_encoder_is_read(encoder_class, item, features, tmp_path):
    theirs = garden_encoder(encoder_class)
    randomise(theirs, seed=1)
    path = tf.train.Checkpoint(**{item: theirs}).save(str(tmp_path / "bert_model.ckpt"))
    ours = models.BertEncoder(CONFIG)
    report = load_pretrained(ours, path)
    assert report.missing == report.unused == ()
    assert_same_encoder(ours, theirs, features)


@pytest.mark.parametrize("encoder_class", ENCODERS)
def test_their_pretrainer_is_read(encoder_class, features, tmp_path):
    theirs = garden_pretrainer(encoder_class)
    randomise(theirs, seed=2)
    items = theirs.checkpoint_items | {"model": theirs}
    path = tf.train.Checkpoint(**items).save(str(tmp_path / "pretrained"))
    ours = models.BertPretrainer(CONFIG)
    report = load_pretrained(ours, path)
    assert report.missing == report.unused == ()
    assert_same_pretrainer(ours, theirs, features)


@pytest.mark.parametrize("optimizer_class", [tf_keras.optimizers.Adam, tf_keras.optimizers.legacy.Adam])
def test_state_of_their_optimizer_is_left_out(optimizer_class, tmp_path):
    theirs, optimizer = garden_encoder(networks.BertEncoder), optimizer_class()
    optimizer.apply_gradients([(tf.ones_like(each), each) for each in theirs.trainable_variables])
    step = tf.Variable(3, name="global_step")
    path = tf.train.Checkpoint(model=theirs, optimizer=optimizer, global_step=step).save(str(tmp_path / "run"))
    ours = models.BertEncoder(CONFIG)
    report = load_pretrained(ours, path)
    assert report.missing == report.unused == ()
    np.testing.assert_array_equal(ours.embeddings.word_embeddings, theirs.get_embedding_table())
    path = tf.train.Checkpoint(model=theirs, adam=optimizer).save(str(tmp_path / "under_another_name"))
    assert load_pretrained(models.BertEncoder(CONFIG), path).missing == ()


@pytest.mark.parametrize("encoder_class", ENCODERS)
def test_their_encoder_restores_ours(encoder_class, features, tmp_path):
    ours = models.BertEncoder(CONFIG)
    randomise(ours, seed=3)
    assert model_garden.write(tmp_path, model_tensors(ours), CONFIG) == ()
    for item in ("encoder", "model"):
        theirs = garden_encoder(encoder_class)
        status = tf.train.Checkpoint(**{item: theirs}).restore(str(tmp_path / "bert_model.ckpt"))
        status.assert_existing_objects_matched()
        assert_same_encoder(ours, theirs, features)
    assert BertConfig.from_json_file(tmp_path / "bert_config.json") == CONFIG


@pytest.mark.parametrize("encoder_class", ENCODERS)
def test_their_pretrainer_restores_ours(encoder_class, features, tmp_path):
    ours = models.BertPretrainer(CONFIG)
    randomise(ours, seed=4)
    assert model_garden.write(tmp_path, model_tensors(ours), CONFIG) == ()
    by_items, by_model = garden_pretrainer(encoder_class), garden_pretrainer(encoder_class)
    for theirs, items in ((by_model, {"model": by_model}),
                          (by_items, by_items.checkpoint_items | {"model": by_items})):
        status = tf.train.Checkpoint(**items).restore(str(tmp_path / "bert_model.ckpt"))
        status.assert_existing_objects_matched()
        assert_same_pretrainer(ours, theirs, features)
    assert_same_encoder(ours.encoder, by_items.encoder_network, features)


def test_what_is_written_is_read(tmp_path):
    ours = models.BertPretrainer(CONFIG)
    randomise(ours, seed=5)
    tensors = model_tensors(ours)
    model_garden.write(tmp_path, tensors, CONFIG)
    checkpoint = open_checkpoint(str(tmp_path))
    assert checkpoint.kind == "Model Garden checkpoint"
    assert set(checkpoint.tensors) == set(tensors)
    for name, tensor in checkpoint.tensors.items():
        assert tensor.shape == tensors[name].shape
        assert tensor.read().tobytes() == tensors[name].read().tobytes(), name


def test_heads_without_a_place_are_named(tmp_path):
    tensors = model_tensors(models.BertClassifier(CONFIG, 2))
    assert model_garden.write(tmp_path, tensors, CONFIG) == ("output_bias", "output_weights")
    assert len(open_checkpoint(str(tmp_path)).tensors) == len(tensors) - 2


def test_another_number_of_heads_is_refused(tmp_path):
    model_garden.write(tmp_path, model_tensors(models.BertEncoder(CONFIG)), CONFIG)
    config = BertConfig(**CONFIG.to_dict() | {"num_attention_heads": 2})
    with pytest.raises(ValueError, match="num_attention_heads is 3 in the checkpoint and 2 in the model"):
        load_pretrained(models.BertEncoder(config), str(tmp_path))


@pytest.mark.parametrize(("name", "shape", "rank"), [
    ("self_attention/query/kernel", [6, 6], 3), ("self_attention/value/bias", [6], 2),
    ("self_attention/attention_output/kernel", [6, 6], 3)])
def test_a_kernel_without_an_axis_for_heads_is_refused(tmp_path, name, shape, rank):
    variables = {"words": tf.Variable(tf.zeros([19, 6]), name="word_embeddings/embeddings"),
                 "part": tf.Variable(tf.zeros(shape), name=f"transformer/layer_0/{name}")}
    path = tf.train.Checkpoint(**variables).save(str(tmp_path / "flat"))
    with pytest.raises(InputError, match=rf"^{path}: bert/encoder/layer_0/attention/.* has shape \{shape} in the "
                                         rf"checkpoint: a Model Garden checkpoint has {rank} axes there"):
        open_checkpoint(path)


def test_two_encoders_are_refused(tmp_path):
    path = tf.train.Checkpoint(left=garden_encoder(networks.BertEncoder),
                               right=garden_encoder(networks.BertEncoder)).save(str(tmp_path / "dual"))
    with pytest.raises(ValueError, match="more than once: it holds two encoders"):
        open_checkpoint(path)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = tf.train.Checkpoint(model=tf.train.Checkpoint(weight=tf.Variable([1.0], name="some_weight"))).save(
        str(tmp_path / "other"))
    with pytest.raises(ValueError, match="holds no BERT of this project nor of tf-models-official, its first variable"):
        open_checkpoint(path)
