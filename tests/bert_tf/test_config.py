import dataclasses
import json

import pytest

from bert_tf.config import BertConfig

SIZES = {"vocab_size": 11, "hidden_size": 6, "num_hidden_layers": 3, "num_attention_heads": 2,
         "intermediate_size": 7, "max_position_embeddings": 13, "type_vocab_size": 5}


def test_defaults_are_the_originals():
    assert dataclasses.asdict(BertConfig(vocab_size=30522)) == {
        "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1, "max_position_embeddings": 512, "type_vocab_size": 16,
        "initializer_range": 0.02}


def test_a_file_survives_the_round_trip(tmp_path):
    config = BertConfig(**SIZES, hidden_act="gelu_exact")
    path = tmp_path / "bert_config.json"
    path.write_text(config.to_json())
    assert BertConfig.from_json_file(path) == config
    assert config.head_width == 3


def test_keys_of_the_published_multilingual_config_are_let_through():
    assert BertConfig.from_dict({**SIZES, "directionality": "bidi", "pooler_fc_size": 768}).vocab_size == 11


@pytest.mark.parametrize(("change", "message"), [
    ({"vocab_sise": 3}, "unknown key 'vocab_sise'"),
    ({"hidden_size": 7}, "hidden_size is 7: it must be a multiple of num_attention_heads, 2"),
    ({"hidden_size": 0}, "hidden_size is 0: it must be a positive integer"),
    ({"vocab_size": 3.5}, "vocab_size is 3.5: it must be a positive integer"),
    ({"hidden_act": "swish"}, "hidden_act is 'swish': it must be one of gelu"),
    ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob is 1.0: it must be a number, at least 0 and below 1"),
    ({"initializer_range": -1}, "initializer_range is -1: it must be a positive number"),
])
def test_a_wrong_value_is_named_with_its_file(tmp_path, change, message):
    path = tmp_path / "bert_config.json"
    path.write_text(json.dumps({**SIZES, **change}))
    with pytest.raises(ValueError, match=message) as caught:
        BertConfig.from_json_file(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [
    ("{}", "needs the key 'vocab_size'"),
    ("[1]", "expected a JSON object, found list"),
    ("{", "Expecting property name"),
])
def test_a_file_that_is_no_config_is_named(tmp_path, text, message):
    path = tmp_path / "bert_config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        BertConfig.from_json_file(path)
