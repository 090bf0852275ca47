"""LiteRT files for MediaPipe: its description, and answers of both programs from one file."""

import dataclasses
import zipfile

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from flatbuffers.number_types import Int8Flags, UOffsetTFlags

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.serving import litert, mediapipe
from bert_tf.serving.loading import open_export
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.tasks.encoder.graph import ServedEncoder
from bert_tf.tasks.metadata import TaskMetadata
from tests.encoders import make_encoder
from tests.errors import rejects
from tests.toy_servables import (
    LONG,
    MAX_SEQ_LENGTH,
    PIECES,
    TEXTS,
    assert_same_responses,
    make_model,
    respond,
)

CLASSIFIER = TaskMetadata("classifier", MAX_SEQ_LENGTH, True, ("x y", "\u00e4", "z"))
ENCODER = TaskMetadata("encoder", MAX_SEQ_LENGTH, True, normalize=True)
MODELS = {  # Name -> TaskMetadata.
    "classifier": CLASSIFIER,
    "several_labels": dataclasses.replace(CLASSIFIER, multi_label=True),
    "encoder": ENCODER,
    # The embedding and the pooled output are one tensor.
    "pooler": TaskMetadata("encoder", MAX_SEQ_LENGTH, True, sentence_pooling="pooler"),
}

# MediaPipe's tokenizer reads these in the same way.
COMMON = [*TEXTS, "(The) dog's\tfox-jumps", LONG * 3]


def make_servable(metadata, tokenizer):
    encoder = make_model("encoder", layer="litert", last_where_read=True)
    if metadata.kind == "encoder":
        return ServedEncoder(encoder, tokenizer, metadata, static_length=True)
    model = models.BertClassifier(encoder, len(metadata.labels))
    return ServedClassifier(model, tokenizer, metadata, static_length=True)


@pytest.fixture(scope="module")
def servables(toy_tokenizer):
    return {name: make_servable(metadata, toy_tokenizer) for name, metadata in MODELS.items()}


@pytest.fixture(scope="module")
def paths(servables, tmp_path_factory):
    """Files for MediaPipe, by the names of MODELS."""
    folder = tmp_path_factory.mktemp("mediapipe")
    for name, servable in servables.items():
        content = litert.convert_servable(servable, for_mediapipe=True)
        (folder / f"{name}.tflite").write_bytes(content)
    return {name: str(folder / f"{name}.tflite") for name in servables}


class Table:
    """A table of a flatbuffer, for tests: its fields by their numbers."""

    def __init__(self, content, offset):
        self._table = flatbuffers.table.Table(content, offset)

    @classmethod
    def read_root(cls, content):
        return cls(content, int.from_bytes(content[:4], "little"))

    def _at(self, number):
        return self._table.Pos + self._table.Offset(4 + 2 * number)

    def text(self, number):
        return self._table.String(self._at(number)).decode()

    def byte(self, number):
        return self._table.Get(Int8Flags, self._at(number))

    def table(self, number):
        return Table(self._table.Bytes, self._table.Indirect(self._at(number)))

    def tables(self, number):
        offset = self._table.Offset(4 + 2 * number)
        start = self._table.Vector(offset)
        width = UOffsetTFlags.bytewidth
        return [
            Table(self._table.Bytes, self._table.Indirect(start + width * index))
            for index in range(self._table.VectorLen(offset))
        ]


def read_model(path):
    with open(path, "rb") as file:
        return schema.ModelT.InitFromPackedBuf(file.read(), 0)


def read_description(model):
    """Returns the root Table of MediaPipe's description."""
    (number,) = (each.buffer for each in model.metadata if each.name == b"TFLITE_METADATA")
    content = bytes(model.buffers[number].data)
    assert content[4:8] == b"M001"
    return Table.read_root(content)


