"""Exports of every task: each signature answers as the training model does, where this project cannot be imported."""

import dataclasses
import json
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import export, models
from bert_tf.config import BertConfig
from bert_tf.export import saved_model
from bert_tf.files.remote import Remote
from bert_tf.tasks import KINDS, graphs
from tests import gpu_kernels, toy_servables
from tests.encoders import make_encoder
from tests.toy_servables import CONFIG, MAX_SEQ_LENGTH, PIECES, REQUESTS, TEXTS, TOP_K, make_model, make_servable

pytestmark = pytest.mark.timeout(180)  # the first test exports six models, and another process loads them

# Without the site module no editable install is seen: site-packages is only a folder of modules.
ISOLATED = """
import json, sys
sys.path.append(sys.argv[1])
import numpy as np, tensorflow as tf, tensorflow_text
try:
    import bert_tf
    sys.exit("bert_tf can be imported")
except ImportError:
    pass
from tensorflow_serving.apis import prediction_log_pb2
for name, request in json.loads(sys.argv[3]).items():
    model = tf.saved_model.load(f"{sys.argv[2]}/{name}/1")
    request = {key: tf.constant(value) for key, value in request.items()}
    answers = {"texts": model.signatures["serving_default"](**request)}
    for record in tf.data.TFRecordDataset(f"{sys.argv[2]}/{name}/1/assets.extra/tf_serving_warmup_requests"):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        assert request.model_spec.name == name
        signature = request.model_spec.signature_name
        inputs = {key: tf.constant(tf.make_ndarray(value)) for key, value in request.inputs.items()}
        answers[signature] = model.signatures[signature](**inputs)
    np.savez(f"{sys.argv[2]}/{name}.npz", **{
        f"{signature}/{key}": value.numpy() for signature, answer in answers.items() for key, value in answer.items()})
"""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return toy_servables.make_tokenizer(tmp_path_factory.mktemp("vocabulary"))


@pytest.fixture(scope="module")
def served(tokenizer, tmp_path_factory):
    """A folder with the export of each task, version 1."""
    folder = tmp_path_factory.mktemp("served")
    for name in REQUESTS:
        path, has_warmup = export.save(make_servable(name, tokenizer), str(folder / name))
        assert path == str(folder / name / "1")
        assert has_warmup
    return folder


