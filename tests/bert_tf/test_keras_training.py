"""compile, fit, evaluate, and predict, on one device, on two, and in mixed precision; with the project's optimizer."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.optimization import create_optimizer
from bert_tf.tokenization import BertTokenizer

WORDS = ("good", "bad", "very", "film", "a", "the", "not", "it", "was", "so")
VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS)
CONFIG = BertConfig(vocab_size=len(VOCABULARY), hidden_size=12, num_hidden_layers=1, num_attention_heads=3,
                    intermediate_size=17, max_position_embeddings=16, type_vocab_size=2, initializer_range=0.2)
TEXTS = [f"{a} {b} film" for a in WORDS for b in ("good", "bad")] * 4  # 80 texts
LABELS = [int(text.split()[1] == "good") for text in TEXTS]
LOSS = {"logits": tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True)}
RELATIVE = 1e-4
HEAD = {"dtype": "float32", "kernel_initializer": tf_keras.initializers.GlorotUniform(seed=7)}  # of layers of Keras
OF_THE_MACHINE = ("may run slowly", "is slow compared to the batch time")  # Keras of a CPU, and of a busy one.


@pytest.fixture(scope="module")
def batches(tmp_path_factory):
    """A tf.data pipeline of raw text: 10 batches of 8."""
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n")
    tokenizer = BertTokenizer(str(path))
    return tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).shuffle(
        80, seed=1, reshuffle_each_iteration=False).batch(8).map(
        lambda texts, labels: (tokenizer.encode(texts, max_seq_length=7), labels))


def make_classifier(dtype=None, seed=3):
    return models.BertClassifier(models.BertEncoder(CONFIG, seed=seed, dtype=dtype), 2)


def make_functional(dtype=None):
    inputs = {name: tf_keras.Input([None], dtype=tf.int32, name=name)
              for name in ("input_ids", "input_mask", "segment_ids")}
    pooled = models.BertEncoder(CONFIG, seed=3, dtype=dtype)(inputs)["pooled_output"]
    return tf_keras.Model(inputs, {"logits": tf_keras.layers.Dense(2, name="mine", **HEAD)(pooled)})


class Subclassed(models.BertClassifier):
    """A subclass with a layer of its own."""

    def __init__(self, encoder, width):
        super().__init__(encoder, width)
        self.last = tf_keras.layers.Dense(2, **HEAD)

    def call(self, features, training=False):
        return {"logits": self.last(tf.tanh(super().call(features, training=training)["logits"]))}


def make_subclassed(dtype=None):
    return Subclassed(models.BertEncoder(CONFIG, seed=3, dtype=dtype), 5)


@pytest.mark.parametrize(("where", "dtype", "make"), [
    ("one device", None, make_classifier),
    ("one device", "mixed_float16", make_subclassed),
    ("one device", "mixed_bfloat16", make_functional),
    ("two replicas", "mixed_bfloat16", make_classifier),
    ("two replicas", None, make_functional),
    ("two replicas", None, make_subclassed),
])
def test_fit_evaluate_predict(where, dtype, make, batches, two_replicas, tmp_path, caplog):
    strategy = two_replicas if where == "two replicas" else contextlib.nullcontext()
    with strategy.scope() if where == "two replicas" else strategy:
        model = make(dtype)
        if make is make_subclassed:
            model(next(iter(batches))[0])  # Creates the weights of its own layer.
        model.compile(create_optimizer(0.003, 60, 5), LOSS, metrics={"logits": ["accuracy"]}, steps_per_execution=2)
    callbacks = [tf_keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True),
                 tf_keras.callbacks.ModelCheckpoint(str(tmp_path / "best.keras"), save_best_only=True),
                 tf_keras.callbacks.ModelCheckpoint(str(tmp_path / "last.weights.h5"), save_weights_only=True),
                 tf_keras.callbacks.ModelCheckpoint(str(tmp_path / "checkpoint"), save_weights_only=True),
                 tf_keras.callbacks.BackupAndRestore(str(tmp_path / "backup")),
                 tf_keras.callbacks.TensorBoard(str(tmp_path / "logs"))]
    history = model.fit(batches, validation_data=batches, epochs=6, class_weight={0: 1.0, 1: 2.0}, verbose=0,
                        callbacks=callbacks).history
    assert history["loss"][-1] < history["loss"][0] / 2
    found = model.evaluate(batches, verbose=0, return_dict=True)
    assert found["accuracy"] > 0.9
    ordered = batches.map(lambda features, labels: features)
    predicted = model.predict(ordered, verbose=0)["logits"]
    assert predicted.shape == (80, 2)
    assert list(tmp_path.glob("logs/*"))
    custom = {"Subclassed": Subclassed} if make is make_subclassed else None
    best = tf_keras.models.load_model(tmp_path / "best.keras", custom_objects=custom)
    assert best.evaluate(batches, verbose=0, return_dict=True)["loss"] == pytest.approx(
        min(history["val_loss"]), rel=1e-5 if dtype is None else 0.05)
    assert int(best.optimizer.iterations) == 10 * (1 + int(np.argmin(history["val_loss"])))
    again = make(dtype)
    again.predict(ordered, verbose=0)  # A subclass of the user's has its weights when it was called.
    for name in ("last.weights.h5", "checkpoint"):
        loaded = again.load_weights(tmp_path / name)
        if loaded is not None:
            loaded.expect_partial()
        np.testing.assert_allclose(again.predict(ordered, verbose=0)["logits"].shape, predicted.shape)
    messages = [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert [each for each in messages if not any(part in each for part in OF_THE_MACHINE)] == []


class Interruption(tf_keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt


def test_a_resumed_fit_gives_the_same_bits(batches, tmp_path):
    def train(folder, *callbacks):
        model = make_classifier()
        model.compile(create_optimizer(0.003, 60, 5), LOSS)
        return model, model.fit(batches, epochs=5, verbose=0, callbacks=[
            *callbacks, tf_keras.callbacks.BackupAndRestore(str(tmp_path / folder))]).history["loss"]

    model, expected = train("whole")
    with pytest.raises(KeyboardInterrupt):
        train("cut", Interruption())
    resumed, found = train("cut")
    assert found == expected[-len(found):]
    assert len(found) < 5
    for one, other in zip(model.get_weights(), resumed.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("where", ["one device", "two replicas"])
def test_fit_gives_the_losses_of_the_reference(where, two_replicas, reference, reference_config, reference_batches,
                                               reference_schedule, reference_numbers):
    with two_replicas.scope() if where == "two replicas" else contextlib.nullcontext():
        model = models.BertClassifier(reference_config, 3)
        load_pretrained(model, str(reference / "classify_init.ckpt"))
        model.compile(create_optimizer(**reference_schedule), LOSS)
    features = {name: value for name, value in reference_batches.items() if name in (
        "input_ids", "input_mask", "segment_ids")}
    batches = tf.data.Dataset.from_tensor_slices((features, reference_batches["labels"]))
    history = model.fit(batches, epochs=len(reference_batches["labels"]), steps_per_epoch=1, verbose=0).history
    np.testing.assert_allclose(history["loss"], reference_numbers("classify")["loss"], rtol=RELATIVE)


class PretrainerWithLoss(models.BertPretrainer):
    """How a `bert_tf.losses` loss, which reads outputs and features, is minimized by `fit`."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return losses.pretraining_loss(y_pred, x)["loss"]


def test_fit_minimizes_a_loss_of_the_project(reference, reference_config, reference_batches, reference_schedule,
                                             reference_numbers):
    model = PretrainerWithLoss(reference_config)
    load_pretrained(model, str(reference / "pretrain_init.ckpt"))
    found = []

    def compute_loss(x=None, y=None, y_pred=None, sample_weight=None):
        loss = PretrainerWithLoss.compute_loss(model, x, y, y_pred, sample_weight)
        tf.py_function(lambda value: found.append(float(value)), [loss], [])
        return loss

    model.compute_loss = compute_loss
    model.compile(create_optimizer(**reference_schedule))
    features = {name: value for name, value in reference_batches.items() if name != "labels"}
    model.fit(tf.data.Dataset.from_tensor_slices(features), verbose=0)
    np.testing.assert_allclose(found, reference_numbers("pretrain")["loss"], rtol=RELATIVE)
