"""Configs of all formats, their precedence, unsupported models, and tasks of fine-tuned models."""

import dataclasses
import os

import pytest
from official.core import config_definitions
from official.core.train_utils import serialize_config
from official.nlp.configs import bert, encoders
from official.nlp.tasks import masked_lm

from bert_tf.checkpoints import ModelDirectory, read_config_file
from bert_tf.config import BertConfig
from tests.bert_tf.checkpoints.conftest import HUGGING_FACE, SMALL, describe
from tests.errors import Message, raises_message, rejects

EXACT = dataclasses.replace(SMALL, hidden_act="gelu_exact")
GARDEN = (
    "type: bert\nbert: {vocab_size: 19, hidden_size: 6, num_layers: 2, num_attention_heads: 3, "
    "intermediate_size: 7, max_position_embeddings: 13, type_vocab_size: 5"
)


def test_hugging_face_settings_without_effect_are_ignored(written):
    folder = written(
        config_json=HUGGING_FACE
        | {
            "use_cache": True,
            "torch_dtype": "float16",
            "pad_token_id": 0,
            "classifier_dropout": None,
            "embedding_size": 6,
            "position_embedding_type": "absolute",
            "is_decoder": False,
            "is_encoder_decoder": False,
        }
    )
    assert (
        ModelDirectory.open(folder).config
        == BertConfig.from_json_file(f"{folder}/config.json")
        == EXACT
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "layer_norm_eps",
            1e-5,
            Message(None, "layer_norm_eps is 1e-05", "only 1e-12 is supported"),
        ),
        (
            "pruned_heads",
            {"0": [0, 1, 2]},
            Message(None, "pruned_heads is {'0': [0, 1, 2]}", "must map layer numbers"),
        ),
        (
            "pruned_heads",
            {"2": [1]},
            Message(None, "pruned_heads is {'2': [1]}", "must map layer numbers"),
        ),
        (
            "quantization_config",
            {"bits": 8},
            Message(None, "quantization_config is {'bits': 8}", "not supported"),
        ),
        (
            "embedding_size",
            4,
            Message(None, "embedding_size is 4", "must be equal to hidden_size (6)"),
        ),
        (
            "hidden_act",
            ["gelu"],
            Message(
                None,
                "hidden_act is ['gelu']",
                "must be one of gelu",
                "gelu_new",
                "gelu_pytorch_tanh",
            ),
        ),
    ],
)
def test_hugging_face_settings_that_are_not_supported(written, key, value, message):
    path = ModelDirectory.open(written(config_json=HUGGING_FACE | {key: value})).config_path
    with raises_message(message, file=path):
        read_config_file(path)


def test_weights_determine_the_format_of_a_config_without_marks(written):
    folder = written(config_json=SMALL.to_dict())
    assert read_config_file(f"{folder}/config.json") == SMALL
    written(model_safetensors="")
    assert read_config_file(f"{folder}/config.json") == EXACT


def test_weights_determine_which_config_takes_precedence(written):
    folder = written(bert_config_json=SMALL.to_json(), config_json=HUGGING_FACE)
    assert os.path.basename(ModelDirectory.open(folder).config_path) == "bert_config.json"
    assert (
        os.path.basename(ModelDirectory.open(f"{folder}/model.safetensors").config_path)
        == "config.json"
    )
    written(model_safetensors="")
    assert os.path.basename(ModelDirectory.open(folder).config_path) == "config.json"
    written(bert_model_ckpt_index="")
    os.rename(f"{folder}/bert_model_ckpt.index", f"{folder}/bert_model.ckpt.index")
    assert os.path.basename(ModelDirectory.open(folder).config_path) == "bert_config.json"


def test_two_configs_of_different_sizes(written):
    folder = written(
        bert_config_json=SMALL.to_json(), config_json=HUGGING_FACE | {"num_hidden_layers": 3}
    )
    with rejects(None, "bert_config.json and config.json", "of different s"):
        _ = ModelDirectory.open(folder).config_path
    written(config_json="{")  # ignored
    assert os.path.basename(ModelDirectory.open(folder).config_path) == "bert_config.json"


