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

# Settings that change the numbers, and the only value that this project computes.
FIXED_SETTINGS = {"model_type": "bert", "layer_norm_eps": 1e-12, "position_embedding_type": "absolute",
                  "is_decoder": False, "is_encoder_decoder": False, "add_cross_attention": False, "pruned_heads": {},
                  "quantization_config": None}
NOT_WRITTEN = ("is_encoder_decoder", "pruned_heads", "quantization_config")  # transformers leaves them out, as they are

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
    return values | {"hidden_act": ACTIVATIONS[values["hidden_act"]]}


def of_bert(values):
    """The dict of a config.json for what BertConfig.to_dict gives."""
    fixed = {name: value for name, value in FIXED_SETTINGS.items() if name not in NOT_WRITTEN}
    return values | fixed | {"hidden_act": OUR_ACTIVATIONS[values["hidden_act"]], "pad_token_id": 0,
                             "tie_word_embeddings": True}
