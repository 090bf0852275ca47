"""Reads and writes the keys of Hugging Face's `config.json`.

Settings that this project does not support are rejected.

DistilBERT and the discriminators of ELECTRA are encoders of the same form; other models are
rejected.

Keys that do not affect the computation, such as `use_cache` or `torch_dtype`, are ignored. Its
"gelu" is the exact erf form, called "gelu_exact" here; its "gelu_new" is the tanh approximation of
the original.
"""

from bert_tf.errors import InputError

CONFIG_NAME = "config.json"

ACTIVATIONS = {
    "gelu": "gelu_exact",
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}
OUR_ACTIVATIONS = {
    "gelu": "gelu_new",
    "gelu_exact": "gelu",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}

# Defaults of transformers for missing keys of config.json.
DEFAULTS = {
    "vocab_size": 30522,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
}

# Values of model_type.
BERT = "bert"
DISTILBERT = "distilbert"
ELECTRA = "electra"
# Keys of DistilBERT -> keys of BERT.
DISTILBERT_KEYS = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
}
# For each model_type, the defaults that differ from those of "bert", and the properties that no key
# states. The pooler is the first layer of the classification heads; pre-trained models have none.
RELATIVES = {
    BERT: ({}, {}),
    DISTILBERT: ({"num_hidden_layers": 6}, {"type_vocab_size": 0, "pooler_act": "relu"}),
    ELECTRA: (
        {
            "embedding_size": 128,
            "hidden_size": 256,
            "num_attention_heads": 4,
            "intermediate_size": 1024,
        },
        {"pooler_act": "gelu_exact", "project_embedding_sum": True},
    ),
}
# Settings that affect the computation, and the only value that this project supports.
FIXED_SETTINGS = {
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "quantization_config": None,
}
# Transformers omits these default values.
NOT_WRITTEN = ("is_encoder_decoder", "quantization_config")

# Settings of BertConfig that other projects do not support.
OWN_SETTINGS = (
    "intermediate_size_per_layer",
    "embedding_size",
    "num_hidden_groups",
    "attention",
    "bilstm_head",
    "pooler_act",
)
PRUNED = "pruned_heads"

# Keys that only its configs have, not the original's.
MARKS = ("model_type", "architectures", "transformers_version")


def check_model_type(values):
    """Returns the key of RELATIVES for the dict of a config.json.

    Raises InputError for any other model.
    """
    name = BERT if values.get("model_type") is None else values["model_type"]
    if name in tuple(RELATIVES):  # JSON can contain a list, which is not hashable
        return name
    *others, last = map(repr, RELATIVES)
    raise InputError(f"model_type is {name!r}: only {', '.join(others)}, and {last} are supported")


def check_fixed(values, fixed, scope=""):
    """Raises InputError if a setting does not have the only value that this project supports.

    `fixed`: Dict of setting -> this value, None for none. `scope`: Beginning of the message.
    """
    for name, only in fixed.items():
        value = values.get(name)
        if value is not None and value != only:
            raise InputError(
                f"{scope}{name} is {value!r}: "
                + ("not supported" if only is None else f"only {only!r} is supported")
            )


def to_bert(values, model_type):
    """Returns the dict of a config.json with the values of BertConfig for its keys.

    Other keys are unchanged.

    Args:
      values: Dict.
      model_type: str. Result of `check_model_type`.

    Raises:
      InputError: If this project does not support the model, with the key.
    """
    check_fixed(values, FIXED_SETTINGS)
    if model_type == DISTILBERT:
        values = {DISTILBERT_KEYS.get(name, name): value for name, value in values.items()}
    defaults, properties = RELATIVES[model_type]
    values = DEFAULTS | defaults | values | properties
    width = values.get("embedding_size")
    if model_type != ELECTRA and width is not None and width != values.get("hidden_size", width):
        raise InputError(
            f"embedding_size is {width!r}: must be equal to hidden_size ({values['hidden_size']!r})"
        )
    # JSON can contain a list, which is not hashable.
    if values["hidden_act"] not in tuple(ACTIVATIONS):
        raise InputError(
            f"hidden_act is {values['hidden_act']!r}: must be one of {', '.join(ACTIVATIONS)}"
        )
    values |= {"hidden_act": ACTIVATIONS[values["hidden_act"]]}
    if values.get("tie_word_embeddings") is None:
        values |= {"tie_word_embeddings": True}
    return (
        values | {"attention_heads_per_layer": _heads_left(values)}
        if values.get(PRUNED)
        else values
    )


def from_bert(values):
    """Returns the dict of a config.json for a result of BertConfig.to_dict.

    For pruned heads, transformers requires their numbers, to make its layers smaller. After the
    heads are removed, it only counts them, so the last ones are used. DistilBERT and ELECTRA are
    not written: here, they are settings of the same encoder, but transformers has other names for
    the weights of each.

    Raises:
      InputError: If transformers does not support the model, with the setting.
    """
    reject_settings(values, OWN_SETTINGS, "Hugging Face's BERT")
    values = dict(values)
    heads_of_layers = values.pop("attention_heads_per_layer", ())
    pruned = {
        str(layer): list(range(heads, values["num_attention_heads"]))
        for layer, heads in enumerate(heads_of_layers)
        if heads < values["num_attention_heads"]
    }
    values |= {PRUNED: pruned} if pruned else {}
    fixed = {name: value for name, value in FIXED_SETTINGS.items() if name not in NOT_WRITTEN}
    return (
        values
        | fixed
        | {
            "model_type": BERT,
            "hidden_act": OUR_ACTIVATIONS[values["hidden_act"]],
            "pad_token_id": 0,
            "tie_word_embeddings": values.get("tie_word_embeddings", True),
        }
    )


def reject_settings(values, unsupported, reader):
    """Raises InputError if a config has settings that `reader` does not support, or no segments.

    Args:
      values: Result of BertConfig.to_dict.
      unsupported: Names of settings.
      reader: str. Name of the program, for the message.
    """
    for name in unsupported:
        if name in values:
            raise InputError(f"{name} is {values[name]}: not supported by {reader}")
    if not values["type_vocab_size"]:
        raise InputError(f"type_vocab_size is 0: not supported by {reader}")


def _heads_left(values):
    """Counts the remaining heads of each layer.

    Args:
      values: Dict of a config.json with `pruned_heads`.

    Returns:
      List of int.
    """
    pruned = values[PRUNED]
    layers = values["num_hidden_layers"]
    heads = values["num_attention_heads"]
    if not isinstance(pruned, dict) or not all(
        str(layer).isdecimal()
        and int(layer) < layers
        and isinstance(indices, list)
        and set(indices) < set(range(heads))
        for layer, indices in pruned.items()
    ):
        raise InputError(
            f"{PRUNED} is {pruned!r}: must map layer numbers to lists of some of their heads, but "
            "not all"
        )
    left = [heads] * layers
    for layer, indices in pruned.items():
        left[int(layer)] -= len(set(indices))
    return left
