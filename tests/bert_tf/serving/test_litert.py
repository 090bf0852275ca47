"""LiteRTModel gives the same responses as the served model in a graph."""

import concurrent.futures
import dataclasses
import os

import numpy as np
import pytest

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.serving import litert
from bert_tf.serving.litert import LiteRTModel
from bert_tf.serving.loading import open_export
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.tasks.masked_lm.graph import ServedMaskedLM
from bert_tf.tasks.metadata import TaskMetadata
from tests import toy_servables
from tests.encoders import make_encoder
from tests.errors import rejects
from tests.toy_servables import (
    REQUESTS,
    TEXTS,
    assert_answers_as,
    assert_same_responses,
    make_model,
    make_servable,
    respond,
)
from tests.variants import mark_variants

pytestmark = [pytest.mark.large, pytest.mark.timeout(180)]  # the first test converts seven models


@pytest.fixture(scope="module")
def loaded(toy_litert_files):
    return {name: open_export(str(toy_litert_files / f"{name}.tflite")) for name in REQUESTS}


@pytest.mark.parametrize("name", REQUESTS)
def test_responses_equal_those_of_the_servable(loaded, toy_tokenizer, name):
    """The texts include an empty one, and bytes that are not UTF-8."""
    servable = make_servable(name, toy_tokenizer)
    model = loaded[name]
    assert_answers_as(model, servable, REQUESTS[name])


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_threads_leave_the_first_core_to_their_caller(toy_litert_files):
    cores = os.sched_getaffinity(0)
    before = set(os.listdir("/proc/self/task"))
    model = LiteRTModel(str(toy_litert_files / "tagger.tflite"), num_threads=2)
    created = set(os.listdir("/proc/self/task")) - before
    assert created
    assert all(os.sched_getaffinity(int(thread)) == cores - {min(cores)} for thread in created)
    assert os.sched_getaffinity(0) == cores
    assert model.metadata  # so that it is not deleted before, and its threads with it


def test_models_opened_in_several_threads_leave_standard_error_open(toy_litert_files):
    before = os.fstat(2)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for _ in threads.map(LiteRTModel, [str(toy_litert_files / "tagger.tflite")] * 32):
            pass
    assert os.path.samestat(os.fstat(2), before)


@pytest.mark.parametrize("labels", [["x", "y", "z"], []])
def test_several_labels_and_numbers(toy_tokenizer, tmp_path, labels):
    metadata = TaskMetadata(
        "classifier", toy_servables.MAX_SEQ_LENGTH, True, labels, multi_label=bool(labels)
    )
    model = models.BertClassifier(make_model("encoder", layer="litert"), len(labels) or 1)
    servable = ServedClassifier(model, toy_tokenizer, metadata, static_length=True)
    expected = respond(servable, {"text": TEXTS})
    (tmp_path / "m.tflite").write_bytes(
        litert.convert_servable(servable, lengths=(24,), batch_sizes=(2,))
    )
    assert_same_responses(LiteRTModel(str(tmp_path / "m.tflite"))(text=TEXTS), expected)


@pytest.mark.parametrize("name", mark_variants(["classifier", "squad"], "classifier"))
def test_causal_attention_and_a_bilstm(toy_tokenizer, tmp_path, name, monkeypatch):
    """The last token of a row is at another position in a longer graph."""
    monkeypatch.setattr(
        toy_servables,
        "CONFIG",
        dataclasses.replace(toy_servables.CONFIG, attention="causal", bilstm_head=name == "squad"),
    )
    expected = respond(make_servable(name, toy_tokenizer), REQUESTS[name])
    servable = make_servable(name, toy_tokenizer, layer="litert")
    (tmp_path / "m.tflite").write_bytes(
        litert.convert_servable(servable, lengths=(24,), batch_sizes=(2,))
    )
    assert_same_responses(LiteRTModel(str(tmp_path / "m.tflite"))(**REQUESTS[name]), expected)


@pytest.mark.parametrize(
    "options",
    [
        {"version_2_with_negative": True, "null_score_diff_threshold": -3.0},
        {"top_k": 20},
        {"max_answer_length": 2},
    ],
)
def test_question_answering_in_long_contexts(toy_litert_files, toy_tokenizer, options):
    """The same graphs serve other options of the search."""
    servable = make_servable("squad", toy_tokenizer, **options)
    model = LiteRTModel(str(toy_litert_files / "squad.tflite"))
    model.metadata = servable.metadata
    unusual = "Mary\tShelley  W\u00e9nt \u2126 to\u202fLondon , and the\u0301 DOG-fox\u00adjumps . "
    contexts = [toy_servables.LONG * 7, unusual * 3, "\x01", "over"]
    request = {"question": ["where did it go", "?", "book", ""], "context": contexts}
    assert_same_responses(model(**request), respond(servable, request))


def test_threads_share_a_model(loaded):
    model = loaded["tagger"]
    texts = [TEXTS[:1], TEXTS[2:], TEXTS] * 5
    expected = [model(text=each)["scores"] for each in texts]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for actual, scores in zip(
            pool.map(lambda each: model(text=each)["scores"], texts), expected, strict=True
        ):
            np.testing.assert_array_equal(actual, scores)


@pytest.mark.extra_large
def test_smaller_weights(toy_tokenizer, tmp_path):
    """All matrices, including embeddings, are smaller, and both graphs share them."""
    config = BertConfig(3001, 96, 1, 4, 384, max_position_embeddings=31, type_vocab_size=2)
    model = models.BertPretrainer(make_encoder(config, layer="litert"))
    metadata = toy_servables.METADATA["masked_lm"]
    servable = ServedMaskedLM(model, toy_tokenizer, metadata, static_length=True)
    expected = respond(servable, REQUESTS["masked_lm"])["probabilities"][:, :2]
    float32_bytes = 4 * sum(
        np.prod(variable.shape)
        for variable in servable.model.variables
        if not variable.name.startswith(("bert/pooler", "cls/seq_relationship"))
    )
    for weights, ratio, tolerance in (
        ("float32", 1, 1e-5),
        ("float16", 2, 1e-3),
        ("int8", 4, 0.05),
    ):
        path = tmp_path / f"{weights}.tflite"
        path.write_bytes(
            litert.convert_servable(servable, weights, lengths=(8, 16), batch_sizes=(1,))
        )
        response = LiteRTModel(str(path))(**REQUESTS["masked_lm"])["probabilities"]
        np.testing.assert_allclose(response, expected, rtol=0, atol=tolerance)
        # The remainder is for graphs, names, and the vocabulary.
        assert path.stat().st_size < float32_bytes / ratio + 500_000


def test_unknown_weights(toy_tokenizer):
    servable = make_servable("squad", toy_tokenizer, layer="litert")
    with rejects("weights", "must be one of float32", "float16", "int8", value="bfloat16"):
        litert.convert_servable(servable, "bfloat16")