@pytest.mark.large
@pytest.mark.parametrize("name", MODELS)
def test_description(paths, name):
    """The numbers of fields and enums are those of MediaPipe's metadata_schema.fbs."""
    model = read_model(paths[name])
    (graph,) = model.subgraphs
    (signature,) = model.signatureDefs
    (described,) = read_description(model).tables(3)
    indices = {each.name.decode(): each.tensorIndex for each in signature.inputs}
    by_index = {
        indices["input_ids"]: "ids",
        indices["input_mask"]: "mask",
        indices["segment_ids"]: "segment_ids",
    }
    assert [each.text(0) for each in described.tables(2)] == [
        by_index[index] for index in graph.inputs
    ]
    shapes = {tuple(graph.tensors[index].shape) for index in graph.inputs}
    assert shapes == {(1, MAX_SEQ_LENGTH)}
    outputs = described.tables(3)
    assert len(outputs) == len(graph.outputs)
    main = mediapipe.MAIN_OUTPUTS[MODELS[name].kind]
    assert outputs[0].text(0) == main
    indices = {each.name.decode(): each.tensorIndex for each in signature.outputs}
    assert graph.outputs[0] == indices[main]
    (tokenizer,) = described.tables(5)
    assert tokenizer.byte(0) == 4
    (vocabulary,) = tokenizer.table(1).tables(0)
    assert (vocabulary.text(0), vocabulary.byte(2)) == ("vocab.txt", 5)
    with zipfile.ZipFile(paths[name]) as archive:
        assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_STORED}
        assert archive.read("vocab.txt").decode().split() == PIECES.split()
        if MODELS[name].labels:
            (labels,) = outputs[0].tables(6)
            assert (labels.text(0), labels.byte(2)) == ("labels.txt", 2)
            assert archive.read("labels.txt").decode() == "x y\n\u00e4\nz\n"
        else:
            assert "labels.txt" not in archive.namelist()


@pytest.mark.large
@pytest.mark.parametrize("name", MODELS)
def test_this_project_reads_the_files(paths, servables, name):
    model = open_export(paths[name])
    assert_same_responses(model(text=TEXTS), respond(servables[name], {"text": TEXTS}))
    assert all(value.shape[0] == 0 for value in model(text=[]).values())


@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "output"), [("classifier", "probabilities"), ("encoder", "sequence_output")]
)
def test_largest_differences(paths, servables, name, output):
    (difference,) = litert.largest_differences(servables[name], paths[name]).items()
    assert difference[0] == output
    assert 0 <= difference[1] < 1e-5


@pytest.mark.large
def test_int8(toy_tokenizer, tmp_path, open_in_mediapipe):
    """Both programs run the same graph; the original probabilities differ by up to 0.05."""
    config = BertConfig(301, 96, 1, 4, 384, max_position_embeddings=31, type_vocab_size=2)
    model = models.BertClassifier(make_encoder(config, layer="litert", last_where_read=True), 3)
    servable = ServedClassifier(model, toy_tokenizer, CLASSIFIER, static_length=True)
    path = tmp_path / "m.tflite"
    path.write_bytes(litert.convert_servable(servable, "int8", for_mediapipe=True))
    (graph,) = read_model(path).subgraphs
    assert any(tensor.type == schema.TensorType.INT8 for tensor in graph.tensors)
    found = open_export(str(path))(text=COMMON)["probabilities"]
    expected = respond(servable, {"text": COMMON})["probabilities"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.05)
    classifier = open_in_mediapipe("TextClassifier", str(path))
    for text, probabilities in zip(COMMON, found, strict=True):
        assert_same_scores(classifier.classify(text), probabilities)


def assert_same_scores(result, probabilities):
    """Compares the only classification of MediaPipe's result with the labels of CLASSIFIER."""
    (head,) = result.classifications
    scores = {each.category_name: each.score for each in head.categories}
    assert scores == pytest.approx(
        dict(zip(CLASSIFIER.labels, probabilities, strict=True)), rel=0, abs=1e-5
    )


