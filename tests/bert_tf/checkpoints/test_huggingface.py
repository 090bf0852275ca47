"""Files of Hugging Face: BERT, DistilBERT without segment types, and ELECTRA with projections.

transformers wrote `hf_tiny` and `hf_relatives`, and computed the expected outputs, within 2e-5.
tests/run/test_hugging_face_models.py compares task models.
"""

import dataclasses
import json
import os

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import (
    FORMATS,
    ModelDirectory,
    convert,
    huggingface,
    huggingface_config,
    load_pretrained,
    model_tensors,
    open_checkpoint,
)
from bert_tf.checkpoints.tensors import check_config
from bert_tf.errors import InputError
from bert_tf.variables import OUTPUT_MATRIX
from tests.bert_tf.checkpoints.conftest import SMALL, describe
from tests.encoders import load_all, make_encoder, make_features
from tests.errors import rejects
from tests.gradients import assert_close, compute_gradients

ABC = ("a", "b", "c")


@pytest.fixture
def hf_tiny(reference):
    return str(reference / "hf_tiny")


@pytest.fixture
def arrays(hf_tiny):
    """The tensors that transformers wrote, by its keys."""
    return safetensors.numpy.load_file(os.path.join(hf_tiny, "model.safetensors"))


@pytest.fixture
def write_variant(hf_tiny, arrays, tmp_path):
    """(tensors, **settings) -> a copy of hf_tiny with other tensors and settings.

    The value None removes a setting.
    """

    def write(tensors=arrays, **settings):
        with open(os.path.join(hf_tiny, "config.json"), encoding="utf-8") as file:
            values = json.load(file) | settings
        (tmp_path / "config.json").write_text(
            json.dumps({key: value for key, value in values.items() if value is not None})
        )
        safetensors.numpy.save_file(tensors, tmp_path / "model.safetensors")
        return str(tmp_path)

    return write


def test_outputs_equal_those_of_transformers(hf_tiny, reference):
    model = load_all(models.BertPretrainer(ModelDirectory.open(hf_tiny).config), hf_tiny)
    with np.load(reference / "hf_tiny" / "expected.npz") as arrays:
        expected = dict(arrays)
    features = {
        name: tf.constant(expected[name], tf.int32)
        for name in ("input_ids", "input_mask", "segment_ids")
    }
    features["masked_lm_positions"] = tf.tile(tf.range(24)[tf.newaxis], [3, 1])
    outputs = model.encoder(features) | model(features)
    for name in ("sequence_output", "pooled_output", "masked_lm_logits", "next_sentence_logits"):
        np.testing.assert_allclose(outputs[name], expected[name], rtol=0, atol=2e-5, err_msg=name)


def test_files_equal_those_of_transformers(hf_tiny, arrays, tmp_path):
    config = ModelDirectory.open(hf_tiny).config
    model = models.BertPretrainer(config)
    load_pretrained(model, hf_tiny)
    assert huggingface.write(tmp_path / "new" / "bert", model_tensors(model), config) == ()

    written = safetensors.numpy.load_file(tmp_path / "new" / "bert" / "model.safetensors")
    assert list(written) == list(arrays)
    for key, value in arrays.items():
        assert written[key].shape == value.shape
        assert written[key].tobytes() == value.tobytes(), key
    with open(os.path.join(hf_tiny, "config.json"), encoding="utf-8") as file:
        theirs = json.load(file)
    ours = json.loads((tmp_path / "new" / "bert" / "config.json").read_text())
    assert {key: theirs[key] for key in ours if key in theirs} == {
        key: ours[key] for key in ours if key in theirs
    }
    # transformers wrote this field, with the value "absolute", until version 4.
    assert set(ours) - set(theirs) == {"position_embedding_type"}
    modes = {path.name: path.stat().st_mode for path in (tmp_path / "new" / "bert").iterdir()}
    assert modes.keys() == {"config.json", "model.safetensors"}
    assert len(set(modes.values())) == 1


def test_activations_have_other_names(tmp_path):
    tensors = model_tensors(models.BertEncoder(SMALL))
    for ours, theirs in (("gelu", "gelu_new"), ("gelu_exact", "gelu"), ("relu", "relu")):
        config = dataclasses.replace(SMALL, hidden_act=ours)
        huggingface.write(tmp_path, tensors, config)
        assert json.loads((tmp_path / "config.json").read_text())["hidden_act"] == theirs
        assert ModelDirectory.open(str(tmp_path)).config == config
    assert huggingface_config.ACTIVATIONS["gelu_pytorch_tanh"] == "gelu"


