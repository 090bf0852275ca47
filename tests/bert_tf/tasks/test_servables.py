"""Served models of each task respond to texts like the training model to the same tokens."""

import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.serving import saved_model
from bert_tf.tasks import SERVABLES
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.tasks.metadata import TaskMetadata
from tests import toy_servables
from tests.encoders import make_encoder
from tests.errors import Message, raises_message, rejects
from tests.toy_servables import (
    CONFIG,
    MAX_SEQ_LENGTH,
    REQUESTS,
    TEXTS,
    assert_near,
    make_model,
    make_servable,
    respond,
)


@pytest.fixture(scope="module")
def servables(toy_tokenizer):
    return {name: make_servable(name, toy_tokenizer) for name in REQUESTS}


def test_classifier(servables, toy_tokenizer):
    request = REQUESTS["classifier"]
    response = respond(servables["classifier"], REQUESTS["classifier"])
    features = toy_tokenizer.encode(request["text_a"], request["text_b"], MAX_SEQ_LENGTH)
    expected = tf.nn.softmax(make_model("classifier")(features)["logits"]).numpy()
    assert_near(response["probabilities"], expected)
    assert response["label"].tolist() == [
        b"xyz"[number : number + 1] for number in expected.argmax(axis=1)
    ]
    assert response["labels"].tolist() == [[b"x", b"y", b"z"]] * 4
    assert response["was_cut"].tolist() == [False, False, True, False]


def test_classifiers_with_several_labels_or_a_number(toy_tokenizer):
    model = make_model("classifier")
    texts = {"text": TEXTS}
    metadata = TaskMetadata("classifier", MAX_SEQ_LENGTH, True, ("x", "y", "z"), multi_label=True)
    several = ServedClassifier(model, toy_tokenizer, metadata)
    logits = model(toy_tokenizer.encode(TEXTS, max_seq_length=MAX_SEQ_LENGTH))["logits"].numpy()
    response = respond(several, texts)
    assert_near(response["probabilities"], 1 / (1 + np.exp(-logits)))
    np.testing.assert_array_equal(response["has_label"], logits > 0)
    model = models.BertClassifier(CONFIG, 1)
    number = ServedClassifier(
        model, toy_tokenizer, TaskMetadata("classifier", MAX_SEQ_LENGTH, True)
    )
    expected = model(toy_tokenizer.encode(TEXTS, max_seq_length=MAX_SEQ_LENGTH))["logits"][:, 0]
    assert_near(respond(number, texts)["value"], expected)


def test_encoder(servables, toy_tokenizer):
    features = toy_tokenizer.encode(TEXTS, max_seq_length=MAX_SEQ_LENGTH)
    expected = make_model("encoder")(features)
    response = respond(servables["encoder"], REQUESTS["encoder"])
    mask = features["input_mask"].numpy()
    assert "pooled_output" not in response
    for row, embedding in enumerate(response["sentence_embedding"]):
        tokens = expected["sequence_output"][row].numpy()[mask[row] > 0]
        assert_near(embedding, tokens.mean(axis=0))
    np.testing.assert_array_equal(response["token_mask"], mask)
    assert_near(
        response["sequence_output"][mask > 0], expected["sequence_output"].numpy()[mask > 0]
    )
    assert response["pieces"][0, :8].tolist() == [
        b"[CLS]",
        b"the",
        b"dog",
        b",",
        b"jump",
        b"##ing",
        b".",
        b"[SEP]",
    ]