def test_configs_written_by_the_model_garden(tmp_path):
    encoder = encoders.EncoderConfig(
        type="bert",
        bert=encoders.BertEncoderConfig(
            vocab_size=19,
            hidden_size=6,
            num_layers=2,
            num_attention_heads=3,
            intermediate_size=7,
            dropout_rate=0.2,
            attention_dropout_rate=0.3,
            max_position_embeddings=13,
            type_vocab_size=5,
            initializer_range=0.03,
            hidden_activation="relu",
        ),
    )
    serialize_config(
        config_definitions.ExperimentConfig(
            task=masked_lm.MaskedLMConfig(model=bert.PretrainerConfig(encoder=encoder))
        ),
        str(tmp_path),
    )
    assert ModelDirectory.open(str(tmp_path)).config == dataclasses.replace(
        SMALL,
        hidden_dropout_prob=0.2,
        attention_probs_dropout_prob=0.3,
        initializer_range=0.03,
        hidden_act="relu",
    )
    serialize_config(encoder, str(tmp_path / "encoder"))
    assert ModelDirectory.open(str(tmp_path / "encoder")).config.hidden_act == "relu"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{GARDEN}, output_range: 1, norm_first: false, embedding_size: null}}", SMALL),
        (f"a: !!python/tuple [1]\n{GARDEN}}}", SMALL),
        ("type: bert_v2", BertConfig(30522, type_vocab_size=2)),
    ],
)
def test_model_garden_defaults_and_settings_without_effect(written, text, expected):
    assert ModelDirectory.open(written(params_yaml=text)).config == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type: albert", Message(None, "type is 'albert'", "only bert and bert_v2 are supported")),
        (
            f"{GARDEN}, norm_first: true}}",
            Message(None, "norm_first is True", "only False is supported"),
        ),
        (
            f"{GARDEN}, embedding_size: 4}}",
            Message(None, "embedding_size is 4", "must be equal to hidden_size"),
        ),
        (
            f"{GARDEN}, hidden_activation: swish}}",
            Message(None, "hidden_act is 'swish'", "must be one of gelu"),
        ),
        (
            "task: {model: {}}",
            Message(
                None,
                "contains no encoder config",
                "Model Garden (expected task.model.encoder.type)",
            ),
        ),
        ("type: bert\nbert: [1, 2]", Message(None, "bert is [1, 2]", "must be a mapping of names")),
    ],
)
def test_invalid_model_garden_configs(written, text, message):
    path = ModelDirectory.open(written(params_yaml=text)).config_path
    with raises_message(message, file=path):
        read_config_file(path)


NAMES = {"id2label": {"0": "b", "1": "a", "2": "c"}}
CLASSIFIER, TAGGER = (
    {"architectures": [f"BertFor{name}Classification"]} for name in ("Sequence", "Token")
)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ({"architectures": ["BertModel"]}, None),
        ({}, None),
        ({"architectures": None}, None),
        ({"architectures": ["BertForMaskedLM"]}, describe("masked_lm")),
        ({"architectures": ["BertForMultipleChoice"], **NAMES}, describe("multiple_choice")),
        (CLASSIFIER, describe("classifier", ("LABEL_0", "LABEL_1"))),
        (CLASSIFIER | {"num_labels": 3}, describe("classifier", ("LABEL_0", "LABEL_1", "LABEL_2"))),
        (CLASSIFIER | {"id2label": {"0": "LABEL_0"}}, describe("classifier")),
        (
            CLASSIFIER | {"id2label": {"0": "score"}, "problem_type": "regression"},
            describe("classifier"),
        ),
        (TAGGER | {"id2label": {"0": "O"}}, describe("token_classifier", ("O",))),
    ],
)
def test_the_model_class_and_its_labels(written, values, task):
    folder = written(config_json=values)
    assert (
        ModelDirectory.open(folder).task
        == ModelDirectory.open(f"{folder}/model.safetensors").task
        == task
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"id2label": {"0": "a", "2": "b"}},
            Message(None, "id2label is {'0': 'a', '2': 'b'}", "must map consecutive numbers"),
        ),
        ({"id2label": {}}, Message(None, "id2label is {}", "must map consecutive numbers")),
        (
            {"id2label": {"0": "a", "1": "b", "2": "a"}},
            Message(None, "contains the label 'a' twice"),
        ),
        (
            {"problem_type": "regression", **NAMES},
            Message(None, "problem_type is 'regression' with 3 outputs", "only one is supported"),
        ),
    ],
)
def test_invalid_labels(written, values, message):
    folder = written(config_json=CLASSIFIER | values)
    with raises_message(message, file=f"{folder}/config.json"):
        _ = ModelDirectory.open(folder).task
