"""BertConfig: its files, rejected values, and numbers of parameters."""

import json

import pytest

from bert_tf import models
from bert_tf.config import PUBLISHED_SIZES, BertConfig
from tests.errors import Message, raises_message, rejects

SIZES = {
    "vocab_size": 11,
    "hidden_size": 6,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 7,
    "max_position_embeddings": 13,
    "type_vocab_size": 5,
}


def test_defaults_are_the_originals():
    config = BertConfig(vocab_size=30522)
    assert config.to_dict() == {
        "vocab_size": 30522,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": 512,
        "type_vocab_size": 16,
        "initializer_range": 0.02,
    }


CAUSAL = BertConfig(**SIZES, attention="causal", bilstm_head=True)
PRUNED = BertConfig(
    **SIZES,
    attention_heads_per_layer=(1, 2, 1),
    intermediate_size_per_layer=(7, 4, 8),
    embedding_size=3,
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("config", [BertConfig(**SIZES, hidden_act="gelu_exact"), PRUNED, CAUSAL])
def test_files(tmp_path, config, encoding):
    path = tmp_path / "bert_config.json"
    path.write_text(config.to_json(), encoding=encoding)
    assert BertConfig.from_json_file(path) == config
    assert config.head_width == 3


def test_keys_of_the_published_multilingual_config_are_ignored():
    assert (
        BertConfig.from_dict({**SIZES, "directionality": "bidi", "pooler_fc_size": 768}).vocab_size
        == 11
    )


def test_sizes_per_layer():
    assert PRUNED.layer_sizes == [(1, 7), (2, 4), (1, 8)]
    config = BertConfig(
        **SIZES,
        attention_heads_per_layer=[2] * 3,
        intermediate_size_per_layer=[7] * 3,
        embedding_size=6,
        num_hidden_groups=3,
    )
    assert config == BertConfig(**SIZES)  # Values that the others imply are not stored.
    assert config.to_json() == BertConfig(**SIZES).to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab_sise": 3}, Message("bert_config.json", "unknown key 'vocab_sise'")),
        (
            {"hidden_size": 7},
            Message(
                "bert_config.json",
                "hidden_size is 7",
                "must be a multiple",
                "num_attention_heads (2)",
            ),
        ),
        (
            {"vocab_size": 3.5},
            Message("bert_config.json", "vocab_size is 3.5", "must be a positive integer"),
        ),
        (
            {"hidden_dropout_prob": False},
            Message("bert_config.json", "hidden_dropout_prob is False", "at least 0 and below 1"),
        ),
        (
            {"hidden_act": ["gelu"]},
            Message("bert_config.json", "hidden_act is ['gelu']", "must be one of gelu"),
        ),
        (
            {"vocab_size": 2**31},
            Message(
                "bert_config.json",
                "vocab_size is 2147483648",
                "positive integer",
                "at most 2147483647",
            ),
        ),
        (
            {"num_hidden_layers": 2**31 - 1},
            Message("bert_config.json", "num_hidden_layers is 2147483647", "must be at most 10000"),
        ),
        (
            {"vocab_size": 2 * 10**9, "hidden_size": 768},
            Message(
                "bert_config.json",
                "the encoder has 1,536",
                "weights",
                "must be at most 1,000,000,000,000",
            ),
        ),
        (
            {"initializer_range": float("inf")},
            Message("bert_config.json", "initializer_range is inf", "must be a positive number"),
        ),
        (
            {"attention_heads_per_layer": [2, 1]},
            Message(
                "bert_config.json",
                "attention_heads_per_layer is [2, 1]",
                "must be a list of num_hidden_layers",
                "(3) sizes",
            ),
        ),
        (
            {"attention_heads_per_layer": [2, 0, 1]},
            Message(
                "bert_config.json",
                "attention_heads_per_layer of layer 1 is 0",
                "must be a positive",
            ),
        ),
        (
            {"attention_heads_per_layer": [2, 3, 1]},
            Message("bert_config.json", "is [2, 3, 1]", "must be at most num_attention_heads (2)"),
        ),
        (
            {"embedding_size": 7},
            Message("bert_config.json", "embedding_size is 7", "must be at most hidden_size (6)"),
        ),
        (
            {"type_vocab_size": -1},
            Message("bert_config.json", "type_vocab_size is -1", "must be a non-negative integer"),
        ),
        (
            {"bilstm_head": 1},
            Message("bert_config.json", "bilstm_head is 1", "must be true or false"),
        ),
        (
            {"tie_word_embeddings": 0},
            Message("bert_config.json", "tie_word_embeddings is 0", "must be true or false"),
        ),
        (
            {"hidden_size": 9, "num_attention_heads": 3, "bilstm_head": True},
            Message("bert_config.json", "hidden_size is 9", "must be even with bilstm_head"),
        ),
        (
            {"num_hidden_groups": 2},
            Message(
                "bert_config.json", "num_hidden_groups is 2", "must divide num_hidden_layers (3)"
            ),
        ),
        (
            {"num_hidden_groups": 1, "attention_heads_per_layer": [1, 1, 2]},
            Message("bert_config.json", "num_hidden_groups is 1", "cannot be combined"),
        ),
    ],
)
def test_errors_name_the_value_and_the_file(tmp_path, change, message):
    path = tmp_path / "bert_config.json"
    path.write_text(json.dumps({**SIZES, **change}))
    with raises_message(message) as caught:
        BertConfig.from_json_file(path)
    assert str(path) in str(caught.value)


def test_the_vocabulary_size_is_required():
    with pytest.raises(ValueError, match="requires the key 'vocab_size'"):
        BertConfig.from_dict({})


def test_published_sizes():
    """The BERT paper says 110M and 340M for the last two."""
    assert {name: BertConfig.from_name(name).num_parameters for name in PUBLISHED_SIZES} == {
        "tiny": 4_385_920,
        "mini": 11_170_560,
        "small": 28_763_648,
        "medium": 41_373_184,
        "base": 109_482_240,
        "large": 335_141_888,
    }
    with rejects(
        None, "unknown BERT size 'huge'", "must be one of tiny", "mini", "small", "medium"
    ):
        BertConfig.from_name("huge")


@pytest.mark.parametrize(
    "config",
    [
        BertConfig(**SIZES),
        BertConfig.from_name("tiny", vocab_size=17),
        PRUNED,
        BertConfig(**SIZES, num_hidden_groups=1),
        BertConfig(**SIZES | {"type_vocab_size": 0}),
        BertConfig(**SIZES, embedding_size=4, project_embedding_sum=True),
    ],
)
def test_parameters_are_those_of_the_model(config, capsys):
    encoder = models.BertEncoder(config)
    encoder.summary()
    assert f"Total params: {config.num_parameters} (" in capsys.readouterr().out
    assert (
        sum(variable.shape.num_elements() for variable in encoder.trainable_variables)
        == config.num_parameters
    )
