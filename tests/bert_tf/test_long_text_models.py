"""Long texts: their windows, and the pooled logits of a classifier."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.models import BertLongTextClassifier
from tests import toy_servables
from tests.encoders import make_encoder, make_features


def read_windows(toy_tokenizer, encoded):
    """Returns (text number, tokens as one str) of each window, and was_cut."""
    features, rows, was_cut = encoded
    lengths = tf.reduce_sum(features["input_mask"], axis=1)
    tokens = toy_tokenizer.convert_ids_to_tokens(tf.RaggedTensor.from_tensor(features["input_ids"], lengths))
    texts = [text.decode() for text in tf.strings.reduce_join(tokens, axis=1, separator=" ").numpy()]
    return list(zip(rows.numpy().tolist(), texts, strict=True)), was_cut.numpy().tolist()


def test_windows_of_single_texts(toy_tokenizer):
    texts = ["the dog", "a book of london on paris in italy to go", ""]
    windows, was_cut = read_windows(toy_tokenizer, toy_tokenizer.encode_windows(
        texts, max_seq_length=6, stride=3, max_windows=3))
    assert windows == [
        (0, "[CLS] the dog [SEP]"), (1, "[CLS] a book of london [SEP]"), (1, "[CLS] london on paris in [SEP]"),
        (1, "[CLS] in italy to go [SEP]"), (2, "[CLS] [SEP]")]
    assert was_cut == [False] * 3
    windows, was_cut = read_windows(toy_tokenizer, toy_tokenizer.encode_windows(
        texts, max_seq_length=6, stride=3, max_windows=2))
    assert [row for row, _ in windows] == [0, 1, 1, 2]
    assert was_cut == [False, True, False]


def test_windows_of_pairs(toy_tokenizer):
    """Each window contains the first text, which has half of the room if both are long."""
    first = ["a dog", "the lazy brown quick fox", "the dog in it", "the dog jump in italy of it"]
    second = ["book of london on paris", "book of london on", "", "go"]
    encoded = toy_tokenizer.encode_windows(first, second, max_seq_length=8, stride=2, max_windows=9)
    windows, was_cut = read_windows(toy_tokenizer, encoded)
    assert windows == [
        (0, "[CLS] a dog [SEP] book of london [SEP]"), (0, "[CLS] a dog [SEP] london on paris [SEP]"),
        (1, "[CLS] the lazy brown [SEP] book of [SEP]"), (1, "[CLS] the lazy brown [SEP] london on [SEP]"),
        (2, "[CLS] the dog in it [SEP]"), (3, "[CLS] the dog jump in [SEP] go [SEP]")]
    assert was_cut == [False, True, False, True]
    segments = encoded[0]["segment_ids"].numpy()
    assert segments[:, :8].tolist()[0] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.fixture(scope="module")
def texts():
    """Features [B=3, W=4, S=5] of texts with 2, 4, and 1 windows."""
    windows = make_features(toy_servables.CONFIG, (5, 3, 0, 0, 5, 5, 5, 2, 4, 0, 0, 0))
    return {name: tf.reshape(value, [3, 4, 5]) for name, value in windows.items()}


@pytest.mark.parametrize("options", [{}, {"layers": "unpadded"}])
@pytest.mark.parametrize(("pooling", "pool"), [("mean", np.mean), ("max", np.max)])
def test_pooled_logits(texts, pooling, pool, options):
    """They are those of a plain classifier for each text; with one window per text, nothing is pooled."""
    plain = models.BertClassifier(models.BertEncoder(toy_servables.CONFIG, seed=5), 3)
    model = BertLongTextClassifier(make_encoder(toy_servables.CONFIG, seed=5, **options), 3, pooling)
    expected = [pool(plain({name: values[number, :count] for name, values in texts.items()})["logits"], axis=0)
                for number, count in enumerate((2, 4, 1))]
    np.testing.assert_allclose(model(texts)["logits"], expected, rtol=0, atol=1e-5)
    observed = model(texts, return_attention_scores=True)
    np.testing.assert_allclose(observed["logits"], expected, rtol=0, atol=1e-5)
    single = {name: values[:, 0] for name, values in texts.items()}
    np.testing.assert_allclose(model(single)["logits"], plain(single)["logits"], rtol=0, atol=1e-5)