def test_masked_lm(servables, toy_tokenizer):
    response = respond(servables["masked_lm"], REQUESTS["masked_lm"])
    vocabulary = toy_tokenizer.vocabulary
    row = toy_servables.make_row(toy_tokenizer, "[CLS] the [MASK] is [MASK] [SEP]", [2, 4])
    logits = make_model("masked_lm")(row)["masked_lm_logits"]
    # Entries of the config without a token are never predicted.
    expected, best = tf.math.top_k(
        tf.nn.softmax(logits)[..., : len(vocabulary)], toy_servables.TOP_K
    )
    assert response["num_masks"].tolist() == [2, 0, 1, 0]
    assert response["was_cut"].tolist() == [False, False, False, True]
    assert response["probabilities"].shape == (4, 2, toy_servables.TOP_K)
    assert_near(response["probabilities"][0], expected[0])
    np.testing.assert_array_equal(response["piece_ids"][0], best[0])
    assert response["pieces"][0].tolist() == [
        [vocabulary[piece].encode() for piece in row] for row in best[0].numpy()
    ]
    assert response["pieces"][2, 1].tolist() == [b""] * toy_servables.TOP_K
    assert response["probabilities"][1].sum() == 0


def test_masked_lm_of_pairs(servables, toy_tokenizer):
    """Each [MASK] of both texts, and the probability of the next sentence."""
    row = toy_servables.make_row(
        toy_tokenizer, "[CLS] the [MASK] went [SEP] it [MASK] fox ##es [SEP]", [2, 6]
    )
    outputs = make_model("pretrained")(row)
    probabilities = tf.nn.softmax(outputs["masked_lm_logits"])[0, :, : toy_tokenizer.vocab_size]
    expected, best = tf.math.top_k(probabilities, toy_servables.TOP_K)
    response = respond(
        servables["pretrained"], {"text_a": ["the [MASK] went"], "text_b": ["it [MASK]foxes"]}
    )
    assert response["num_masks"].tolist() == [2]
    np.testing.assert_array_equal(response["piece_ids"][0], best)
    assert_near(response["probabilities"][0], expected)
    assert_near(response["is_next"], tf.nn.softmax(outputs["next_sentence_logits"])[:, 0])


def test_tagger(servables, toy_tokenizer):
    response = respond(servables["tagger"], REQUESTS["tagger"])
    features = toy_tokenizer.encode(TEXTS, max_seq_length=MAX_SEQ_LENGTH)
    probabilities = tf.nn.softmax(make_model("tagger")(features)["logits"]).numpy()
    assert response["num_words"].tolist() == [3, 0, 40, 5]
    assert not response["was_cut"].any()
    assert response["words"][0, :4].tolist() == [b"The", b"dog,", b"jumping.", b""]
    first_pieces = [1, 2, 4]  # of [CLS] the dog , jump ##ing . [SEP]
    tags = np.array(list("ABCDE"), "S1")[probabilities[0, first_pieces].argmax(axis=-1)]
    assert response["tags"][0, :4].tolist() == [*tags.tolist(), b""]
    assert_near(response["scores"][0, :4], [*probabilities[0, first_pieces].max(axis=-1), 0])


def test_tagger_divides_long_texts_between_words(servables):
    """Ten words of the text have eleven tokens, so a window of 22 tokens has 20 words.

    The last word is longer than that.
    """
    words = toy_servables.LONG.split()
    texts = [" ".join([*words, "a", "jump" + "s" * 30]), "the dog", "", " ".join(words[:21])]
    response = respond(servables["tagger"], {"text": texts})
    windows = [
        words[:20],
        words[20:40],
        ["a"],
        ["jump" + "s" * 30],
        ["the", "dog"],
        words[:20],
        words[20:21],
    ]
    parts = respond(servables["tagger"], {"text": [" ".join(window) for window in windows]})
    for row, first, stop in ((0, 0, 4), (1, 4, 5), (3, 5, 7)):
        tags, scores = (
            np.concatenate([parts[name][part, : len(windows[part])] for part in range(first, stop)])
            for name in ("tags", "scores")
        )
        assert response["tags"][row, : len(tags)].tolist() == tags.tolist()
        assert_near(response["scores"][row, : len(scores)], scores)
    assert response["num_words"].tolist() == [42, 2, 0, 21]
    assert response["was_cut"].tolist() == [True, False, False, False]


