"""The params.yaml of the Model Garden: the config of a model, and the casing of its texts."""

import yaml

from bert_tf.config import BertConfig
from bert_tf.errors import InputError, name_file
from bert_tf.files import read_text

PARAMS_NAME = "params.yaml"
SUFFIXES = (".yaml", ".yml")

# Keys of official.nlp.configs.encoders.BertEncoderConfig -> fields of BertConfig.
GARDEN_KEYS = {
    "num_layers": "num_hidden_layers",
    "hidden_activation": "hidden_act",
    "dropout_rate": "hidden_dropout_prob",
    "attention_dropout_rate": "attention_probs_dropout_prob",
    **{
        name: name
        for name in (
            "vocab_size",
            "hidden_size",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
            "initializer_range",
        )
    },
}
# Defaults of its keys that differ from those of BertConfig.
GARDEN_DEFAULTS = {"vocab_size": 30522, "type_vocab_size": 2}
GARDEN_ENCODERS = ("bert", "bert_v2")
# Paths of keys that can lead to an EncoderConfig.
GARDEN_PATHS = ((), ("encoder",), ("model", "encoder"), ("task", "model", "encoder"))


def get_garden_casing(values):
    """Returns the casing of the training texts in the values of a params.yaml; None if unknown."""
    casing = _get_nested(values, ("task", "train_data", "lower_case"))
    return casing if isinstance(casing, bool) else None


def to_bert_config(values, path):
    """Converts the values of a params.yaml to BertConfig.

    Raises InputError with the path if this project does not support the model.
    """
    for keys in GARDEN_PATHS:
        encoder = _get_nested(values, keys)
        if isinstance(encoder, dict) and isinstance(encoder.get("type"), str):
            with name_file(path):
                return _garden_config(encoder)
    raise InputError(
        f"{path}: contains no encoder config of the Model Garden (expected task.model.encoder.type)"
    )


def _get_nested(values, keys):
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _garden_config(encoder):
    """Returns the BertConfig for the dict of an official.nlp.configs.encoders.EncoderConfig."""
    encoder_type = encoder["type"]
    if encoder_type not in GARDEN_ENCODERS:
        raise InputError(
            f"type is {encoder_type!r}: only {' and '.join(GARDEN_ENCODERS)} are supported"
        )
    sizes = encoder.get(encoder_type) or {}
    if not isinstance(sizes, dict):
        raise InputError(f"{encoder_type} is {sizes!r}: must be a mapping of names to values")
    values = GARDEN_DEFAULTS | sizes
    if values.get("norm_first"):
        raise InputError("norm_first is True: only False is supported")
    if values.get("embedding_size") not in (None, values.get("hidden_size")):
        raise InputError(
            f"embedding_size is {values['embedding_size']!r}: must be equal to hidden_size"
        )
    return BertConfig.from_dict(
        {GARDEN_KEYS[key]: value for key, value in values.items() if key in GARDEN_KEYS}
    )


def read_yaml(path):
    """Returns the value of a YAML file; raises InputError with the path if it is corrupted."""
    text = read_text(path)
    try:
        return yaml.load(text, _Loader)
    # ValueError: for example, an invalid date such as 2001-99-99.
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InputError(f"{path}: the YAML is nested too deeply") from error


class _Loader(yaml.SafeLoader):
    """Reads plain values, and tuples, which the Model Garden can write."""


_Loader.add_constructor("tag:yaml.org,2002:python/tuple", _Loader.construct_sequence)