@dataclasses.dataclass(frozen=True)
class WrittenModel:
    """A model in Hugging Face's format.

    Attributes:
      model_class: str. Name of the class.
      architecture: str. The end of the architecture in config.json.
      outputs: Tuple of int. Arguments of the class after the config.
      task: TaskMetadata to write, or None.
      read: TaskMetadata that config.json contains, if it is not `task`.
      head: Tuple of the key and the sizes of a tensor of the head; empty if none is checked.
    """

    model_class: str
    architecture: str
    outputs: tuple = ()
    task: object = None
    read: object = None
    head: tuple = ()


@pytest.mark.parametrize(
    "case",
    [
        WrittenModel("BertEncoder", architecture="Model"),
        WrittenModel(
            "BertPretrainer",
            architecture="ForPreTraining",
            read=describe("masked_lm"),
            head=("cls.predictions.bias", 19),
        ),
        WrittenModel(
            "BertClassifier",
            outputs=(2,),
            task=describe("classifier", ("böse", "gut")),
            architecture="ForSequenceClassification",
            head=("classifier.bias", 2),
        ),
        WrittenModel(
            "BertClassifier",
            outputs=(3,),
            task=describe("classifier", ABC, True),
            architecture="ForSequenceClassification",
        ),
        WrittenModel(
            "BertClassifier",
            outputs=(1,),
            task=describe("classifier"),
            architecture="ForSequenceClassification",
        ),
        WrittenModel(
            "BertClassifier",
            outputs=(2,),
            architecture="ForSequenceClassification",
            read=describe("classifier", ("LABEL_0", "LABEL_1")),
        ),
        WrittenModel(
            "BertTokenClassifier",
            outputs=(3,),
            task=describe("token_classifier", ABC),
            architecture="ForTokenClassification",
            head=("classifier.weight", 3, 6),
        ),
        WrittenModel(
            "BertSpanLabeler",
            task=describe("span_labeler"),
            architecture="ForQuestionAnswering",
            head=("qa_outputs.weight", 2, 6),
        ),
        WrittenModel(
            "BertMultipleChoice",
            task=describe("multiple_choice"),
            architecture="ForMultipleChoice",
            head=("classifier.weight", 1, 6),
        ),
    ],
)
def test_models_and_their_tasks_are_written_and_read(tmp_path, case):
    model = getattr(models, case.model_class)(SMALL, *case.outputs)
    huggingface.write(tmp_path, model_tensors(model), SMALL, case.task)
    values = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert values["architectures"] == [f"Bert{case.architecture}"]
    assert ModelDirectory.open(str(tmp_path)).task == (case.read or case.task)
    if case.task == describe("token_classifier", ABC):
        assert values["label2id"] == {"a": 0, "b": 1, "c": 2}
    if case.head:
        key, *sizes = case.head
        tensors = safetensors.numpy.load_file(tmp_path / "model.safetensors")
        assert list(tensors[key].shape) == sizes

    before = {name: tensor.read().copy() for name, tensor in model_tensors(model).items()}
    for variable in model.variables:
        variable.assign(tf.zeros_like(variable))
    load_all(model, tmp_path / "model.safetensors")
    for name, tensor in model_tensors(model).items():
        np.testing.assert_array_equal(tensor.read(), before[name], err_msg=name)


def test_old_and_shortened_names_are_read(arrays, write_variant):
    """gamma and beta, before 2020; no `bert.` in a BertModel; position IDs are ignored."""

    def shorten(key):
        return (
            key.removeprefix("bert.")
            .replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta")
        )

    bert = {shorten(key): value for key, value in arrays.items() if key.startswith("bert.")}
    path = write_variant(bert | {"embeddings.position_ids": np.arange(64)[np.newaxis]})
    encoder = load_all(models.BertEncoder(ModelDirectory.open(path).config), path)
    np.testing.assert_array_equal(
        encoder.embeddings.layer_norm.gamma, arrays["bert.embeddings.LayerNorm.weight"]
    )
    np.testing.assert_array_equal(
        encoder.encoder_layers[1].output_norm.beta,
        arrays["bert.encoder.layer.1.output.LayerNorm.bias"],
    )


