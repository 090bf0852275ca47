"""Hugging Face's files: `config.json` with `model.safetensors`, in the names and layouts that transformers writes.

Its linear kernels are [out, in], so they are transposed. Its "gelu" is the exact erf form and becomes "gelu_exact"
here; its "gelu_new" is the tanh form, the original's. The masked LM's output kernel is the word table itself (tied)
and is not stored. `pytorch_model.bin` is a pickle, which can run any code when it is loaded: it is refused.
"""

import dataclasses
import functools
import json
import os
import re
import shutil

import numpy as np
import safetensors
import safetensors.numpy

from bert_tf.checkpoints.tensors import NEXT_SENTENCE, WORD_EMBEDDINGS, Checkpoint, StoredTensor
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.files import exists, is_file, local_copy, new_files, read_json_object

KIND = "Hugging Face model"

WEIGHTS_NAME = "model.safetensors"
CONFIG_NAME = "config.json"
PICKLE_NAME = "pytorch_model.bin"
PICKLE_SUFFIXES = (".bin", ".pt", ".pth")
WEIGHTS_SUFFIXES = (".safetensors", *PICKLE_SUFFIXES)  # those of pickles only to say why they are refused

ACTIVATIONS = {"gelu": "gelu_exact", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu", "relu": "relu", "tanh": "tanh",
               "linear": "linear"}
OUR_ACTIVATIONS = {"gelu": "gelu_new", "gelu_exact": "gelu", "relu": "relu", "tanh": "tanh", "linear": "linear"}

# What transformers takes for a key that config.json lacks, where BertConfig's default is another.
DEFAULTS = {"vocab_size": 30522, "type_vocab_size": 2, "hidden_act": "gelu"}

# Settings that change the numbers, and the only value that this project computes.
FIXED_SETTINGS = {"model_type": "bert", "layer_norm_eps": 1e-12, "position_embedding_type": "absolute",
                  "is_decoder": False, "add_cross_attention": False, "pruned_heads": {}, "quantization_config": None}

WHOLE_NAMES = {
    "cls/predictions/output_bias": "cls.predictions.bias",
    f"{NEXT_SENTENCE}output_weights": "cls.seq_relationship.weight",
    f"{NEXT_SENTENCE}output_bias": "cls.seq_relationship.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
}
CANONICAL_NAMES = {key: name for name, key in WHOLE_NAMES.items()}
TIED_KERNEL = "cls.predictions.decoder.weight"
NO_WEIGHTS = ("cls.predictions.decoder.bias", "bert.embeddings.position_ids")  # another name of the bias; 0, 1, 2...

SCOPES = ("bert/", "cls/predictions/transform/")  # of the other canonical names


def weights_in(folder):
    """The path of a folder's model.safetensors, or else of its pytorch_model.bin; None if it has neither."""
    for name in (WEIGHTS_NAME, PICKLE_NAME):
        path = os.path.join(folder, name)
        if is_file(path):
            return path
    return None


def read(path):
    """Opens a .safetensors file, and the config.json beside it if there is one.

    Raises:
      InputError: naming the file, for a pickle, a damaged file, a file without BERT's word table, an
        output kernel that is not tied to it, or a config that this project does not compute.
    """
    path = os.fspath(path)
    _refuse_pickle(path)
    try:
        with local_copy(path) as local:  # mapped into memory, a copy need not stay
            file = safetensors.safe_open(local, framework="numpy")
    except (safetensors.SafetensorError, OSError) as error:  # OSError: a folder of that name, say
        raise InputError(f"{path}: is no safetensors file, or a damaged one: {error}") from error
    tensors = {}
    for key in file.keys():  # noqa: SIM118 - safe_open is no mapping
        name = canonical_name(key)
        if name is not None:
            tensors[name] = _stored(file, key, transposed=name.endswith("/kernel"))
    if WORD_EMBEDDINGS not in tensors:
        raise InputError(f"{path}: is not of a BERT model, it has no bert.embeddings.word_embeddings.weight")
    tied = tensors.pop(TIED_KERNEL, None)
    if tied is not None and not np.array_equal(tied.read(), tensors[WORD_EMBEDDINGS].read()):
        raise InputError(f"{path}: {TIED_KERNEL} differs from the word embeddings: a masked language model whose "
                         "output kernel is not tied to them is not supported")
    config, settings = None, {}
    if exists(os.path.join(os.path.dirname(path), CONFIG_NAME)):
        config = read_config(os.path.dirname(path))
        settings = {name: getattr(config, name) for name in ("hidden_act", "num_attention_heads")}
    return Checkpoint(path, KIND, tensors, config, settings)