@pytest.fixture(scope="module")
def answers(served):
    """task -> "signature/output" -> array, from a process without this project; "texts" are those of REQUESTS."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ISOLATED, sysconfig.get_paths()["purelib"], served, json.dumps(REQUESTS)],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: dict(np.load(served / f"{name}.npz", allow_pickle=True)) for name in REQUESTS}


@pytest.fixture(scope="module")
def loaded(served):
    """task -> the signatures of its export."""
    return {name: tf.saved_model.load(str(served / name / "1")).signatures for name in REQUESTS}


@pytest.fixture(scope="module")
def wide_model():
    """A classifier whose bytes are nearly all in matrices."""
    return models.BertClassifier(dataclasses.replace(CONFIG, vocab_size=3001, hidden_size=32), 3)


def assert_near(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


def test_outputs_tell_the_kind(loaded, tokenizer):
    for name, signatures in loaded.items():
        outputs = signatures["serving_default"].structured_outputs
        found = [kind.name for kind in KINDS.values() if not kind.signature.isdisjoint(outputs)]
        assert found == [make_servable(name, tokenizer).kind]


def test_classifier(answers, tokenizer):
    request, answer = REQUESTS["classifier"], answers["classifier"]
    features = tokenizer.encode(request["text_a"], request["text_b"], MAX_SEQ_LENGTH)
    expected = tf.nn.softmax(make_model("classifier")(features)["logits"]).numpy()
    assert_near(answer["texts/probabilities"], expected)
    assert answer["texts/label"].tolist() == [b"xyz"[number : number + 1] for number in expected.argmax(axis=1)]
    assert answer["texts/labels"].tolist() == [[b"x", b"y", b"z"]] * 4
    assert answer["texts/was_cut"].tolist() == [False, False, True, False]


def test_encoder(answers, tokenizer):
    features = tokenizer.encode(TEXTS, max_seq_length=MAX_SEQ_LENGTH)
    expected, answer = make_model("encoder")(features), answers["encoder"]
    assert_near(answer["texts/pooled_output"], expected["pooled_output"])
    mask = features["input_mask"].numpy()
    np.testing.assert_array_equal(answer["texts/input_mask"], mask)  # the longest fills it
    assert_near(answer["texts/sequence_output"][mask > 0], expected["sequence_output"].numpy()[mask > 0])
    assert answer["texts/pieces"][0, :8].tolist() == [b"[CLS]", b"the", b"dog", b",", b"jump", b"##ing", b".", b"[SEP]"]


def test_masked_lm(answers, tokenizer):
    answer, vocabulary = answers["masked_lm"], tokenizer.vocabulary
    ids = [vocabulary.index(piece) for piece in ("[CLS]", "the", "[MASK]", "is", "[MASK]", "[SEP]")]
    logits = make_model("masked_lm")({"input_ids": tf.constant([ids]), "input_mask": tf.ones([1, 6], tf.int32),
                                      "segment_ids": tf.zeros([1, 6], tf.int32),
                                      "masked_lm_positions": tf.constant([[2, 4]])})["masked_lm_logits"]
    # Entries of the config that no piece has cannot be answers.
    expected, best = tf.math.top_k(tf.nn.softmax(logits)[..., : len(vocabulary)], TOP_K)
    assert answer["texts/num_masks"].tolist() == [2, 0, 1, 0]
    assert answer["texts/was_cut"].tolist() == [False, False, False, True]
    assert answer["texts/probabilities"].shape == (4, 2, TOP_K)
    assert_near(answer["texts/probabilities"][0], expected[0])
    np.testing.assert_array_equal(answer["texts/piece_ids"][0], best[0])
    assert answer["texts/pieces"][0].tolist() == [
        [vocabulary[piece].encode() for piece in row] for row in best[0].numpy()]
    assert answer["texts/pieces"][2, 1].tolist() == [b""] * TOP_K
    assert answer["texts/probabilities"][1].sum() == 0


def test_tagger(answers, tokenizer):
    answer = answers["tagger"]
    features = tokenizer.encode(TEXTS, max_seq_length=MAX_SEQ_LENGTH)
    probabilities = tf.nn.softmax(make_model("tagger")(features)["logits"]).numpy()
    assert answer["texts/num_words"].tolist() == [3, 0, 40, 5]
    assert answer["texts/was_cut"].tolist() == [False, False, True, False]
    assert answer["texts/words"][0, :4].tolist() == [b"The", b"dog,", b"jumping.", b""]
    first_pieces = [1, 2, 4]  # of [CLS] the dog , jump ##ing . [SEP]
    tags = np.array(list("ABCDE"), "S1")[probabilities[0, first_pieces].argmax(axis=-1)]
    assert answer["texts/tags"][0, :4].tolist() == [*tags.tolist(), b""]
    assert_near(answer["texts/scores"][0, :4], [*probabilities[0, first_pieces].max(axis=-1), 0])
    # 22 pieces are kept of ten words of eleven pieces each time: "jumps" and "." are jump ##s and .
    assert [tag != b"" for tag in answer["texts/tags"][2, 18:22]] == [True, True, False, False]


def test_a_word_without_a_piece_is_unknown(loaded, tokenizer):
    answer = loaded["tagger"]["serving_default"](text=tf.constant(["the \x01 dog"]))
    ids = [tokenizer.vocabulary.index(piece) for piece in ("[CLS]", "the", "[UNK]", "dog", "[SEP]")]
    logits = make_model("tagger")({"input_ids": tf.constant([ids]), "input_mask": tf.ones([1, 5], tf.int32),
                                   "segment_ids": tf.zeros([1, 5], tf.int32)})["logits"]
    assert_near(answer["scores"], tf.reduce_max(tf.nn.softmax(logits), axis=-1)[:, 1:4])


def test_multiple_choice(answers, tokenizer):
    answer, request = answers["choice"], REQUESTS["choice"]
    flat = tokenizer.encode(np.repeat(TEXTS, 2), np.ravel(request["choices"]), MAX_SEQ_LENGTH)
    features = {name: tf.reshape(value, [4, 2, -1]) for name, value in flat.items()}
    expected = tf.nn.softmax(make_model("choice")(features)["logits"]).numpy()
    assert_near(answer["texts/probabilities"], expected)
    np.testing.assert_array_equal(answer["texts/choice"], expected.argmax(axis=1))
    assert answer["texts/was_cut"].tolist() == [False, False, True, False]


@pytest.mark.parametrize("name", REQUESTS)
def test_ids_and_examples_and_warmup(answers, tokenizer, name):
    """The warm-up file holds a request for each signature; those of ids and tf_example have the same answer."""
    answer = answers[name]
    outputs = {key.split("/")[1] for key in answer if key.startswith("ids/")}
    for output in outputs:
        np.testing.assert_array_equal(answer[f"ids/{output}"], answer[f"tf_example/{output}"])
    if name == "squad":
        features = saved_model.example_requests(make_servable(name, tokenizer))["ids"]
        model = make_model(name)
        sequence = model.encoder(features)["sequence_output"]
        expected = model.head(tf.reshape(sequence, [-1, 16])).numpy().reshape([*sequence.shape[:2], 2])
        real = features["input_mask"] > 0
        assert_near(answer["ids/start_logits"][real], expected[..., 0][real])
        assert_near(answer["ids/end_logits"][real], expected[..., 1][real])
    else:
        shared = outputs - {"tags", "labels"} if name != "tagger" else set()
        for output in shared:
            np.testing.assert_array_equal(answer[f"ids/{output}"], answer[f"serving_default/{output}"])


def test_saved_model_cli_shows_the_signatures(served):
    output = subprocess.run(
        [sys.executable, "-m", "tensorflow.python.tools.saved_model_cli", "show", "--all", "--dir",
         served / "choice" / "1"], capture_output=True, text=True, check=True).stdout
    words = " ".join(output.split())
    for text in ("signature_def['serving_default']", "signature_def['ids']", "signature_def['tf_example']",
                 "inputs['choices'] tensor_info: dtype: DT_STRING shape: (-1, -1)",
                 "inputs['input_ids'] tensor_info: dtype: DT_INT32 shape: (-1, -1, -1)",
                 "inputs['examples'] tensor_info"):
        assert text in words


def test_vocabulary_and_config_are_assets(served):
    assets = served / "tagger" / "1" / "assets"
    assert (assets / "vocab.txt").read_text().split() == PIECES.split()
    assert BertConfig.from_json_file(assets / "bert_config.json") == CONFIG


@pytest.mark.parametrize("name", REQUESTS)
def test_odd_requests_have_an_answer(loaded, name):
    """No text, 10,000 words and bytes that are not UTF-8; then no request at all."""
    odd = [b"", b"dog " * 10_000, b"the \xff\xfe dog \xe2\x82"]
    request = {key: [[text, b"it"] for text in odd] if key == "choices" else odd for key in REQUESTS[name]}
    answer = loaded[name]["serving_default"](**{key: tf.constant(value) for key, value in request.items()})
    assert answer["was_cut"].numpy().tolist() == [False, True, False]
    for value in answer.values():
        assert value.shape[0] == 3
        assert value.dtype == tf.string or np.isfinite(value.numpy().astype(float)).all()
    clean = {key: [[b"the  dog ", b"it"]] if key == "choices" else [b"the  dog "] for key in request}
    expected = loaded[name]["serving_default"](**{key: tf.constant(value) for key, value in clean.items()})
    for key in set(expected) & {"probabilities", "pooled_output", "score"}:
        assert_near(answer[key][2:], expected[key])
    nothing = {key: tf.zeros([0, 2] if key == "choices" else [0], tf.string) for key in request}
    assert all(value.shape[0] == 0 for value in loaded[name]["serving_default"](**nothing).values())


@pytest.mark.parametrize(("name", "request_"), [
    ("classifier", {"text_a": ["a", "b"], "text_b": ["c"]}),
    ("choice", {"text_a": ["a"], "choices": [["c", "d"], ["e", "f"]]}),
    ("squad", {"question": ["a", "b"], "context": ["c", "d", "e"]}),
])
def test_texts_of_different_batch_sizes(loaded, name, request_):
    first, second = request_
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{second} must hold as many examples as {first}"):
        loaded[name]["serving_default"](**{key: tf.constant(value) for key, value in request_.items()})


@pytest.mark.parametrize(("changes", "message"), [
    ({"input_mask": np.ones([2, 4])}, "input_mask must have the shape of input_ids"),
    ({"input_ids": np.full([2, 5], 99)}, f"input_ids must be below {CONFIG.vocab_size}"),
    ({"input_ids": np.full([2, 5], -1)}, "input_ids must not be negative"),
    ({"segment_ids": np.full([2, 5], 2)}, "segment_ids must be below 2"),
    ({name: np.ones([2, 32]) for name in ("input_ids", "input_mask", "segment_ids")}, "max_position_embeddings, 31"),
    ({name: np.ones([2, 0]) for name in ("input_ids", "input_mask", "segment_ids")}, "input_ids have no columns"),
])
def test_ids_that_are_refused(loaded, changes, message):
    features = {name: np.ones([2, 5]) for name in ("input_ids", "input_mask", "segment_ids")} | changes
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        loaded["classifier"]["ids"](**{name: tf.constant(value, tf.int32) for name, value in features.items()})


def test_examples_that_are_refused(loaded):
    answer = loaded["classifier"]["tf_example"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
        answer(examples=tf.constant([b"no example"]))
    ids = tf.train.Feature(int64_list=tf.train.Int64List(value=[2, 5, 3]))
    example = tf.train.Example(features=tf.train.Features(feature={"input_ids": ids}))
    with pytest.raises(tf.errors.InvalidArgumentError, match="input_mask must be as long as input_ids"):
        answer(examples=tf.constant([example.SerializeToString()]))
    for ids, message in (([2, 2**32 + 5, 3], r"input_ids must be below 2\^31"),
                         ([2, 5 - 2**32], "must not be negative"), ([], "an example has no input_ids")):
        features = {name: tf.train.Feature(int64_list=tf.train.Int64List(value=values)) for name, values in (
            ("input_ids", ids), ("input_mask", [1] * len(ids)), ("segment_ids", [0] * len(ids)))}
        example = tf.train.Example(features=tf.train.Features(feature=features if ids else {}))
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            answer(examples=tf.constant([example.SerializeToString()]))


def test_several_labels_and_numbers(tokenizer):
    model_of_three = make_model("classifier")
    several = graphs.ServedClassifier(model_of_three, tokenizer, ["x", "y", "z"], multi_label=True,
                                      max_seq_length=MAX_SEQ_LENGTH)
    logits = model_of_three(tokenizer.encode(TEXTS, max_seq_length=MAX_SEQ_LENGTH))["logits"].numpy()
    answer = several.answer_texts(text=tf.constant(TEXTS))
    assert_near(answer["probabilities"], 1 / (1 + np.exp(-logits)))
    np.testing.assert_array_equal(answer["has_label"], logits > 0)
    model = models.BertClassifier(CONFIG, 1)
    number = graphs.ServedClassifier(model, tokenizer, [], max_seq_length=MAX_SEQ_LENGTH)
    expected = model(tokenizer.encode(TEXTS, max_seq_length=MAX_SEQ_LENGTH))["logits"][:, 0]
    assert_near(number.answer_texts(text=tf.constant(TEXTS))["value"], expected)
    with pytest.raises(ValueError, match="there are 2 labels, and the model has 3 outputs"):
        graphs.ServedClassifier(model_of_three, tokenizer, ["x", "y"], max_seq_length=MAX_SEQ_LENGTH)


@pytest.mark.parametrize(("weights", "ratio", "tolerance"), [("bfloat16", 0.55, 0.02), ("int8", 0.35, 0.05)])
def test_smaller_weights(wide_model, tokenizer, tmp_path, weights, ratio, tolerance):
    """Half and a quarter of the matrices' bytes; answers by both of TensorFlow's loaders; the model stays whole."""
    servable = graphs.ServedClassifier(wide_model, tokenizer, ["x", "y", "z"], max_seq_length=MAX_SEQ_LENGTH)
    expected = servable.answer_texts(text=tf.constant(TEXTS))["probabilities"].numpy()
    path, _ = export.save(servable, str(tmp_path / "small"), weights=weights)
    np.testing.assert_array_equal(servable.answer_texts(text=tf.constant(TEXTS))["probabilities"], expected)
    answer = tf.saved_model.load(path).signatures["serving_default"](text=tf.constant(TEXTS))["probabilities"].numpy()
    assert 0 < np.abs(answer - expected).max() < tolerance

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:  # restores and initialises as the server does
        graph = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
        assert_near(session.run(graph.outputs["probabilities"].name, {graph.inputs["text"].name: TEXTS}), answer)

    size = (tmp_path / "small" / "1" / "variables" / "variables.data-00000-of-00001").stat().st_size
    assert size < ratio * 4 * wide_model.count_params()


@pytest.mark.parametrize(("weights", "ratio"), [("float32", 1.05), ("bfloat16", 0.55), ("int8", 0.35)])
def test_products_in_bfloat16(wide_model, tokenizer, tmp_path, weights, ratio):
    """However they are stored: kernels are held in bfloat16, not cast at a request; scores are float32."""
    plain = graphs.ServedClassifier(wide_model, tokenizer, ["x", "y", "z"], max_seq_length=MAX_SEQ_LENGTH)
    expected = plain.answer_texts(text=tf.constant(TEXTS))["probabilities"].numpy()
    model = models.BertClassifier(models.BertEncoder(wide_model.encoder.config, dtype="mixed_bfloat16"), 3)
    for variable, value in zip(model.variables, wide_model.variables, strict=True):
        variable.assign(value)
    servable = graphs.ServedClassifier(model, tokenizer, ["x", "y", "z"], max_seq_length=MAX_SEQ_LENGTH)
    path, _ = export.save(servable, str(tmp_path / "small"), weights=weights)
    assert all(variable.dtype != tf.bfloat16 for variable in model.variables)
    signature = tf.saved_model.load(path).signatures["serving_default"]
    answer = signature(text=tf.constant(TEXTS))["probabilities"]
    assert answer.dtype == tf.float32
    assert 0 < np.abs(answer - expected).max() < 0.05

    products = [operation for operation in gpu_kernels.operations(signature.graph) if operation.type == "MatMul"
                and operation.get_attr("T") == tf.bfloat16]
    assert len(products) == 4 * model.encoder.config.num_hidden_layers + 1  # and the pooler
    for product in products:
        kernel = product.inputs[1].op
        while kernel.type in ("EnsureShape", "Identity"):
            kernel = kernel.inputs[0].op
        assert kernel.type == "ReadVariableOp"
    size = (tmp_path / "small" / "1" / "variables" / "variables.data-00000-of-00001").stat().st_size
    assert size < ratio * 4 * wide_model.count_params()


@pytest.mark.parametrize("name", ["encoder", "masked_lm"])
def test_answers_of_bfloat16_are_float32(tokenizer, tmp_path, name):
    encoder = make_encoder(CONFIG, remove_padding=True, float32_scores=True, dtype="mixed_bfloat16")
    model = encoder if name == "encoder" else models.BertPretrainer(encoder)
    serve = {"encoder": graphs.ServedEncoder, "masked_lm": graphs.ServedMaskedLM}[name]
    answer = serve(model, tokenizer, max_seq_length=MAX_SEQ_LENGTH).answer_texts(text=tf.constant(["a [MASK] dog"]))
    found = {key: value for key, value in answer.items() if value.dtype.is_floating}
    assert found
    assert all(value.dtype == tf.float32 for value in found.values())
    if name == "masked_lm":  # scores of 8 bits would often be equal
        assert len(np.unique(model({**encoder_features(), "masked_lm_positions": tf.constant([[1, 2, 3]])})[
            "masked_lm_logits"][0, 0])) == CONFIG.vocab_size


def encoder_features():
    return {"input_ids": tf.constant([[2, 5, 6, 3]]), "input_mask": tf.ones([1, 4], tf.int32),
            "segment_ids": tf.zeros([1, 4], tf.int32)}


def test_static_length(tokenizer):
    """Every input has max_seq_length columns; the answer is the same."""
    signatures = make_servable("tagger", tokenizer, remove_padding=False, static_length=True).signatures()
    dynamic = make_servable("tagger", tokenizer).signatures()
    assert signatures["ids"].inputs[0].shape == [None, MAX_SEQ_LENGTH]
    static, expected = (each["serving_default"](text=tf.constant(TEXTS)) for each in (signatures, dynamic))
    np.testing.assert_array_equal(static["tags"], expected["tags"])
    assert_near(static["scores"], expected["scores"])
    examples = [tf.train.Example(features=tf.train.Features(feature={
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=[1] * length))
        for name in ("input_ids", "input_mask", "segment_ids")})).SerializeToString()
        for length in (5, MAX_SEQ_LENGTH + 1)]
    assert signatures["tf_example"](examples=tf.constant(examples[:1]))["tags"].shape == [1, MAX_SEQ_LENGTH]
    with pytest.raises(tf.errors.InvalidArgumentError, match="an example is longer than 24"):
        signatures["tf_example"](examples=tf.constant(examples))


def test_versions(tokenizer, tmp_path, monkeypatch):
    """Versions count up, none is overwritten; without tensorflow-serving-api there is no warm-up file."""
    servable = make_servable("encoder", tokenizer)
    monkeypatch.setattr(servable, "signatures", lambda: {"ids": tf.function(lambda: {"x": 1}).get_concrete_function()})
    (tmp_path / "6").mkdir()
    monkeypatch.setattr(saved_model, "can_write_warmup", lambda: False)
    assert export.save(servable, str(tmp_path)) == (str(tmp_path / "7"), False)
    assert not (tmp_path / "7" / "assets.extra").exists()
    with pytest.raises(ValueError, match="6: exists; choose another version"):
        export.save(servable, str(tmp_path), version=6)
    with pytest.raises(ValueError, match="`weights`=float16: it must be one of float32, bfloat16, int8"):
        export.save(servable, str(tmp_path), weights="float16")


def test_a_remote_export_is_loaded(tokenizer, tmp_path, monkeypatch):
    servable, folder = make_servable("encoder", tokenizer), f"ram://{tmp_path.name}-served"
    uploaded, upload = [], Remote.upload
    monkeypatch.setattr(Remote, "upload", lambda place, local: uploaded.append(place.path) or upload(place, local))
    assert export.save(servable, folder)[0] == f"{folder}/1"
    assert uploaded[-1] == f"{folder}/1/saved_model.pb"
    assert export.save(servable, folder)[0] == f"{folder}/2"
    with pytest.raises(ValueError, match=rf"{folder}/2: exists; choose another version"):
        export.save(servable, folder, version=2)
    answer = tf.saved_model.load(f"{folder}/2").signatures["serving_default"](text=tf.constant(["the film"]))
    expected = servable.answer_texts(text=tf.constant(["the film"]))
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(answer[name], expected[name], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "options", "message"), [
    ("encoder", {"max_seq_length": 32}, "from 4 to max_position_embeddings, 31"),
    ("squad", {"max_seq_length": 9}, "`max_seq_length`=9: it must be over `max_query_length` [+] 3, 9"),
])
def test_options_that_are_refused(tokenizer, name, options, message):
    with pytest.raises(ValueError, match=message):
        make_servable(name, tokenizer, **options)