def test_half_precision_becomes_float32(arrays, write_variant):
    bfloat16 = tf.bfloat16.as_numpy_dtype
    path = write_variant({key: value.astype(bfloat16) for key, value in arrays.items()})
    value = open_checkpoint(path).tensors["bert/pooler/dense/kernel"].read()
    assert value.dtype == np.float32
    np.testing.assert_array_equal(
        value, arrays["bert.pooler.dense.weight"].astype(bfloat16).astype(np.float32).T
    )


def test_a_copy_of_the_word_embeddings_is_not_an_output_matrix(arrays, write_variant):
    tied = {
        "cls.predictions.decoder.weight": arrays["bert.embeddings.word_embeddings.weight"],
        "cls.predictions.decoder.bias": arrays["cls.predictions.bias"],
    }
    assert len(open_checkpoint(write_variant(arrays | tied)).tensors) == len(arrays)
    untied = ModelDirectory.open(write_variant(arrays | tied, tie_word_embeddings=False))
    assert OUTPUT_MATRIX in untied.checkpoint.tensors
    assert not untied.config.tie_word_embeddings


def test_an_output_matrix_requires_its_setting(arrays, write_variant):
    """transformers uses the matrix with a warning that advises to change the setting."""
    words = arrays["bert.embeddings.word_embeddings.weight"]
    own = {"cls.predictions.decoder.weight": words + 1}
    path = write_variant(arrays | own, tie_word_embeddings=True)
    model = models.BertPretrainer(models.BertEncoder(ModelDirectory.open(path).config))
    with rejects("model.safetensors", "differs from the word embeddings", "set tie_word_embedd"):
        load_pretrained(model, path)
    with rejects("model.safetensors", "differs from the word embeddings", "set tie_word_embedd"):
        convert(path, f"{path}/out", "tf1")


def test_an_output_matrix_is_converted_and_written_back(arrays, write_variant, tmp_path):
    words = arrays["bert.embeddings.word_embeddings.weight"]
    own = {
        "cls.predictions.decoder.weight": words[::-1] + 1,
        "cls.predictions.decoder.bias": arrays["cls.predictions.bias"],
    }
    path = write_variant(arrays | own, tie_word_embeddings=False)
    convert(path, str(tmp_path / "tf1"), "tf1")
    convert(str(tmp_path / "tf1"), str(tmp_path / "back"), "huggingface")
    written = safetensors.numpy.load_file(tmp_path / "back" / "model.safetensors")
    for key, value in own.items():
        np.testing.assert_array_equal(written[key], value)
    config = json.loads((tmp_path / "back" / "config.json").read_text())
    assert config["tie_word_embeddings"] is False
    with pytest.raises(InputError, match=r"^tie_word_embeddings is False: not supp"):
        convert(path, str(tmp_path / "garden"), "model_garden")


def test_defaults_of_missing_settings_are_those_of_transformers(write_variant):
    path = write_variant(
        vocab_size=None, type_vocab_size=None, hidden_act=None, layer_norm_eps=None
    )
    config = ModelDirectory.open(path).config
    assert (config.vocab_size, config.type_vocab_size, config.hidden_act) == (
        30522,
        2,
        "gelu_exact",
    )


def test_other_files(tmp_path, arrays):
    path = str(tmp_path / "model.safetensors")
    safetensors.numpy.save_file({"wte.weight": arrays["bert.pooler.dense.weight"]}, path)
    with rejects(
        "model.safetensors", "is not a BERT model", "it has no bert.embeddings.word_embeddings"
    ):
        open_checkpoint(path)
    (tmp_path / "directory.safetensors").mkdir()
    with rejects("directory.safetensors", "no checkpoint found (*.index or model"):
        open_checkpoint(str(tmp_path / "directory.safetensors"))


@pytest.fixture
def write_parts(arrays, write_variant, tmp_path):
    """(index) -> a copy of hf_tiny in two files.

    `index` is the text of the index file, or None for the correct one.
    """

    def write(index=None):
        path = write_variant()
        os.remove(os.path.join(path, "model.safetensors"))
        parts = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
        weight_map = {key: parts[number % 2] for number, key in enumerate(sorted(arrays))}
        for part in parts:
            safetensors.numpy.save_file(
                {key: arrays[key] for key in arrays if weight_map[key] == part}, tmp_path / part
            )
        (tmp_path / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map})
            if index is None
            else index
        )
        return path

    return write