def read_config(folder):
    """The BertConfig of a folder's config.json.

    Raises:
      InputError: naming the file and the setting that this project does not compute.
    """
    path = os.path.join(folder, CONFIG_NAME)
    values = read_json_object(path)
    try:
        return _config_from_dict(values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write(folder, tensors, config):
    """Writes model.safetensors and config.json as transformers' save_pretrained does.

    The model class in config.json is the one that the heads belong to, BertModel if there is none; a classifier is
    called a BertForSequenceClassification, since its tensors are those of a token classifier too.

    Args:
      folder: where the files go; made if missing. Files of these names are replaced.
      tensors: {canonical name: StoredTensor}. They are in memory together, once.
      config: BertConfig of the model.

    Returns:
      The names that the format has no place for, sorted: those of no BERT model.
    """
    keys = {name: key_of(name) for name in tensors}
    left_out = tuple(sorted(name for name, key in keys.items() if key is None))
    architecture = _architecture(tensors)
    arrays = {}
    for name in sorted(set(tensors) - set(left_out)):
        value = tensors[name].read()
        key = keys[name].removeprefix("bert.") if architecture == "BertModel" else keys[name]
        # safetensors writes the bytes as they lie in memory, whatever the strides.
        arrays[key] = np.ascontiguousarray(value.T if name.endswith("/kernel") else value)
    labels = tensors["output_bias"].shape[0] if "output_bias" in tensors else None
    with new_files(folder) as unfinished:
        config_path, weights_path = (os.path.join(unfinished, name) for name in (CONFIG_NAME, WEIGHTS_NAME))
        with open(config_path, "w", encoding="utf-8") as file:
            file.write(_config_to_json(config, architecture, labels))
        safetensors.numpy.save_file(arrays, weights_path, metadata={"format": "pt"})
        shutil.copymode(config_path, weights_path)  # safetensors lets nobody but the owner read its file
    return left_out


def canonical_name(key):
    """The canonical name of a tensor in a .safetensors file; None for what holds no weights of its own.

    The names of a plain BertModel are those without "bert." in front. A key of no BERT model stays as it is.
    """
    if key in CANONICAL_NAMES:
        return CANONICAL_NAMES[key]
    if key.startswith(("embeddings.", "encoder.", "pooler.")):
        key = f"bert.{key}"
    if key == TIED_KERNEL or not key.startswith(("bert.", "cls.")):
        return key
    if key in NO_WEIGHTS:
        return None
    name = re.sub(r"\.layer\.(\d+)\.", r".layer_\1.", key).replace(".", "/")
    scope, _, leaf = name.rpartition("/")
    if scope.endswith("_embeddings"):
        return scope
    if scope.endswith("/LayerNorm"):  # gamma and beta: files of before 2020
        return f"{scope}/{ {'weight': 'gamma', 'bias': 'beta'}.get(leaf, leaf) }"
    return f"{scope}/kernel" if leaf == "weight" else name


def key_of(name):
    """The key of a canonical name in a .safetensors file; None if it has none."""
    if name in WHOLE_NAMES:
        return WHOLE_NAMES[name]
    if not name.startswith(SCOPES):
        return None
    if name.endswith("_embeddings"):
        name = f"{name}/weight"
    scope, _, leaf = name.rpartition("/")
    leaf = {"kernel": "weight", "gamma": "weight", "beta": "bias"}.get(leaf, leaf)
    return re.sub(r"/layer_(\d+)/", r"/layer/\1/", f"{scope}/{leaf}").replace("/", ".")


def _refuse_pickle(path):
    if path.endswith(PICKLE_SUFFIXES):
        raise InputError(f"{path}: is a pickle, which can run any code when it is loaded. Where transformers is "
                         "installed, convert it with AutoModelForPreTraining.from_pretrained(FOLDER)"
                         f".save_pretrained(NEW_FOLDER), which writes {WEIGHTS_NAME}")


def _stored(file, key, transposed):
    """A tensor of an open safetensors file as StoredTensor."""
    shape = file.get_slice(key).get_shape()
    tensor = StoredTensor(shape, functools.partial(file.get_tensor, key))
    return tensor.map(shape[::-1], np.transpose) if transposed else tensor


def _config_from_dict(values):
    for name, only in FIXED_SETTINGS.items():
        value = values.get(name)
        if value is not None and value != only:
            raise InputError(f"{name} is {value!r}: " + ("it is not supported" if only is None
                                                         else f"only {only!r} is supported"))
    fields = {field.name for field in dataclasses.fields(BertConfig)}
    known = DEFAULTS | {name: value for name, value in values.items() if name in fields}
    if known["hidden_act"] not in tuple(ACTIVATIONS):  # JSON may hold a list, which no dict can be asked for
        raise InputError(f"hidden_act is {known['hidden_act']!r}: it must be one of {', '.join(ACTIVATIONS)}")
    return BertConfig.from_dict(known | {"hidden_act": ACTIVATIONS[known["hidden_act"]]})


def _config_to_json(config, architecture, num_labels):
    """The text of config.json; `num_labels` is None for a model without a classifier."""
    values = config.to_dict() | FIXED_SETTINGS | {
        "architectures": [architecture], "hidden_act": OUR_ACTIVATIONS[config.hidden_act], "pad_token_id": 0,
        "tie_word_embeddings": True}
    for name in ("pruned_heads", "quantization_config"):  # transformers leaves them out where there are none
        del values[name]
    if num_labels is not None:
        labels = [f"LABEL_{number}" for number in range(num_labels)]
        values["id2label"] = {str(number): label for number, label in enumerate(labels)}
        values["label2id"] = {label: number for number, label in enumerate(labels)}
    return json.dumps(values, indent=2, sort_keys=True) + "\n"


def _architecture(names):
    """The model class of transformers that has these canonical tensors."""
    if "cls/predictions/output_bias" in names:
        return "BertForPreTraining" if f"{NEXT_SENTENCE}output_weights" in names else "BertForMaskedLM"
    if "cls/squad/output_weights" in names:
        return "BertForQuestionAnswering"
    return "BertForSequenceClassification" if "output_weights" in names else "BertModel"
