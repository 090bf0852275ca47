"""compile, fit, evaluate, and predict with BertAdamW, on one or two devices, in mixed precision."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import models
from bert_tf.checkpoints import load_pretrained
from bert_tf.config import BertConfig
from bert_tf.optimization import create_optimizer
from bert_tf.tokenization import BertTokenizer
from tests.variants import mark_variants

pytestmark = pytest.mark.large

WORDS = ("good", "bad", "very", "film", "a", "the", "not", "it", "was", "so")
VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS)
CONFIG = BertConfig(
    vocab_size=len(VOCABULARY),
    hidden_size=12,
    num_hidden_layers=1,
    num_attention_heads=3,
    intermediate_size=17,
    max_position_embeddings=16,
    type_vocab_size=2,
    initializer_range=0.2,
)
TEXTS = [f"{a} {b} film" for a in WORDS for b in ("good", "bad")] * 4  # 80 texts
LABELS = [int(text.split()[1] == "good") for text in TEXTS]
LOSS = {"logits": tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True)}
RELATIVE = 1e-4
HEAD = {"dtype": "float32", "kernel_initializer": tf_keras.initializers.GlorotUniform(seed=7)}
SLOW_MACHINE = ("may run slowly", "is slow compared to the batch time")  # Messages of Keras.


@pytest.fixture(scope="module")
def text_pipeline(tmp_path_factory):
    """A tf.data pipeline of raw text: 10 batches of 8."""
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n")
    tokenizer = BertTokenizer(str(path))
    return (
        tf.data.Dataset.from_tensor_slices((TEXTS, LABELS))
        .shuffle(80, seed=1, reshuffle_each_iteration=False)
        .batch(8)
        .map(lambda texts, labels: (tokenizer.encode(texts, max_seq_length=7), labels))
    )


def make_classifier():
    return models.BertClassifier(models.BertEncoder(CONFIG, seed=3), 2)


def make_functional(dtype=None):
    inputs = {
        name: tf_keras.Input([None], dtype=tf.int32, name=name)
        for name in ("input_ids", "input_mask", "segment_ids")
    }
    pooled = models.BertEncoder(CONFIG, seed=3, dtype=dtype)(inputs)["pooled_output"]
    return tf_keras.Model(inputs, {"logits": tf_keras.layers.Dense(2, name="mine", **HEAD)(pooled)})


class Subclassed(models.BertClassifier):
    """A subclass with a custom layer."""

    def __init__(self, encoder, width):
        super().__init__(encoder, width)
        self.last = tf_keras.layers.Dense(2, **HEAD)

    def get_config(self):
        config = super().get_config()
        return {"encoder": config["encoder"], "width": config["num_labels"]}

    def call(self, features, training=False):
        return {"logits": self.last(tf.tanh(super().call(features, training=training)["logits"]))}


def enter_scope(strategy):
    return strategy.scope() if strategy else contextlib.nullcontext()


@pytest.mark.extra_large
@pytest.mark.parametrize(
    ("is_distributed", "dtype", "make"),
    [
        (False, None, lambda dtype: Subclassed(models.BertEncoder(CONFIG, seed=3, dtype=dtype), 5)),
        (True, "mixed_float16", make_functional),
    ],
)
def test_fit_evaluate_predict(
    text_pipeline, two_replicas, tmp_path, caplog, *, is_distributed, dtype, make
):
    features = text_pipeline.map(lambda features, labels: features)
    with enter_scope(two_replicas if is_distributed else None):
        model = make(dtype)
        model(next(iter(features)))  # Creates the weights of a subclass's own layer.
        model.compile(
            create_optimizer(0.005, 30, 5),
            LOSS,
            metrics={"logits": ["accuracy"]},
            steps_per_execution=2,
        )
    callbacks = [
        tf_keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True),
        tf_keras.callbacks.ModelCheckpoint(str(tmp_path / "best.keras"), save_best_only=True),
        tf_keras.callbacks.ModelCheckpoint(
            str(tmp_path / "last.weights.h5"), save_weights_only=True
        ),
        tf_keras.callbacks.ModelCheckpoint(str(tmp_path / "checkpoint"), save_weights_only=True),
        tf_keras.callbacks.BackupAndRestore(str(tmp_path / "backup")),
        tf_keras.callbacks.TensorBoard(str(tmp_path / "logs")),
    ]
    history = model.fit(
        text_pipeline,
        validation_data=text_pipeline,
        epochs=3,
        class_weight={0: 1.0, 1: 2.0},
        verbose=0,
        callbacks=callbacks,
    ).history
    assert history["loss"][-1] < history["loss"][0] / 2
    assert model.evaluate(text_pipeline, verbose=0, return_dict=True)["accuracy"] > 0.9
    assert model.predict(features, verbose=0)["logits"].shape == (80, 2)
    assert list(tmp_path.glob("logs/*"))
    best = tf_keras.models.load_model(
        tmp_path / "best.keras", custom_objects={"Subclassed": Subclassed}
    )
    assert best.evaluate(text_pipeline, verbose=0, return_dict=True)["loss"] == pytest.approx(
        min(history["val_loss"]), rel=1e-5 if dtype is None else 0.05
    )
    assert int(best.optimizer.iterations) == 10 * (1 + int(np.argmin(history["val_loss"])))
    again = make(dtype)
    again.predict(features, verbose=0)
    again.load_weights(tmp_path / "checkpoint").expect_partial()
    expected = again.predict(features, verbose=0)["logits"]
    again.load_weights(tmp_path / "last.weights.h5")
    np.testing.assert_array_equal(again.predict(features, verbose=0)["logits"], expected)
    messages = [
        record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")
    ]
    assert [each for each in messages if not any(part in each for part in SLOW_MACHINE)] == []


class Interruption(tf_keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt


@pytest.mark.extra_large
def test_a_resumed_fit_is_bit_identical(text_pipeline, tmp_path):
    def train(folder, *callbacks):
        model = make_classifier()
        model.compile(create_optimizer(0.003, 60, 5), LOSS)
        return model, model.fit(
            text_pipeline,
            epochs=5,
            verbose=0,
            callbacks=[*callbacks, tf_keras.callbacks.BackupAndRestore(str(tmp_path / folder))],
        ).history["loss"]

    model, expected = train("uninterrupted")
    with pytest.raises(KeyboardInterrupt):
        train("interrupted", Interruption())
    resumed, found = train("interrupted")
    assert found == expected[-len(found) :]
    assert len(found) < 5
    for one, other in zip(model.get_weights(), resumed.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("is_distributed", mark_variants([False, True], False))
def test_fit_reproduces_the_losses_of_the_original_bert(
    two_replicas,
    reference,
    reference_config,
    reference_batches,
    reference_schedule,
    reference_numbers,
    *,
    is_distributed,
):
    with enter_scope(two_replicas if is_distributed else None):
        model = models.BertClassifier(reference_config, 3)
        load_pretrained(model, str(reference / "classify_init.ckpt"))
        model.compile(create_optimizer(**reference_schedule), LOSS)
    features = {
        name: reference_batches[name] for name in ("input_ids", "input_mask", "segment_ids")
    }
    batches = tf.data.Dataset.from_tensor_slices((features, reference_batches["labels"]))
    history = model.fit(
        batches, epochs=len(reference_batches["labels"]), steps_per_epoch=1, verbose=0
    ).history
    np.testing.assert_allclose(
        history["loss"], reference_numbers("classify")["loss"], rtol=RELATIVE
    )