def test_weights_in_several_files(write_parts, hf_tiny):
    folder = write_parts()
    single = open_checkpoint(hf_tiny)
    index = os.path.join(folder, "model.safetensors.index.json")
    for path in (folder, index):
        parts = open_checkpoint(path)
        assert parts.path == index
        assert set(parts.tensors) == set(single.tensors)
        for name, tensor in single.tensors.items():
            np.testing.assert_array_equal(parts.tensors[name].read(), tensor.read(), err_msg=name)
    assert [os.path.basename(name) for name in ModelDirectory.open(folder).weight_files] == [
        "model.safetensors.index.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ]
    assert ModelDirectory.open(hf_tiny).weight_files == [os.path.join(hf_tiny, "model.safetensors")]


def test_incomplete_parts(write_parts, tmp_path):
    path = write_parts('{"weight_map": {"a": "model-00001-of-00002.safetensors"}}')
    (tmp_path / "model-00001-of-00002.safetensors").unlink()
    with rejects("model-00001-of-00002.safetensors", "is not a safetensors file"):
        open_checkpoint(path)


DISTILBERT = dataclasses.replace(
    SMALL, hidden_act="gelu_exact", type_vocab_size=0, pooler_act="relu"
)
ELECTRA = dataclasses.replace(
    SMALL,
    hidden_act="gelu_exact",
    type_vocab_size=2,
    pooler_act="gelu_exact",
    embedding_size=4,
    project_embedding_sum=True,
)
BOTH = pytest.mark.parametrize("config", [DISTILBERT, ELECTRA], ids=["distilbert", "electra"])


@pytest.mark.parametrize(("name", "unused"), [("electra_discriminator", 4), ("electra_base", 0)])
def test_encoders_equal_those_of_transformers(reference, name, unused):
    """The pooler is new; the head of the discriminator is unused."""
    folder = reference / "hf_relatives"
    config = ModelDirectory.open(str(folder / name)).config
    check_config(open_checkpoint(str(folder / name)), config)
    encoder = models.BertEncoder(config)
    report = load_pretrained(encoder, str(folder / name))
    assert report.missing == ("bert/pooler/dense/kernel", "bert/pooler/dense/bias")
    assert len(report.unused) == unused
    with np.load(folder / "expected.npz") as expected:
        features = {
            key: tf.constant(expected[key]) for key in ("input_ids", "input_mask", "segment_ids")
        }
        is_token = expected["input_mask"] > 0
        np.testing.assert_allclose(
            encoder(features)["sequence_output"][is_token],
            expected[f"{name}_sequence_output"][is_token],
            rtol=0,
            atol=2e-5,
        )


@BOTH
@pytest.mark.parametrize(
    "options",
    [
        {"layer": "einsum", "last_where_read": True, "one_hot": True},
        {"layer": "compiled", "remove_padding": True, "last_where_read": True, "recompute": True},
    ],
    ids=["einsum", "compiled"],
)
def test_accelerations_of_relatives_change_nothing(config, options):
    config = dataclasses.replace(
        config, initializer_range=0.4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    batch = make_features(ELECTRA, (11, 4, 7)) | {"label_ids": tf.constant([1, 0, 2])}
    found, expected = (
        compute_gradients(
            models.BertClassifier(make_encoder(config, **fast), 3),
            batch,
            losses.classification_loss,
        )
        for fast in (options, {})
    )
    assert any("bert/embeddings/" in name for name in expected)
    assert_close(found, expected, 2e-5)


def test_a_checkpoint_with_segments_for_a_config_without(tmp_path):
    FORMATS["tf1"].write(tmp_path, model_tensors(models.BertEncoder(ELECTRA)), ELECTRA)
    checkpoint = open_checkpoint(str(tmp_path))
    with rejects(
        "bert_model.ckpt", "contains bert/embeddings/token_type_embeddings", "the model does not"
    ):
        check_config(checkpoint, dataclasses.replace(ELECTRA, type_vocab_size=0))


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("model_type", ["albert", ["bert"]])
def test_other_models_are_rejected_before_their_files_are_read(tmp_path, model_type, weights):
    (tmp_path / weights).write_text("")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    with rejects(
        f"{tmp_path}/config.json",
        f"model_type is {model_type!r}",
        "only 'bert', 'distilbert', and 'electra'",
    ):
        ModelDirectory.open(str(tmp_path)).check_loadable()