def test_tagger_limits_the_number_of_windows(servables):
    texts = [" ".join(["dog"] * count) for count in (22 * 64, 22 * 64 + 1, 1)]
    response = respond(servables["tagger"], {"text": texts})
    assert response["was_cut"].tolist() == [False, True, False]
    assert (response["tags"] != b"").sum(axis=1).tolist() == [22 * 64, 22 * 64, 1]


def test_tagger_uses_unk_for_a_word_without_tokens(servables, toy_tokenizer):
    response = respond(servables["tagger"], {"text": ["the \x01 dog"]})
    logits = make_model("tagger")(
        toy_servables.make_row(toy_tokenizer, "[CLS] the [UNK] dog [SEP]")
    )["logits"]
    assert_near(response["scores"], tf.reduce_max(tf.nn.softmax(logits), axis=-1)[:, 1:4])


def test_multiple_choice(servables, toy_tokenizer):
    response = respond(servables["choice"], REQUESTS["choice"])
    request = REQUESTS["choice"]
    flat = toy_tokenizer.encode(np.repeat(TEXTS, 2), np.ravel(request["choices"]), MAX_SEQ_LENGTH)
    features = {name: tf.reshape(value, [4, 2, -1]) for name, value in flat.items()}
    expected = tf.nn.softmax(make_model("choice")(features)["logits"]).numpy()
    assert_near(response["probabilities"], expected)
    np.testing.assert_array_equal(response["choice"], expected.argmax(axis=1))
    assert response["was_cut"].tolist() == [False, False, True, False]


def test_span_labeler(servables):
    features = saved_model.example_requests(servables["squad"])["ids"]
    model = make_model("squad")
    response = servables["squad"].answer(features)
    is_token = features["input_mask"] > 0
    expected = model.head(model.encoder(features)["sequence_output"])
    assert_near(response["start_logits"][is_token], expected[..., 0][is_token])
    assert_near(response["end_logits"][is_token], expected[..., 1][is_token])


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("classifier", {"text_a": ["a", "b"], "text_b": ["c"]}),
        ("choice", {"text_a": ["a"], "choices": [["c", "d"], ["e", "f"]]}),
        ("squad", {"question": ["a", "b"], "context": ["c", "d", "e"]}),
    ],
)
def test_texts_of_different_batch_sizes(servables, name, request_):
    first, second = request_
    with rejects(
        None,
        f"{second} must contain as many examples",
        f"as {first}",
        error=tf.errors.InvalidArgumentError,
    ):
        respond(servables[name], request_)


@pytest.fixture(scope="module")
def signatures(servables):
    return servables["classifier"].signatures("ids", "tf_example")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"input_mask": np.ones([2, 4])},
            Message(None, "input_mask must have the shape", "input_ids"),
        ),
        (
            {"input_ids": np.full([2, 5], 99)},
            Message(None, f"input_ids must be below {CONFIG.vocab_size}"),
        ),
        ({"input_ids": np.full([2, 5], -1)}, Message(None, "input_ids must not be negative")),
        ({"segment_ids": np.full([2, 5], 2)}, Message(None, "segment_ids must be below 2")),
        (
            {name: np.ones([2, 32]) for name in ("input_ids", "input_mask", "segment_ids")},
            Message(None, "max_position_embeddings, 31"),
        ),
        (
            {name: np.ones([2, 0]) for name in ("input_ids", "input_mask", "segment_ids")},
            Message(None, "input_ids have no columns"),
        ),
    ],
)
def test_invalid_ids(signatures, changes, message):
    features = {
        name: np.ones([2, 5]) for name in ("input_ids", "input_mask", "segment_ids")
    } | changes
    with raises_message(message, tf.errors.InvalidArgumentError):
        signatures["ids"](
            **{name: tf.constant(value, tf.int32) for name, value in features.items()}
        )


