"""Directories of sentence-transformers: pooling in `encode`, in predictions, and in exports."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of an export's tokenizer

import bert_tf
from bert_tf.checkpoints import ModelDirectory
from bert_tf.layers import zero_weights
from bert_tf.serving import checkpoint, litert, saved_model
from run.inference.served_models import resolve_checkpoint
from tests.errors import Message, raises_message, rejects

TEXTS = ["the quick brown fox", "a lazy dog jumps over the film", "what a good film", "bad"]
MEAN, MAX, CLS = (
    {f"pooling_mode_{name}": True} for name in ("mean_tokens", "max_tokens", "cls_token")
)


@pytest.fixture
def written(tmp_path, reference):
    """(pooling, modules, settings=, prompts=) -> a new directory of sentence-transformers."""

    def write(
        pooling=MEAN, modules=("models.Transformer", "models.Pooling"), settings=None, prompts=None
    ):
        folder = tmp_path / f"model{len([*tmp_path.iterdir()])}"
        shutil.copytree(reference / "hf_tasks" / "masked", folder)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(reference / "hf_tasks" / "classifier" / name, folder)
        paths = ["", "1_Pooling", "2_Normalize"]
        contents = {
            "modules.json": [
                {"idx": number, "path": path, "type": f"sentence_transformers.{name}"}
                for number, (name, path) in enumerate(zip(modules, paths, strict=False))
            ],
            "1_Pooling/config.json": {"word_embedding_dimension": 12} | pooling,
            "sentence_bert_config.json": settings,
            "config_sentence_transformers.json": prompts,
        }
        (folder / "1_Pooling").mkdir()
        for name, content in contents.items():
            if content is not None:
                (folder / name).write_text(json.dumps(content))
        return str(folder)

    return write


def compute_outputs(folder, text, length=40):
    """Returns the outputs of the last layer for the tokens of one text, float32 [tokens, H]."""
    tokenizer = bert_tf.BertTokenizer.from_pretrained(folder)
    features = tokenizer.encode([text], max_seq_length=length)
    features = {
        name: value[:, : features["input_mask"].numpy().sum()] for name, value in features.items()
    }
    return bert_tf.BertEncoder.from_pretrained(folder, fast=False)(features)["sequence_output"][
        0
    ].numpy()


POOLINGS = {
    "mean": lambda states: states.mean(axis=0),
    "max": lambda states: states.max(axis=0),
    "cls": lambda states: states[0],
}


@pytest.mark.large
@pytest.mark.parametrize(
    ("pooling", "name", "normalize"),
    [
        (MEAN, "mean", False),
        (CLS, "cls", True),
        ({"pooling_mode": "max"}, "max", False),
        ({"pooling_mode": ["cls"]}, "cls", True),
    ],
)
@pytest.mark.filterwarnings("ignore:.*lacks bert/pooler")
def test_embeddings(written, pooling, name, normalize):
    modules = ["base.modules.transformer.Transformer", "models.Pooling", "models.Normalize"][
        : 2 + normalize
    ]
    folder = written(pooling, modules)
    expected = np.array([POOLINGS[name](compute_outputs(folder, text)) for text in TEXTS])
    if normalize:
        expected /= np.sqrt((expected**2).sum(axis=1, keepdims=True))
    model = bert_tf.load(folder)
    assert (model.kind, model.limit) == ("encoder", 40)
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=1e-5)
    assert model.encode([]).shape == (0, 12)
    answer = model(text=TEXTS)
    np.testing.assert_allclose(answer["sentence_embedding"], expected, atol=1e-5)
    np.testing.assert_allclose(
        [row["sentence_embedding"] for row in model.predict(text=TEXTS)], expected, atol=1e-5
    )


@pytest.mark.large
def test_a_missing_pooler_has_the_initial_weights_of_an_encoder(written):
    options = resolve_checkpoint(written()).servable_options
    served = checkpoint.load_servable(**options).model
    created = bert_tf.BertEncoder(options["config"])
    with zero_weights():
        zeros = bert_tf.BertEncoder(options["config"])
    for weight, other, zero in zip(
        served.pooler.weights, created.pooler.weights, zeros.pooler.weights, strict=True
    ):
        np.testing.assert_array_equal(weight.numpy(), other.numpy())
        assert not zero.numpy().any()
    assert created.pooler.kernel.numpy().any()


@pytest.mark.extra_large
@pytest.mark.parametrize("pooling", [MEAN, MAX, CLS])
def test_exports(written, tmp_path, pooling):
    folder = written(
        pooling, ["models.Transformer", "models.Pooling", "models.Normalize"], {"max_seq_length": 6}
    )
    expected = bert_tf.load(folder).encode(TEXTS[:1] + TEXTS[2:])
    options = resolve_checkpoint(folder).servable_options
    path, _ = saved_model.save(checkpoint.load_servable(**options), str(tmp_path / "served"))
    signature = tf.saved_model.load(path).signatures["serving_default"]
    np.testing.assert_allclose(
        signature(text=tf.constant(TEXTS))["sentence_embedding"].numpy()[[0, 2, 3]],
        expected,
        atol=1e-5,
    )
    lite = tmp_path / "model.tflite"
    servable = checkpoint.load_servable(**options | {"static_length": True, "layer": "litert"})
    lite.write_bytes(litert.convert_servable(servable, lengths=[6], batch_sizes=[1]))
    for exported in (path, str(lite)):
        model = bert_tf.load(exported)
        assert model.limit == 6
        answer = model(text=TEXTS)
        assert answer["was_cut"].tolist() == [False, True, False, False]
        np.testing.assert_allclose(answer["sentence_embedding"][[0, 2, 3]], expected, atol=1e-5)
        np.testing.assert_allclose(model.encode(TEXTS[:1] + TEXTS[2:]), expected, atol=1e-5)
        rows = model.predict(text=TEXTS[:1] + TEXTS[2:])
        np.testing.assert_allclose(
            [row["sentence_embedding"] for row in rows], expected, rtol=0, atol=1e-5
        )
        assert model(text=[])["sentence_embedding"].shape == (0, 12)


def test_a_task_file_takes_precedence(written, tmp_path):
    folder = written()
    assert ModelDirectory.open(folder).served_task.source == "modules.json"
    assert ModelDirectory.open(folder).task.kind == "masked_lm"
    (tmp_path / "model0" / "task.json").write_text(
        json.dumps({"kind": "encoder", "max_seq_length": 8, "do_lower_case": True})
    )
    assert ModelDirectory.open(folder).served_task.sentence_pooling is None


def test_an_incomplete_download(written):
    folder = written()
    shutil.rmtree(f"{folder}/1_Pooling")
    with rejects(
        f"{folder}/1_Pooling/config.json", "does not exist", "download the complete directory"
    ):
        bert_tf.load(folder)


def test_other_tasks_do_not_depend_on_the_pooling(written):
    folder = written({}, ["models.Transformer", "models.Pooling", "models.Dense"])
    assert bert_tf.BertClassifier.from_pretrained(folder, num_labels=2).num_labels == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"modules": ["models.Transformer", "models.WordWeights"]},
            Message(
                "modules.json",
                "the modules are Transformer, WordWeights",
                "only Transformer, Pooling, and Normalize",
            ),
        ),
        ({"modules": []}, Message("modules.json", "the modules are none", "only Transformer")),
        (
            {"pooling": MEAN | MAX},
            Message("1_Pooling/config.json", "the pooling is ['mean', 'max']", "must be one of"),
        ),
        (
            {"pooling": {"pooling_mode_lasttoken": True}},
            Message(
                "1_Pooling/config.json",
                "the pooling is ['lasttoken']",
                "must be one of mean",
                "max",
                "cls",
            ),
        ),
        (
            {"settings": {"max_seq_length": "9"}},
            Message("sentence_bert_config.json", "max_seq_length is '9'", "must be an integer or"),
        ),
        (
            {"prompts": {"default_prompt_name": "query"}},
            Message(
                "config_sentence_transformers.json",
                "default_prompt_name is 'query'",
                "only null is supported",
            ),
        ),
    ],
)
def test_unsupported_models(written, arguments, message):
    folder = written(**arguments)
    with raises_message(message):
        bert_tf.load(folder)


def test_invalid_modules(tmp_path):
    (tmp_path / "modules.json").write_text('{"path": ""}')
    with rejects(f"{tmp_path}/modules.json", "list of modules", "a type and a path"):
        _ = ModelDirectory.open(tmp_path).served_task
