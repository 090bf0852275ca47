"""LiteRTModel: the answers of the served models, from one file, in a process without TensorFlow."""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.export import litert
from bert_tf.litert import LiteRTModel, Metadata, compiled_graphs
from bert_tf.litert import metadata as metadata_file
from bert_tf.tasks import graphs
from tests import scripts, toy_servables
from tests.toy_servables import CONFIG, LONG, MAX_SEQ_LENGTH, REQUESTS, TEXTS, make_model, make_servable

pytestmark = pytest.mark.timeout(180)  # the first test converts six models

ALONE = """
import json, sys
from bert_tf.litert import LiteRTModel
answer = LiteRTModel(sys.argv[1])(**json.loads(sys.argv[2]))
assert not {"tensorflow", "tf_keras", "absl"} & set(sys.modules), "imported"
print(json.dumps({name: value.astype(str).tolist() for name, value in answer.items()}))
"""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return toy_servables.make_tokenizer(tmp_path_factory.mktemp("vocabulary"))


@pytest.fixture(scope="module")
def files(tokenizer, tmp_path_factory):
    """task -> path of its float32 model with two lengths, since 31 is over max_seq_length, and two batch sizes."""
    folder = tmp_path_factory.mktemp("models")
    for name in REQUESTS:
        servable = make_servable(name, tokenizer, remove_padding=False, static_length=True)
        (folder / f"{name}.tflite").write_bytes(litert.convert(servable, lengths=(7, 31), batch_sizes=(1, 3)))
        assert max(litert.largest_differences(servable, str(folder / f"{name}.tflite")).values()) < 1e-5
    return {name: str(folder / f"{name}.tflite") for name in REQUESTS}


@pytest.fixture(scope="module")
def loaded(files):
    return {name: LiteRTModel(path, num_threads=1) for name, path in files.items()}