def make_example(ids, mask=None):
    values = {
        "input_ids": ids,
        "input_mask": [1] * len(ids) if mask is None else mask,
        "segment_ids": [0] * len(ids),
    }
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                name: tf.train.Feature(int64_list=tf.train.Int64List(value=each))
                for name, each in values.items()
            }
        )
    ).SerializeToString()


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (b"no example", Message(None, "Could not parse example input")),
        (
            make_example([2, 5, 3], mask=[]),
            Message(None, "input_mask must be as long", "input_ids"),
        ),
        (
            make_example([2, 2**32 + 5, 3]),
            Message(None, f"input_ids must be below {CONFIG.vocab_size}"),
        ),
        (make_example([2, 5 - 2**32]), Message(None, "must not be negative")),
        (make_example([]), Message(None, "an example has no input_ids")),
        # Bytes of examples differ between processes.
    ],
    ids=["bytes", "mask", "large ID", "negative ID", "empty"],
)
def test_invalid_examples(signatures, example, message):
    with raises_message(message, tf.errors.InvalidArgumentError):
        signatures["tf_example"](examples=tf.constant([example]))


def test_static_length(servables, toy_tokenizer):
    static = make_servable("tagger", toy_tokenizer, layer="matrix", static_length=True)
    response, expected = (
        respond(each, REQUESTS["tagger"]) for each in (static, servables["tagger"])
    )
    np.testing.assert_array_equal(response["tags"], expected["tags"])
    assert_near(response["scores"], expected["scores"])
    signatures = static.signatures("ids", "tf_example")
    assert signatures["ids"].inputs[0].shape == [None, MAX_SEQ_LENGTH]
    examples = [make_example([1] * length) for length in (5, MAX_SEQ_LENGTH + 1)]
    assert signatures["tf_example"](examples=tf.constant(examples[:1]))["tags"].shape == [
        1,
        MAX_SEQ_LENGTH,
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="an example is longer than 24"):
        signatures["tf_example"](examples=tf.constant(examples))


@pytest.mark.parametrize("name", ["encoder", "masked_lm"])
def test_responses_of_bfloat16_models_are_float32(toy_tokenizer, name):
    encoder = make_encoder(CONFIG, remove_padding=True, float32_scores=True, dtype="mixed_bfloat16")
    model = encoder if name == "encoder" else models.BertPretrainer(encoder)
    serve = SERVABLES[name]
    metadata = TaskMetadata(name, MAX_SEQ_LENGTH, True)
    response = respond(serve(model, toy_tokenizer, metadata), {"text": ["a [MASK] dog"]})
    assert {value.dtype for value in response.values() if value.dtype.kind not in "Oib"} == {
        np.dtype("float32")
    }
    if name == "masked_lm":  # scores in bfloat16 would often be equal
        logits = model(toy_servables.make_row(toy_tokenizer, "[CLS] the a [SEP]", [1]))
        assert len(np.unique(logits["masked_lm_logits"])) == CONFIG.vocab_size


def test_versions(servables, tmp_path, monkeypatch):
    """The next version is one higher; warm-up requests require tensorflow-serving-api."""
    servable = servables["encoder"]
    monkeypatch.setattr(
        servable,
        "signatures",
        lambda: {"ids": tf.function(lambda: {"x": 1}).get_concrete_function()},
    )
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis", None)
    (tmp_path / "6").mkdir()
    assert saved_model.save(servable, str(tmp_path)) == (str(tmp_path / "7"), False)
    assert [path.name for path in (tmp_path / "7" / "assets.extra").iterdir()] == ["task.json"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("encoder", {"max_seq_length": 32}, Message(None, "from 4 to max_position_embeddings, 31")),
        (
            "squad",
            {"max_seq_length": 9},
            Message(
                "max_seq_length",
                "from 10 (`max_query_length` + 4",
                "max_position_embeddings",
                value=9,
            ),
        ),
        (
            "classifier",
            {"labels": ("x", "y")},
            Message(None, "there are 2 labels", "model has 3 outputs"),
        ),
    ],
)
def test_invalid_metadata(toy_tokenizer, name, options, message):
    with raises_message(message):
        make_servable(name, toy_tokenizer, **options)
