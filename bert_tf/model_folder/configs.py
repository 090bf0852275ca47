"""The config next to a checkpoint.

Its format is the original's, Hugging Face's, or the Model Garden's.

A SavedModel of the Model Garden has no config; its variables show the sizes.
"""

import os

import yaml

from bert_tf.config import BertConfig
from bert_tf.errors import InputError, name_file
from bert_tf.files import read_text
from bert_tf.huggingface_config import CONFIG_NAME as HUGGING_FACE_NAME
from bert_tf.model_folder import saved_models
from bert_tf.model_folder.directories import find_file, list_files
from bert_tf.model_folder.weights import is_hugging_face, weights_in
from bert_tf.variables import get_shapes

ORIGINAL_NAME = "bert_config.json"
GARDEN_NAME = "params.yaml"
GARDEN_SUFFIXES = (".yaml", ".yml")

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


def find_config(checkpoint):
    """Finds the config next to a checkpoint and returns its path; None if there is none.

    Raises:
      InputError: If two configs next to the checkpoint describe models of different sizes.
    """
    names = (ORIGINAL_NAME, GARDEN_NAME, HUGGING_FACE_NAME)
    if is_hugging_face(checkpoint):
        names = (HUGGING_FACE_NAME, ORIGINAL_NAME, GARDEN_NAME)
    found = list_files(checkpoint, names)
    if found:
        for other in found[1:]:
            _check_same_sizes(found[0], other)
        return found[0]
    path = find_file(checkpoint, saved_models.SAVED_MODEL_NAME)
    return path if path and saved_models.is_encoder(os.path.dirname(path)) else None


def read_config(path):
    """Reads the BertConfig of a file.

    Args:
      path: Path of a bert_config.json, of Hugging Face's config.json, of the Model Garden's
        params.yaml, or of the saved_model.pb of a SavedModel of the Model Garden. The activation of
        the latter is assumed to be "gelu".

    Raises:
      InputError: If the file is not a config, or if this project does not support the model, with
        the path.
    """
    path = os.fsdecode(path)
    if path.endswith(GARDEN_SUFFIXES):
        return _read_garden_config(path)
    if os.path.basename(path) == saved_models.SAVED_MODEL_NAME:
        return BertConfig.from_dict(saved_models.read_sizes(path))
    folder, name = os.path.split(path)
    has_weights = name == HUGGING_FACE_NAME and weights_in(folder or os.curdir) is not None
    return BertConfig.from_json_file(path, is_hugging_face=True if has_weights else None)


def read_garden_casing(path):
    """Reads the casing of the training texts from a params.yaml, a bool; None if it is unknown."""
    casing = _get_nested(_read_yaml(path), ("task", "train_data", "lower_case"))
    return casing if isinstance(casing, bool) else None


def _get_nested(values, keys):
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _check_same_sizes(path, other):
    """Raises InputError if two configs are of weights with different shapes.

    Ignores configs that cannot be read.
    """
    try:
        config = read_config(path)
        other_config = read_config(other)
    except InputError:
        return
    if (config.num_attention_heads, get_shapes(config)) != (
        other_config.num_attention_heads,
        get_shapes(other_config),
    ):
        raise InputError(
            f"{path} and {os.path.basename(other)} next to it are of models of different sizes; "
            "set `bert_config_file` to the correct one"
        )


def _read_garden_config(path):
    values = _read_yaml(path)
    for keys in GARDEN_PATHS:
        encoder = _get_nested(values, keys)
        if isinstance(encoder, dict) and isinstance(encoder.get("type"), str):
            with name_file(path):
                return _garden_config(encoder)
    raise InputError(
        f"{path}: contains no encoder config of the Model Garden (expected task.model.encoder.type)"
    )


def _garden_config(encoder):
    """Returns the BertConfig for the dict of an official.nlp.configs.encoders.EncoderConfig."""
    kind = encoder["type"]
    if kind not in GARDEN_ENCODERS:
        raise InputError(f"type is {kind!r}: only {' and '.join(GARDEN_ENCODERS)} are supported")
    sizes = encoder.get(kind) or {}
    if not isinstance(sizes, dict):
        raise InputError(f"{kind} is {sizes!r}: must be a mapping of names to values")
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


def _read_yaml(path):
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