@pytest.fixture
def open_in_mediapipe():
    """Returns a function that opens a file as a class of MediaPipe's text tasks."""
    tasks = pytest.importorskip("mediapipe.tasks.python")
    with_text = pytest.importorskip("mediapipe.tasks.python.text")
    opened = []

    def open_file(class_name, path):
        options = getattr(with_text, f"{class_name}Options")(
            base_options=tasks.BaseOptions(model_asset_path=path)
        )
        opened.append(getattr(with_text, class_name).create_from_options(options))
        return opened[-1]

    yield open_file
    for each in opened:
        each.close()


@pytest.mark.large
@pytest.mark.parametrize("name", ["classifier", "several_labels"])
def test_mediapipe_classifies(paths, name, open_in_mediapipe):
    classifier = open_in_mediapipe("TextClassifier", paths[name])
    expected = open_export(paths[name])(text=COMMON)["probabilities"]
    for text, probabilities in zip(COMMON, expected, strict=True):
        assert_same_scores(classifier.classify(text), probabilities)


@pytest.mark.large
@pytest.mark.parametrize("name", ["encoder", "pooler"])
def test_mediapipe_embeds(paths, name, open_in_mediapipe):
    embedder = open_in_mediapipe("TextEmbedder", paths[name])
    expected = open_export(paths[name])(text=COMMON)["sentence_embedding"]
    for text, embedding in zip(COMMON, expected, strict=True):
        first = embedder.embed(text).embeddings[0]
        assert first.head_name == "sentence_embedding"
        np.testing.assert_allclose(first.embedding, embedding, rtol=0, atol=1e-5)


@pytest.mark.large
@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("the DOG", True),
        ("the\u00a0dog", False),  # a space that is not ASCII
        ("the d\u00f3g", False),  # an accent
        ("the do\u00adg", False),  # a control character
        ("dog" + "s" * 97, True),
        ("dog" + "s" * 98, False),  # over 100 bytes
    ],
)
def test_texts_that_mediapipe_reads_differently(paths, text, is_same, open_in_mediapipe):
    """The vocabulary has the word for each of them, so [UNK] changes the answer."""
    classifier = open_in_mediapipe("TextClassifier", paths["classifier"])
    expected = open_export(paths["classifier"])(text=[text])["probabilities"][0]
    (head,) = classifier.classify(text).classifications
    scores = {each.category_name: each.score for each in head.categories}
    difference = max(
        abs(scores[label] - value) for label, value in zip(CLASSIFIER.labels, expected, strict=True)
    )
    assert (difference < 1e-5) == is_same


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (TaskMetadata("token_classifier", 8, True, ("A", "B")), "the model is a token_classifier"),
        (TaskMetadata("masked_lm", 8, True), "is for classifiers and encoders"),
        (dataclasses.replace(CLASSIFIER, pairs=True), "the model reads pairs"),
        (dataclasses.replace(ENCODER, pairs=True), "the model reads pairs"),
        (TaskMetadata("classifier", 8, True), "the model predicts a number"),
        (TaskMetadata("classifier", 8, True, ("a\nb", "c")), "labels without line breaks"),
    ],
)
def test_models_without_a_task_of_mediapipe(metadata, problem):
    with rejects("metadata", problem, "omit", value="mediapipe"):
        mediapipe.check_task(metadata)


@pytest.mark.parametrize(
    ("casing", "differences"),
    [
        ((True, None), ["capital letters other than A to Z", "accents", "Korean"]),
        ((True, False), ["capital letters other than A to Z"]),
        ((False, None), ["the capital letters A to Z"]),
        ((False, True), ["the capital letters A to Z", "accents", "Korean"]),
    ],
)
def test_described_differences(casing, differences):
    found = mediapipe.describe_differences(
        TaskMetadata("encoder", 8, casing[0], strip_accents=casing[1])
    )
    parts = ("capital letters other than A to Z", "the capital letters A to Z", "accents", "Korean")
    assert [part for part in parts if part in found] == differences
    assert found.endswith(" and words over 100 bytes")
    assert mediapipe.describe_differences(ENCODER, ["[X]"]).endswith(" and added tokens")
