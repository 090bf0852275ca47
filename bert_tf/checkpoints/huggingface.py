"""Hugging Face's files: `config.json` with `model.safetensors`, in the names and layouts that transformers writes.

Its linear kernels are [out, in], so they are transposed. Its "gelu" is the exact erf form and becomes "gelu_exact"
here; its "gelu_new" is the tanh form, the original's. The masked LM's output kernel is the word table itself (tied)
and is not stored. `pytorch_model.bin` is a pickle, which can run any code when it is loaded: it is refused.
"""

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
from bert_tf.files import exists, local_copy, new_files, read_json_object
from bert_tf.huggingface_config import CONFIG_NAME, of_bert
from bert_tf.model_folder import Task, check_no_pickle
from bert_tf.model_folder.tasks import generic_labels, settings_of_task
from bert_tf.model_folder.tokenizers import TOKENIZER_CONFIG_NAME
from bert_tf.model_folder.weights import SHARDED_NAME, WEIGHTS_NAME
from bert_tf.tasks import KINDS, Classifier

KIND = "Hugging Face model"

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


def read(path):
    """Opens a .safetensors file, or the index of several, and the config.json beside it if there is one.

    Raises:
      InputError: naming the file, for a pickle, a missing or damaged file, files without BERT's word table, an
        output kernel that is not tied to it, or a config that this project does not compute.
    """
    path = os.fspath(path)
    check_no_pickle(path)
    tensors = {}
    for file, keys in _open_all(path):
        for key in keys:
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
        return BertConfig.from_hugging_face(values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write(folder, tensors, config, task=None, tokenizer=None):
    """Writes model.safetensors and config.json as transformers' save_pretrained does.

    Args:
      folder: where the files go; made if missing. Files of these names are replaced.
      tensors: {canonical name: StoredTensor}. They are in memory together, once.
      config: BertConfig of the model.
      task: bert_tf.model_folder.Task of a fine-tuned model, whose class and labels config.json names. None takes the
        class that the heads belong to, BertModel if there is none, and for a classifier's head, which a token
        classifier has too, BertForSequenceClassification with labels that have no names.
      tokenizer: bert_tf.model_folder.TokenizerFiles, for whose casing tokenizer_config.json is written, or None.

    Returns:
      The names that the format has no place for, sorted: those of no BERT model.

    Raises:
      InputError: the task has another number of labels than the head, or transformers does not compute the model.
    """
    keys = {name: key_of(name) for name in tensors}
    left_out = tuple(sorted(name for name, key in keys.items() if key is None))
    of_model = of_bert(config.to_dict()) | settings_of_model(tensors, task)
    arrays = {}
    for name in sorted(set(tensors) - set(left_out)):
        value = tensors[name].read()
        key = keys[name].removeprefix("bert.") if of_model["architectures"] == ["BertModel"] else keys[name]
        # safetensors writes the bytes as they lie in memory, whatever the strides.
        arrays[key] = np.ascontiguousarray(value.T if name.endswith("/kernel") else value)
    with new_files(folder) as unfinished:
        config_path, weights_path = (os.path.join(unfinished, name) for name in (CONFIG_NAME, WEIGHTS_NAME))
        _write_json(config_path, of_model)
        try:
            safetensors.numpy.save_file(arrays, weights_path, metadata={"format": "pt"})
        except safetensors.SafetensorError as error:  # a full disk, for example
            raise OSError(f"{os.path.join(folder, WEIGHTS_NAME)}: cannot be written: {error}") from error
        shutil.copymode(config_path, weights_path)  # safetensors lets nobody but the owner read its file
        if tokenizer is not None:
            _write_json(os.path.join(unfinished, TOKENIZER_CONFIG_NAME), _tokenizer_config(tokenizer, config))
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


def _open_all(path):
    """Yields the open safetensors files of a path, one or what an index names, and the keys to take of each."""
    if not path.endswith(SHARDED_NAME):
        file = _open(path)
        yield file, file.keys()
        return
    places = _places(path)
    for name in sorted(set(places.values())):
        part = os.path.join(os.path.dirname(path), name)
        if not exists(part):
            raise InputError(f"{path}: names {name}, which is not there: the checkpoint is not whole")
        file, keys = _open(part), [key for key, place in places.items() if place == name]
        missing = set(keys) - set(file.keys())
        if missing:
            raise InputError(f"{path}: says that {min(missing)} is in {name}, which has no such tensor")
        yield file, keys


def files_of(path):
    """The files that hold the weights of what `read` reads, list of str, an index among them."""
    if not path.endswith(SHARDED_NAME):
        return [path]
    return [path, *(os.path.join(os.path.dirname(path), name) for name in sorted(set(_places(path).values())))]


def _places(path):
    """The weight_map of an index of several files: dict of tensor -> name of the file beside it."""
    places = read_json_object(path).get("weight_map")
    if not isinstance(places, dict) or not all(_is_file_name(name) for name in places.values()):
        raise InputError(f"{path}: is damaged: it has no weight_map of tensors to the files beside it")
    return places


def _is_file_name(name):
    return isinstance(name, str) and name != "" and os.path.basename(name) == name


def _open(path):
    """An open safetensors file; OSError names a remote one that cannot be read."""
    with local_copy(path) as local:  # mapped into memory, a copy need not stay
        try:
            return safetensors.safe_open(local, framework="numpy")
        except (safetensors.SafetensorError, OSError) as error:  # OSError: a folder of that name, say
            raise InputError(f"{path}: is no safetensors file, or a damaged one: {error}") from error


def _stored(file, key, transposed):
    """A tensor of an open safetensors file as StoredTensor."""
    shape = file.get_slice(key).get_shape()
    tensor = StoredTensor(shape, functools.partial(file.get_tensor, key))
    return tensor.map(shape[::-1], np.transpose) if transposed else tensor


def settings_of_model(tensors, task):
    """The keys of config.json that name the model class of transformers that has these canonical tensors.

    `task` is as `write`'s; InputError if it has another number of labels than the head. One of a kind that Hugging
    Face does not know is passed over.
    """
    if "cls/predictions/output_bias" in tensors:
        return {"architectures": ["BertForPreTraining" if f"{NEXT_SENTENCE}output_weights" in tensors else
                                  "BertForMaskedLM"]}
    for kind in KINDS.values():
        if kind.head_scope and f"{kind.head_scope}output_weights" in tensors:
            return settings_of_task(Task(kind.name))
    if "output_weights" not in tensors:
        return {"architectures": ["BertModel"]}
    outputs = tensors["output_bias"].shape[0]
    if task is None or task.kind not in KINDS or not KINDS[task.kind].hugging_face:
        settings = settings_of_task(Task(Classifier.name, generic_labels(outputs)))
        del settings["problem_type"]  # which nothing tells
        return settings
    if (len(task.labels) or 1) != outputs:
        raise InputError(f"the task has {len(task.labels)} labels, and the model has {outputs} outputs")
    return settings_of_task(task)


def _tokenizer_config(tokenizer, config):
    """The dict of a tokenizer_config.json; it names no casing where none is known."""
    values = {"model_max_length": config.max_position_embeddings, "tokenizer_class": "BertTokenizer",
              "strip_accents": tokenizer.strip_accents}
    return values if tokenizer.do_lower_case is None else values | {"do_lower_case": tokenizer.do_lower_case}


def _write_json(path, values):
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
