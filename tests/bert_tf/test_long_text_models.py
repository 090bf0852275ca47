"""Texts in windows: how they are cut, and that pooled logits are those of the windows one by one."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.models import BertLongTextClassifier
from tests import toy_servables
from tests.encoders import make_encoder

POOLED = {"mean": lambda logits: logits.mean(axis=0), "max": lambda logits: logits.max(axis=0)}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return toy_servables.make_tokenizer(tmp_path_factory.mktemp("long_texts"))


def pieces_of(tokenizer, encoded):
    """The pieces of each window, without padding, as one str."""
    features, rows, was_cut = encoded
    ids = [row[mask > 0] for row, mask in zip(features["input_ids"].numpy(), features["input_mask"].numpy(),
                                              strict=True)]
    texts = [" ".join(piece.decode() for piece in tokenizer.convert_ids_to_tokens(tf.constant(row)).numpy())
             for row in ids]
    return list(zip(rows.numpy().tolist(), texts, strict=True)), was_cut.numpy().tolist()


def test_a_text_in_windows(tokenizer):
    texts = ["the dog", "a book of london on paris in italy to go", ""]
    windows, was_cut = pieces_of(tokenizer, tokenizer.encode_windows(
        texts, max_seq_length=6, stride=3, max_windows=3))
    assert windows == [
        (0, "[CLS] the dog [SEP]"), (1, "[CLS] a book of london [SEP]"), (1, "[CLS] london on paris in [SEP]"),
        (1, "[CLS] in italy to go [SEP]"), (2, "[CLS] [SEP]")]
    assert was_cut == [False] * 3
    windows, was_cut = pieces_of(tokenizer, tokenizer.encode_windows(
        texts, max_seq_length=6, stride=3, max_windows=2))
    assert [row for row, _ in windows] == [0, 1, 1, 2]
    assert was_cut == [False, True, False]


def test_the_second_text_of_a_pair_in_windows(tokenizer):
    """The first stands in each window; where both are long, half the room is its own."""
    first = ["a dog", "the lazy brown quick fox", "the dog in it", "the dog jump in italy of it"]
    second = ["book of london on paris", "book of london on", "", "go"]
    encoded = tokenizer.encode_windows(first, second, max_seq_length=8, stride=2, max_windows=9)
    windows, was_cut = pieces_of(tokenizer, encoded)
    assert windows == [
        (0, "[CLS] a dog [SEP] book of london [SEP]"), (0, "[CLS] a dog [SEP] london on paris [SEP]"),
        (1, "[CLS] the lazy brown [SEP] book of [SEP]"), (1, "[CLS] the lazy brown [SEP] london on [SEP]"),
        (2, "[CLS] the dog in it [SEP]"), (3, "[CLS] the dog jump in [SEP] go [SEP]")]
    assert was_cut == [False, True, False, True]
    segments = encoded[0]["segment_ids"].numpy()
    assert segments[:, :8].tolist()[0] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.fixture(scope="module")
def texts():
    """Features [B=3, W=4, S=5] of texts with 2, 4 and 1 windows."""
    rng = np.random.default_rng(3)
    mask = np.zeros([3, 4, 5], np.int32)
    for text, lengths in enumerate([(5, 3), (5, 5, 5, 2), (4,)]):
        for window, length in enumerate(lengths):
            mask[text, window, :length] = 1
    ids = rng.integers(5, 40, mask.shape).astype(np.int32) * mask
    return {"input_ids": ids, "input_mask": mask, "segment_ids": np.zeros_like(mask)}


def by_hand(pooling, texts):
    """The pooled logits of a plain classifier of the same seed, a text at a time."""
    plain = models.BertClassifier(models.BertEncoder(toy_servables.CONFIG, seed=5), 3)
    rows = []
    for text in range(3):
        real = texts["input_mask"][text, :, 0] > 0
        rows.append(POOLED[pooling](plain({name: values[text][real] for name, values in texts.items()})[
            "logits"].numpy()))
    return np.stack(rows)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_pooled_logits(texts, pooling):
    expected = by_hand(pooling, texts)
    gradients = []
    for options in ({}, {"remove_padding": True}):
        model = BertLongTextClassifier(make_encoder(toy_servables.CONFIG, seed=5, **options), 3, pooling)
        with tf.GradientTape() as tape:
            logits = model({name: tf.constant(values) for name, values in texts.items()}, training=False)["logits"]
            loss = tf.reduce_sum(logits**2)
        np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-5)
        gradients.append([tf.convert_to_tensor(each).numpy() for each in tape.gradient(loss, model.head.variables)])
        observed, _ = model.observe({name: tf.constant(values) for name, values in texts.items()})
        np.testing.assert_allclose(observed["logits"], expected, rtol=0, atol=1e-5)
    for first, second in zip(*gradients, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)
    single = {name: values[:, 0] for name, values in texts.items()}
    plain = models.BertClassifier(models.BertEncoder(toy_servables.CONFIG, seed=5), 3)
    np.testing.assert_array_equal(model(single)["logits"].shape, [3, 3])
    np.testing.assert_allclose(model(single)["logits"], plain(single)["logits"], rtol=0, atol=1e-5)


def test_absent_windows_take_no_time(texts):
    """Without padding, what the encoder sees has the 7 windows that there are, not 12."""
    model = BertLongTextClassifier(make_encoder(toy_servables.CONFIG, seed=5, remove_padding=True), 3)
    seen = []
    encode = model.encoder.encode_positions
    vars(model.encoder)["encode_positions"] = lambda windows, **options: seen.append(
        windows["input_ids"].shape) or encode(windows, **options)
    model({name: tf.constant(values) for name, values in texts.items()})
    assert seen == [[7, 5]]
