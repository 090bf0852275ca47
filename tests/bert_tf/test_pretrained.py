"""from_pretrained and save_pretrained: `bert_tf.load` and the scripts read what `fit` trained."""

import warnings

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import bert_tf
from bert_tf import checkpoints, fast, losses, models
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests import toy_servables
from tests.encoders import make_encoder
from tests.errors import rejects

TEXTS = ["a dog", "the fox jumps", "it is over the lazy dog", ""]


def encode(toy_tokenizer):
    return {
        name: tf.constant(value)
        for name, value in toy_tokenizer.encode(TEXTS, max_seq_length=16).items()
    }


@pytest.fixture(scope="module")
def trained_classifier(toy_tokenizer):
    """A classifier of three labels, trained by `fit` with a loss of this project."""
    model = models.BertClassifier(make_encoder(toy_servables.CONFIG, seed=3), 3)
    model.compile(bert_tf.create_optimizer(1e-2, 6, 1), loss=losses.classification_loss)
    batches = tf.data.Dataset.from_tensors(
        (encode(toy_tokenizer), tf.constant([0, 1, 2, 1]))
    ).repeat(6)
    history = model.fit(batches, epochs=1, steps_per_epoch=6, verbose=0).history
    assert history.keys() == {"loss"}
    return model


@pytest.fixture(scope="module")
def saved_path(trained_classifier, toy_tokenizer, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "reviews"
    trained_classifier.save_pretrained(path, toy_tokenizer, labels=["x", "y", "z"])
    return path


def test_load_predicts_what_the_model_predicts(trained_classifier, saved_path, toy_tokenizer):
    loaded = bert_tf.load(saved_path)
    assert (loaded.kind, loaded.labels, loaded.inputs) == ("classifier", ("x", "y", "z"), ("text",))
    expected = tf.nn.softmax(trained_classifier(encode(toy_tokenizer))["logits"])
    np.testing.assert_allclose(loaded(text=TEXTS)["probabilities"], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("model_class", "arguments"),
    [
        (models.BertTokenClassifier, {"num_labels": 4}),
        (models.BertSpanLabeler, {}),
        (models.BertMultipleChoice, {}),
        (models.BertPretrainer, {}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_model_from_an_encoder(saved_path, toy_tokenizer, tmp_path, model_class, arguments):
    encoder = models.BertEncoder.from_pretrained(saved_path, fast=False)
    assert type(encoder) is models.BertEncoder
    encoder.save_pretrained(tmp_path / "encoder", toy_tokenizer)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = model_class.from_pretrained(tmp_path / "encoder", **arguments)
    messages = [str(warning.message) for warning in caught if warning.category is UserWarning]
    assert ["keep their random initial values" in message for message in messages] == (
        [True] if model_class is models.BertPretrainer else []
    )
    assert type(model.encoder) is fast.FastEncoder
    kernel = model.encoder.encoder_layers[0].attention.qkv.kernel
    np.testing.assert_array_equal(kernel, encoder.encoder_layers[0].attention.qkv.kernel)
    for variable in model.trainable_variables:
        # Otherwise, the weights of a new head would be equal to these.
        variable.assign_add(tf.fill(variable.shape, 0.125))
    model.save_pretrained(tmp_path / "model", toy_tokenizer)
    again = model_class.from_pretrained(tmp_path / "model")
    for variable, expected in zip(again.variables, model.variables, strict=True):
        if "StateVar" not in variable.name:
            np.testing.assert_array_equal(variable, expected, err_msg=variable.name)


@pytest.mark.parametrize(
    ("model_class", "sizes", "message"),
    [
        (models.BertLongTextClassifier, {"window_stride": 4}, "required by"),
        (models.BertLongTextClassifier, {}, "required by"),
        (models.BertClassifier, {"max_windows": 2}, "only for"),
    ],
)
def test_windows_belong_to_classifiers_of_long_texts(
    saved_path, toy_tokenizer, tmp_path, model_class, sizes, message
):
    model = model_class(models.BertEncoder.from_pretrained(saved_path), 3)
    with rejects("window_stride", f"and `max_windows` are {message} a BertLongTextClassifier"):
        model.save_pretrained(tmp_path / "model", toy_tokenizer, **sizes)


def test_the_loss_of_compile_is_the_loss_of_the_project(toy_tokenizer):
    """Labels can be a dict, too; `fit` averages over the examples of all batches."""
    model = models.BertSpanLabeler(make_encoder(toy_servables.CONFIG, seed=3))
    features = encode(toy_tokenizer)
    labels = {
        "start_positions": tf.constant([[0], [1], [2], [0]]),
        "end_positions": tf.constant([[1], [1], [3], [0]]),
    }
    loss = losses.create_span_loss()
    model.compile(loss=loss)
    found = model.evaluate(features, labels, batch_size=3, verbose=0)
    assert found == pytest.approx(
        float(loss(model(features), {**features, **labels})["loss"]), rel=1e-5
    )
    custom = tf_keras.Sequential([tf_keras.layers.Dense(2)])
    custom.compile(loss=losses.classification_loss)
    # AutoGraph replaces the error with one of a private class, which contains its message.
    reason = ("InputError: a loss of bert_tf.losses reads", "all outputs and features")
    advice = "`compile` of a model of bert_tf.models"
    with rejects(None, *reason, "use it as the only `loss`", error=Exception, end=advice):
        custom.fit(tf.zeros([2, 3]), tf.zeros([2, 1]), verbose=0)


def test_another_number_of_labels(saved_path):
    with pytest.warns(UserWarning, match=r"another number of outputs; .*only its encoder"):
        assert models.BertClassifier.from_pretrained(saved_path, num_labels=2).num_labels == 2


def test_xla_requires_static_shapes(saved_path, toy_tokenizer):
    model = models.BertClassifier.from_pretrained(saved_path)
    model.compile(loss=losses.classification_loss, jit_compile=True)
    with pytest.raises(
        Exception, match=r"`jit_compile` cannot be used .*; create the model with `fast=False`"
    ):
        model.fit(encode(toy_tokenizer), tf.constant([0, 1, 2, 1]), verbose=0)


def test_rejected_directories_and_arguments(
    trained_classifier, saved_path, toy_tokenizer, tmp_path
):
    with pytest.raises(
        InputError, match=r"`num_labels` is required: .* is not a fine-tuned token_classifier"
    ):
        models.BertTokenClassifier.from_pretrained(saved_path)
    for public_class in (models.BertEncoder, bert_tf.BertTokenizer):
        with rejects("path", "does not exist", "hf download", value="bert-base-cased"):
            public_class.from_pretrained("bert-base-cased")
    with rejects("labels", "has 2 names", "model has 3 outputs"):
        trained_classifier.save_pretrained(tmp_path / "other", toy_tokenizer, labels=["x", "y"])
    with rejects("doc_stride", "cannot be used", "a classifier does not have it", value=8):
        trained_classifier.save_pretrained(tmp_path / "other", toy_tokenizer, doc_stride=8)
    small = models.BertEncoder(BertConfig(5, 8, 1, 2, 12, max_position_embeddings=16))
    with rejects(None, "vocabulary entries", "model has 5"):
        small.save_pretrained(tmp_path / "other", toy_tokenizer)
    assert not (tmp_path / "other").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint").write_text("")
    with rejects("run", "contains another model (checkpoint)", "choose another directory"):
        trained_classifier.save_pretrained(tmp_path / "run", toy_tokenizer)
    assert checkpoints.ModelDirectory.open(saved_path).weights_path


def test_the_fast_encoder_skips_padding_and_unread_positions():
    config = make_encoder(toy_servables.CONFIG).config
    encoder = models.BertEncoder.create_fast(config)
    assert (encoder.fast.remove_padding, encoder.fast.last_where_read) == (True, True)


def test_the_fast_encoder_must_be_imported(reference, monkeypatch):
    monkeypatch.setattr(models.BertEncoder, "create_fast", None)
    path = reference / "hf_tiny"
    with pytest.raises(InputError, match=r"`fast`=True: requires `import bert_tf\.fast`"):
        models.BertEncoder.from_pretrained(path)
    assert type(models.BertEncoder.from_pretrained(path, fast=False)) is models.BertEncoder
