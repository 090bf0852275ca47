"""Hugging Face's `config.json`: the keys for the config of a BERT, and settings that this project does not support.

Keys that do not affect the computation, such as `use_cache` or `torch_dtype`, are ignored. Its "gelu" is the exact erf
form, called "gelu_exact" here; its "gelu_new" is the tanh approximation of the original.
"""

from bert_tf.errors import InputError

CONFIG_NAME = "config.json"

ACTIVATIONS = {"gelu": "gelu_exact", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu", "relu": "relu", "tanh": "tanh",
               "linear": "linear"}
OUR_ACTIVATIONS = {"gelu": "gelu_new", "gelu_exact": "gelu", "relu": "relu", "tanh": "tanh", "linear": "linear"}

# Defaults of transformers for missing keys of config.json, if they differ from BertConfig's.
DEFAULTS = {"vocab_size": 30522, "type_vocab_size": 2, "hidden_act": "gelu"}
DEFAULT_LAYERS, DEFAULT_HEADS = 12, 12

# Settings that affect the computation, and the only value that this project supports.
FIXED_SETTINGS = {"model_type": "bert", "layer_norm_eps": 1e-12, "position_embedding_type": "absolute",
                  "is_decoder": False, "is_encoder_decoder": False, "add_cross_attention": False,
                  "quantization_config": None}
NOT_WRITTEN = ("is_encoder_decoder", "quantization_config")  # transformers omits these default values

# Settings of BertConfig that transformers does not support.
UNSUPPORTED_SETTINGS = ("intermediate_size_per_layer", "embedding_size", "num_hidden_groups", "attention",
                        "bilstm_head")
PRUNED = "pruned_heads"

MARKS = ("model_type", "architectures", "transformers_version")  # Keys that only its configs have, not the original's.


def is_hugging_face(values):
    """Returns whether a dict of JSON values is from Hugging Face's config.json, not from a bert_config.json."""
    return any(key in values for key in MARKS)


def to_bert(values):
    """Returns the dict of a config.json with the values of BertConfig for its keys; other keys are unchanged.

    Raises:
      InputError: If this project does not support the model, with the key.
    """
    for name, only in FIXED_SETTINGS.items():
        value = values.get(name)
        if value is not None and value != only:
            raise InputError(f"{name} is {value!r}: " + ("not supported" if only is None
                                                         else f"only {only!r} is supported"))
    width = values.get("embedding_size")
    if width is not None and width != values.get("hidden_size", width):
        raise InputError(f"embedding_size is {width!r}: must be equal to hidden_size "
                         f"({values['hidden_size']!r})")
    values = DEFAULTS | values
    if values["hidden_act"] not in tuple(ACTIVATIONS):  # JSON can contain a list, which is not hashable
        raise InputError(f"hidden_act is {values['hidden_act']!r}: must be one of {', '.join(ACTIVATIONS)}")
    values |= {"hidden_act": ACTIVATIONS[values["hidden_act"]]}
    return values | {"attention_heads_per_layer": _heads_left(values)} if values.get(PRUNED) else values


def from_bert(values):
    """Returns the dict of a config.json for a result of BertConfig.to_dict.

    For pruned heads, transformers requires their numbers, to make its layers smaller. The numbers do not matter after
    the heads are removed, so the last ones are used.

    Raises:
      InputError: If transformers does not support the model, with the setting.
    """
    for name in UNSUPPORTED_SETTINGS:
        if name in values:
            raise InputError(f"{name} is {values[name]}: not supported by Hugging Face's BERT")
    values = dict(values)
    heads_of_layers = values.pop("attention_heads_per_layer", ())
    pruned = {str(layer): list(range(heads, values["num_attention_heads"]))
              for layer, heads in enumerate(heads_of_layers) if heads < values["num_attention_heads"]}
    values |= {PRUNED: pruned} if pruned else {}
    fixed = {name: value for name, value in FIXED_SETTINGS.items() if name not in NOT_WRITTEN}
    return values | fixed | {"hidden_act": OUR_ACTIVATIONS[values["hidden_act"]], "pad_token_id": 0,
                             "tie_word_embeddings": True}


def _heads_left(values):
    """Counts the remaining heads of each layer, a list of int, in the dict of a config.json with `pruned_heads`."""
    layers, heads = (values.get("num_hidden_layers", DEFAULT_LAYERS), values.get("num_attention_heads", DEFAULT_HEADS))
    pruned = values[PRUNED]
    if not isinstance(pruned, dict) or not all(
            str(layer).isdecimal() and int(layer) < layers and isinstance(numbers, list)
            and set(numbers) < set(range(heads)) for layer, numbers in pruned.items()):
        raise InputError(f"{PRUNED} is {pruned!r}: must map layer numbers to lists of some of their heads, but "
                         "not all")
    left = [heads] * layers
    for layer, numbers in pruned.items():
        left[int(layer)] -= len(set(numbers))
    return left
