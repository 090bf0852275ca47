"""Hugging Face's `config.json`: which of its keys a BERT's config is made of, and what this project does not compute.

Keys that change no number, such as `use_cache` or `torch_dtype`, are passed over. Its "gelu" is the exact erf form and
becomes "gelu_exact"; its "gelu_new" is the tanh form, the original's.
"""

from bert_tf.errors import InputError

CONFIG_NAME = "config.json"

ACTIVATIONS = {"gelu": "gelu_exact", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu", "relu": "relu", "tanh": "tanh",
               "linear": "linear"}
OUR_ACTIVATIONS = {"gelu": "gelu_new", "gelu_exact": "gelu", "relu": "relu", "tanh": "tanh", "linear": "linear"}

# What transformers takes for a key that config.json lacks, where BertConfig's default is another.
DEFAULTS = {"vocab_size": 30522, "type_vocab_size": 2, "hidden_act": "gelu"}
DEFAULT_LAYERS, DEFAULT_HEADS = 12, 12

# Settings that change the numbers, and the only value that this project computes.
FIXED_SETTINGS = {"model_type": "bert", "layer_norm_eps": 1e-12, "position_embedding_type": "absolute",
                  "is_decoder": False, "is_encoder_decoder": False, "add_cross_attention": False,
                  "quantization_config": None}
NOT_WRITTEN = ("is_encoder_decoder", "quantization_config")  # transformers leaves them out, as they are

# Settings of BertConfig that no BERT of transformers has.
WITHOUT_PLACE = ("intermediate_size_per_layer", "embedding_size", "num_hidden_groups")
PRUNED = "pruned_heads"

MARKS = ("model_type", "architectures", "transformers_version")  # keys that tell its configs from the original's


def is_hugging_face(values):
    """Whether a dict of JSON values is of Hugging Face's config.json, not of a bert_config.json."""
    return any(key in values for key in MARKS)


def to_bert(values):
    """The dict of a config.json with the values that BertConfig has for its keys; other keys stay as they are.

    Raises:
      InputError: naming the key, for a model that this project does not compute.
    """
    for name, only in FIXED_SETTINGS.items():
        value = values.get(name)
        if value is not None and value != only:
            raise InputError(f"{name} is {value!r}: " + ("it is not supported" if only is None
                                                         else f"only {only!r} is supported"))
    width = values.get("embedding_size")
    if width is not None and width != values.get("hidden_size", width):
        raise InputError(f"embedding_size is {width!r}: only that of hidden_size, {values['hidden_size']!r}, is "
                         "supported")
    values = DEFAULTS | values
    if values["hidden_act"] not in tuple(ACTIVATIONS):  # JSON may hold a list, which no dict can be asked for
        raise InputError(f"hidden_act is {values['hidden_act']!r}: it must be one of {', '.join(ACTIVATIONS)}")
    values |= {"hidden_act": ACTIVATIONS[values["hidden_act"]]}
    return values | {"attention_heads_per_layer": _heads_left(values)} if values.get(PRUNED) else values


def of_bert(values):
    """The dict of a config.json for what BertConfig.to_dict gives.

    Of pruned heads transformers asks for numbers, to make its layers smaller by so many. Which they were does not
    matter once they are gone: the last ones are named.

    Raises:
      InputError: naming the setting, for a model that transformers does not compute.
    """
    for name in WITHOUT_PLACE:
        if name in values:
            raise InputError(f"{name} is {values[name]}: Hugging Face's BERT has no such setting")
    values = dict(values)
    heads_of_layers = values.pop("attention_heads_per_layer", ())
    pruned = {str(layer): list(range(heads, values["num_attention_heads"]))
              for layer, heads in enumerate(heads_of_layers) if heads < values["num_attention_heads"]}
    values |= {PRUNED: pruned} if pruned else {}
    fixed = {name: value for name, value in FIXED_SETTINGS.items() if name not in NOT_WRITTEN}
    return values | fixed | {"hidden_act": OUR_ACTIVATIONS[values["hidden_act"]], "pad_token_id": 0,
                             "tie_word_embeddings": True}


def _heads_left(values):
    """How many heads each layer has left, list of int, by the dict of a config.json with `pruned_heads`."""
    layers, heads = (values.get("num_hidden_layers", DEFAULT_LAYERS), values.get("num_attention_heads", DEFAULT_HEADS))
    pruned = values[PRUNED]
    if not isinstance(pruned, dict) or not all(
            str(layer).isdecimal() and int(layer) < layers and isinstance(numbers, list)
            and set(numbers) < set(range(heads)) for layer, numbers in pruned.items()):
        raise InputError(f"{PRUNED} is {pruned!r}: it must be numbers of layers, each with a list of some of its "
                         "heads, not of all")
    left = [heads] * layers
    for layer, numbers in pruned.items():
        left[int(layer)] -= len(set(numbers))
    return left