def assert_same_answers(actual, expected, tolerance=2e-5):
    """The same names, shapes and types; equal but for rounding."""
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        value = value.numpy()
        assert (actual[name].shape, actual[name].dtype) == (value.shape, value.dtype), name
        if value.dtype.kind == "f":
            np.testing.assert_allclose(actual[name], value, rtol=0, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(actual[name], value, err_msg=name)


def answer_of(servable, request):
    return servable.answer_texts(**{name: tf.constant(value) for name, value in request.items()})


@pytest.mark.parametrize("name", REQUESTS)
def test_answers_are_those_of_the_saved_model(loaded, tokenizer, name):
    servable = make_servable(name, tokenizer)
    expected, actual = answer_of(servable, REQUESTS[name]), loaded[name](**REQUESTS[name])
    if name == "encoder":  # vectors at padding mean nothing
        mask = np.array(expected["input_mask"])[..., np.newaxis]
        actual["sequence_output"] *= mask
        expected["sequence_output"] *= mask
    assert_same_answers(actual, expected)
    assert loaded[name].kind == servable.kind
    assert loaded[name].text_inputs == servable.text_inputs


@pytest.mark.parametrize("name", REQUESTS)
def test_odd_requests_have_an_answer(loaded, tokenizer, name):
    """Bytes that are not UTF-8; no text; then no request at all."""
    odd = [b"the \xff\xfe dog \xe2\x82", b"", "the\u202fd\u00f3g\tand \u00c9".encode()]
    request = {key: [[text, b"it"] for text in odd] if key == "choices" else odd for key in REQUESTS[name]}
    expected, actual = answer_of(make_servable(name, tokenizer), request), loaded[name](**request)
    expected.pop("sequence_output", None)
    actual.pop("sequence_output", None)
    assert_same_answers(actual, expected)
    nothing = {key: [] for key in request}
    assert all(value.shape[0] == 0 for value in loaded[name](**nothing).values())


def test_several_labels_and_numbers(tokenizer, tmp_path):
    several = graphs.ServedClassifier(make_model("classifier"), tokenizer, ["x", "y", "z"], multi_label=True,
                                      max_seq_length=MAX_SEQ_LENGTH, static_length=True)
    number = graphs.ServedClassifier(models.BertClassifier(CONFIG, 1), tokenizer, [], max_seq_length=MAX_SEQ_LENGTH,
                                     static_length=True)
    for servable in (several, number):
        path = tmp_path / "model.tflite"
        path.write_bytes(litert.convert(servable, lengths=(24,), batch_sizes=(2,)))
        assert_same_answers(LiteRTModel(str(path))(text=TEXTS), answer_of(servable, {"text": TEXTS}))


@pytest.mark.parametrize("options", [{"allow_no_answer": True, "null_score_diff_threshold": -3.0},
                                     {"max_windows": 2, "top_k": 20}, {"max_answer_length": 2}])
def test_answers_to_questions_in_long_contexts(loaded, tokenizer, options, monkeypatch):
    """The search alone: other options for the same graph."""
    servable, model = make_servable("squad", tokenizer, **options), loaded["squad"]
    monkeypatch.setattr(model, "metadata", servable.litert_metadata())
    odd = "Mary\tShelley  W\u00e9nt \u2126 to\u202fLondon , and the\u0301 DOG-fox\u00adjumps . "
    contexts = [LONG, odd * 3, "\x01", "over"]
    request = {"question": ["where did it go", "?", "book", ""], "context": contexts}
    assert_same_answers(model(**request), answer_of(servable, request))


def test_more_rows_than_the_largest_batch(loaded):
    texts = [" ".join(["dog"] * (number % 23)) for number in range(17)]
    model = loaded["encoder"]
    together, alone = model(text=texts), [model(text=[text]) for text in texts]
    np.testing.assert_allclose(together["pooled_output"], np.concatenate([each["pooled_output"] for each in alone]),
                               rtol=0, atol=1e-5)


def test_threads_share_a_model(loaded):
    model, texts = loaded["tagger"], [TEXTS[:1], TEXTS[2:], TEXTS] * 5
    expected = [model(text=each)["scores"] for each in texts]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for actual, scores in zip(pool.map(lambda each: model(text=each)["scores"], texts), expected, strict=True):
            np.testing.assert_array_equal(actual, scores)


def test_a_process_without_tensorflow(files, loaded):
    for name in ("classifier", "squad"):
        done = subprocess.run([sys.executable, "-c", ALONE, files[name], json.dumps(REQUESTS[name])],
                              capture_output=True, text=True, check=False, cwd=scripts.ROOT)
        assert done.returncode == 0, done.stderr[-3000:]
        expected = {key: value.astype(str).tolist() for key, value in loaded[name](**REQUESTS[name]).items()}
        assert json.loads(done.stdout) == expected


def test_smaller_weights(tokenizer, tmp_path):
    """All matrices shrink, the tables that are looked up too; a second graph takes no second copy of them."""
    config = BertConfig(3001, 96, 1, 4, 384, max_position_embeddings=31, type_vocab_size=2)
    servable = graphs.ServedMaskedLM(models.BertPretrainer(config), tokenizer, top_k=3, max_seq_length=MAX_SEQ_LENGTH,
                                     static_length=True)
    expected, sizes = answer_of(servable, REQUESTS["masked_lm"])["probabilities"][:, :2], {}
    for weights, tolerance in (("float32", 1e-5), ("float16", 1e-3), ("int8", 0.05)):
        path = tmp_path / f"{weights}.tflite"
        path.write_bytes(litert.convert(servable, weights, lengths=(8, 16), batch_sizes=(1,)))
        sizes[weights] = path.stat().st_size
        answer = LiteRTModel(str(path))(**REQUESTS["masked_lm"])["probabilities"]
        np.testing.assert_allclose(answer, expected, rtol=0, atol=tolerance)
    weights_of_answers = 4 * sum(np.prod(variable.shape) for variable in servable.model.variables
                                 if not variable.name.startswith(("bert/pooler", "cls/seq_relationship")))
    room = 500_000  # graphs, names, vocabulary
    assert sizes["float32"] < weights_of_answers + room
    assert sizes["float16"] < weights_of_answers / 2 + room
    assert sizes["int8"] < weights_of_answers / 4 + room


def test_metadata_is_read_back(files, tmp_path):
    metadata, vocabulary = metadata_file.read(files["squad"])
    assert metadata == Metadata("span_labeler", MAX_SEQ_LENGTH, True, True, 16, doc_stride=4, max_query_length=6)
    assert vocabulary == toy_servables.PIECES.split()
    path = tmp_path / "m"
    other, pieces = Metadata("x", 4, False, False, 8, labels=("\u00e4", "b")), ["\u4e2d", "a"]
    path.write_bytes(metadata_file.append(b"graphs", other, pieces))
    assert path.read_bytes().startswith(b"graphs")
    assert metadata_file.read(path) == (other, pieces)
    with pytest.raises(ValueError, match="is a model of kind 'x', which is not one of classifier"):
        LiteRTModel(str(path))


def test_files_that_are_none(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(b"TFL3")
    with pytest.raises(ValueError, match=r"m\.tflite: is not a LiteRT model that answers text"):
        LiteRTModel(str(path))
    nothing = Metadata("encoder", 4, False, False, 8)
    path.write_bytes(metadata_file.append(b"no graphs", nothing, toy_servables.PIECES.split()))
    with pytest.raises(ValueError, match=r"m\.tflite: is not a LiteRT model: "):
        LiteRTModel(str(path))
    with pytest.raises(OSError, match="nowhere"):
        LiteRTModel(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(("name", "request_", "message"), [
    ("encoder", {}, "inputs none: a model of kind encoder takes text"),
    ("encoder", {"text_a": ["a"]}, "inputs text_a: a model of kind encoder takes text"),
    ("encoder", {"text": "a"}, "`text` must be a list of texts, not str"),
    ("encoder", {"text": ["a", 3]}, "`text` must hold texts, not int"),
    ("classifier", {"text_a": ["a", "b"], "text_b": ["c"]}, "`text_b` must hold as many examples as `text_a`"),
    ("choice", {"text_a": ["a", "b"], "choices": [["c"], ["d", "e"]]}, "`choices` must hold as many texts in each row"),
    ("choice", {"text_a": ["a"], "choices": [[]]}, "`choices` must hold at least one text in each row"),
    ("choice", {"text_a": ["a"], "choices": ["b"]}, "`choices` must be a list of texts, not str"),
])
def test_requests_that_are_refused(loaded, name, request_, message):
    with pytest.raises(ValueError, match=message):
        loaded[name](**request_)


@pytest.mark.parametrize(("options", "message"), [
    ({"weights": "bfloat16"}, "`weights`=bfloat16: it must be one of float32, float16, int8"),
    ({"lengths": ()}, "whole numbers over 0 are needed"), ({"batch_sizes": (0,)}, "whole numbers over 0 are needed"),
])
def test_conversions_that_are_refused(tokenizer, options, message):
    servable = make_servable("squad", tokenizer, remove_padding=False, static_length=True)
    with pytest.raises(ValueError, match=message):
        litert.convert(servable, **options)


def test_a_conversion_needs_static_lengths(tokenizer):
    with pytest.raises(ValueError, match="a LiteRT model has fixed lengths"):
        litert.convert(make_servable("squad", tokenizer))


def test_the_model_is_as_before(tokenizer):
    servable = make_servable("tagger", tokenizer, remove_padding=False, static_length=True)
    before = [set(vars(layer)) for layer in servable.model.submodules]
    expected = servable.answer_texts(text=tf.constant(TEXTS))["scores"].numpy()
    litert.convert(servable, lengths=(24,), batch_sizes=(1,))
    np.testing.assert_array_equal(servable.answer_texts(text=tf.constant(TEXTS))["scores"], expected)
    assert [set(vars(layer)) for layer in servable.model.submodules] == before


@pytest.mark.parametrize("offset", [40, 400])
def test_damaged_graphs_are_not_opened(files, tmp_path, offset, monkeypatch):
    """LiteRT would end the process."""
    content = bytearray(pathlib.Path(files["encoder"]).read_bytes())
    content[offset : offset + 6] = bytes(255 - byte for byte in content[offset : offset + 6])
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    monkeypatch.setattr(compiled_graphs, "CompiledGraphs", lambda *arguments: pytest.fail("it must not be opened"))
    with pytest.raises(InputError, match=r"m\.tflite: is damaged: its graphs do not match their checksum; copy or"):
        LiteRTModel(str(path))


def test_a_file_without_a_checksum(files, tmp_path, monkeypatch):
    """As earlier versions wrote it."""
    metadata, vocabulary = metadata_file.read(files["encoder"])
    with zipfile.ZipFile(files["encoder"]) as archive:
        graphs = pathlib.Path(files["encoder"]).read_bytes()[: archive.getinfo("bert_tf.json").header_offset]
    path, same = tmp_path / "m.tflite", tmp_path / "same.tflite"
    same.write_bytes(metadata_file.append(graphs, metadata, vocabulary))
    assert same.read_bytes() == pathlib.Path(files["encoder"]).read_bytes()
    monkeypatch.setattr(metadata_file.zlib, "crc32", lambda *arguments: None)
    path.write_bytes(metadata_file.append(graphs, metadata, vocabulary))
    monkeypatch.undo()
    assert metadata_file.read(path) == (metadata, vocabulary)
    LiteRTModel(str(path))


@pytest.mark.parametrize("damage", ["nested", "large"])
def test_a_file_that_would_fill_the_memory(damage, tmp_path, monkeypatch):
    path = tmp_path / "m.tflite"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bert_tf.json", "[" * 100_000 if damage == "nested" else " " * 5000)
    monkeypatch.setattr(metadata_file, "MOST_BYTES", 1 << 20 if damage == "nested" else 4999)
    with pytest.raises(InputError, match=r"m\.tflite: is not a LiteRT model that answers text"):
        metadata_file.read(path)
