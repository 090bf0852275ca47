"""Checkpoints and SavedModels of tf-models-official.

A checkpoint is a tf.train.Checkpoint of its BertEncoder or BertPretrainerV2.

They are read by variable name. These names are the same for `networks.BertEncoder` and
`BertEncoderV2` and for all objects that contain them. They are written as the objects that the
Model Garden's restoring code expects:

    tf.train.Checkpoint(encoder=encoder)
    tf.train.Checkpoint(model=pretrainer)
    tf.train.Checkpoint(**pretrainer.checkpoint_items)

Its attention kernels are [H, N, D] (query, key, value) and [N, D, H] (output): H hidden, N heads, D
head width. Its next sentence head has its own pooler, which corresponds to BERT's pooler; the
encoder's pooler is then unused.
"""

import functools
import os
import re

import numpy as np

from bert_tf.checkpoints import original, saved_models
from bert_tf.checkpoints.folder import Folder
from bert_tf.checkpoints.huggingface_config import OWN_SETTINGS, reject_settings
from bert_tf.checkpoints.model_garden_config import (
    PARAMS_NAME,
    SUFFIXES,
    get_garden_casing,
    read_yaml,
    to_bert_config,
)
from bert_tf.checkpoints.origin import Casing, Origin, open_tensorflow_file
from bert_tf.checkpoints.tensors import Checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.files import new_files
from bert_tf.variables import (
    NEXT_SENTENCE,
    OUTPUT_BIAS,
    OUTPUT_MATRIX,
    POSITION_EMBEDDINGS,
    TOKEN_TYPE_EMBEDDINGS,
    WORD_EMBEDDINGS,
)

FORMAT_NAME = "Model Garden checkpoint"

# Scope of this project's variables -> attributes of the encoder (or of one of its layers) that lead
# to the object, and the scope of that object's variables.
ENCODER_PARTS = {
    "bert/embeddings/LayerNorm": ("_embedding_norm_layer", "embeddings/layer_norm"),
    "bert/pooler/dense": ("_pooler_layer", "pooler_transform"),
}
TABLES = {
    WORD_EMBEDDINGS: ("_embedding_layer", "word_embeddings/embeddings"),
    POSITION_EMBEDDINGS: ("_position_embedding_layer", "position_embedding/embeddings"),
    TOKEN_TYPE_EMBEDDINGS: ("_type_embedding_layer", "type_embeddings/embeddings"),
}
LAYER_PARTS = {
    "attention/self/query": ("_attention_layer/_query_dense", "self_attention/query"),
    "attention/self/key": ("_attention_layer/_key_dense", "self_attention/key"),
    "attention/self/value": ("_attention_layer/_value_dense", "self_attention/value"),
    "attention/output/dense": ("_attention_layer/_output_dense", "self_attention/attention_output"),
    "attention/output/LayerNorm": ("_attention_layer_norm", "self_attention_layer_norm"),
    "intermediate/dense": ("_intermediate_dense", "intermediate"),
    "output/dense": ("_output_dense", "output"),
    "output/LayerNorm": ("_output_layer_norm", "output_layer_norm"),
}
HEAD_PARTS = {
    "cls/predictions/transform/dense": ("dense", "cls/predictions/transform/dense"),
    "cls/predictions/transform/LayerNorm": ("layer_norm", "cls/predictions/transform/LayerNorm"),
}
NEXT_SENTENCE_POOLER = "next_sentence/pooler_dense"

# Paths of attributes at which its loaders expect objects.
ENCODERS = ("encoder", "model", "model/encoder_network")
MASKED_LMS = ("masked_lm", "model/masked_lm")
NEXT_SENTENCE_POOLERS = ("next_sentence.pooler_dense", "model/classification_heads/0/dense")

OTHER_WEIGHTS = (".index", ".safetensors", ".safetensors.index.json")  # Ends of names of files.
OPTIMIZER = "optimizer/"  # The item under which its training loop saves it.
COUNTERS = ("save_counter", "global_step")
NOT_WEIGHTS = (OPTIMIZER, saved_models.CASING)  # Starts of keys.

LAYER_VARIABLE = re.compile(r"transformer/layer_(\d+)/(.+)/(kernel|bias|gamma|beta)$")
LAYER_SCOPES = {scope: part for part, (_, scope) in LAYER_PARTS.items()}
PART_SCOPES = {scope: part for part, (_, scope) in (ENCODER_PARTS | HEAD_PARTS).items()}
WHOLE_NAMES = {name: table for table, (_, name) in TABLES.items()} | {
    f"{OUTPUT_BIAS}/bias": OUTPUT_BIAS,
    "next_sentence/logits/kernel": f"{NEXT_SENTENCE}output_weights",
    "next_sentence/logits/bias": f"{NEXT_SENTENCE}output_bias",
}


class ModelGarden(Origin):
    """tf-models-official: its checkpoints, and its SavedModels on TF Hub and Kaggle Models.

    A SavedModel has no config; its variables show the sizes.
    """

    vocabulary_names = (saved_models.VOCABULARY_PATH,)

    def find_outer_folder(self, directory, folder):
        """Returns the directory of a SavedModel for its variables/."""
        path, name = os.path.split(folder.path)
        parent = Folder.read(path or os.curdir) if name == saved_models.VARIABLES_FOLDER else None
        return parent if parent and saved_models.is_encoder(directory, parent) else None

    def find_config(self, directory, folder):
        """Returns the path of a YAML file, or of a saved_model.pb, which shows the sizes."""
        if folder.exists(PARAMS_NAME):
            return folder.join(PARAMS_NAME)
        if saved_models.is_encoder(directory, folder):
            return folder.join(saved_models.SAVED_MODEL_NAME)
        return None

    def read_config(self, directory, path):
        """Reads a config; a SavedModel does not show its activation, so "gelu" is assumed."""
        if path.endswith(SUFFIXES):
            return to_bert_config(directory.read(read_yaml, path), path)
        if os.path.basename(path) == saved_models.SAVED_MODEL_NAME:
            shapes = directory.read(saved_models.read_variables, path)
            return BertConfig.from_dict(saved_models.get_sizes(shapes, path))
        return None

    def read_casings(self, directory):
        """Yields the casings of a SavedModel and of a YAML file."""
        for folder in directory.folders:
            if saved_models.is_encoder(directory, folder):
                path = folder.join(saved_models.SAVED_MODEL_NAME)
                yield Casing(saved_models.read_casing(path), None, path)
        path = directory.find(PARAMS_NAME)
        if path:
            yield Casing(get_garden_casing(directory.read(read_yaml, path)), None, path)

    def find_weights(self, directory):
        """Returns the variables of a SavedModel, if there are no other weights."""
        folder = directory.folder
        is_alone = not any(name.endswith(OTHER_WEIGHTS) for name in folder.names)
        if directory.name is None and is_alone and saved_models.is_encoder(directory, folder):
            return folder.join(saved_models.VARIABLES_NAME)
        return None

    def list_weight_files(self, directory, path):
        """Returns the index and the data files of the checkpoint."""
        return original.list_tensorflow_files(path)

    def read_weights(self, directory, path):
        """Reads a checkpoint with the Model Garden's names of variables."""
        file = directory.read(open_tensorflow_file, path)
        is_garden = WORD_EMBEDDINGS in map(to_canonical_name, file.variable_names.values())
        return read(file) if is_garden else None

    def describe_weights(self, directory, path):
        """Returns the name of the first variable."""
        return original.ORIGINAL.describe_weights(directory, path)


MODEL_GARDEN = ModelGarden()


def read(file):
    """Reads a TensorFlowFile, without optimizer state.

    Raises:
      InputError: If it contains two encoders.
    """
    tensors = {}
    settings = {}
    for key, name in sorted(file.variable_names.items()):
        if key.startswith(NOT_WEIGHTS) or name in COUNTERS:
            continue
        canonical = to_canonical_name(name) or name
        stored = file.tensor(key)
        if canonical in tensors:
            raise InputError(
                f"{file.prefix}: the checkpoint contains {canonical} more than once, in two "
                "encoders"
            )
        axis = _find_head_axis(canonical)
        if axis is not None and len(stored.shape) == (3 if canonical.endswith("kernel") else 2):
            settings["num_attention_heads"] = stored.shape[axis]
            shape = [
                *stored.shape[:axis],
                stored.shape[axis] * stored.shape[axis + 1],
                *stored.shape[axis + 2 :],
            ]
            stored = stored.map(shape, functools.partial(np.reshape, shape=shape))
        elif canonical == f"{NEXT_SENTENCE}output_weights":
            stored = stored.map(stored.shape[::-1], np.transpose)
        tensors[canonical] = stored
    for leaf in ("kernel", "bias"):
        trained = f"{NEXT_SENTENCE_POOLER}/{leaf}"
        if trained in tensors:
            tensors[f"bert/pooler/dense/{leaf}"] = tensors.pop(trained)
    return Checkpoint(file.prefix, FORMAT_NAME, tensors, settings)


def to_canonical_name(name):
    """Returns the canonical name of a variable; None for an unknown one.

    The next sentence head's own pooler keeps its name. A prefix with the name of the model that
    contains the encoder is ignored.
    """
    match = LAYER_VARIABLE.search(name)
    if match and match[2] in LAYER_SCOPES:
        return f"bert/encoder/layer_{match[1]}/{LAYER_SCOPES[match[2]]}/{match[3]}"
    parts = name.split("/")
    for start in range(len(parts)):
        suffix = "/".join(parts[start:])
        if suffix in WHOLE_NAMES:
            return WHOLE_NAMES[suffix]
        scope, _, leaf = suffix.rpartition("/")
        if scope in PART_SCOPES:
            return f"{PART_SCOPES[scope]}/{leaf}"
        if scope == NEXT_SENTENCE_POOLER:
            return suffix
    return None


def write(folder, tensors, config):
    """Writes `bert_model.ckpt` and `bert_config.json`.

    The objects belong to an encoder, or to a pretrainer if there is a masked LM head.

    For the arguments, see `original.write`.

    Returns:
      Tuple of str. Sorted names of tensors that the format does not support: heads of classifiers
      and span labelers, which are separate models in tf-models-official.

    Raises:
      InputError: If the Model Garden does not support a setting of the model.
    """
    unsupported = ["attention_heads_per_layer", *OWN_SETTINGS]
    if OUTPUT_MATRIX in tensors:
        unsupported.append("tie_word_embeddings")
    reject_settings(config.to_dict(), unsupported, "the Model Garden's encoder")
    import tensorflow as tf

    objects = {}
    left_out = []
    for canonical, tensor in sorted(tensors.items()):
        variables = _find_variables(canonical, f"{NEXT_SENTENCE}output_weights" in tensors)
        if not variables:
            left_out.append(canonical)
            continue
        value = tensor.read()
        axis = _find_head_axis(canonical)
        if axis is not None:
            value = value.reshape(
                [*value.shape[:axis], config.num_attention_heads, -1, *value.shape[axis + 1 :]]
            )
        elif canonical == f"{NEXT_SENTENCE}output_weights":
            value = value.T
        for name, paths in variables.items():
            variable = tf.Variable(value, name=name)
            for path in paths:
                *parents, attribute = path.split("/")
                parent = objects
                for each in parents:
                    parent = parent.setdefault(each, {})
                parent[attribute] = variable
    root = _make_trackable(objects)
    # Without this counter, assert_existing_objects_matched fails after restore().
    root.save_counter.assign_add(1)
    with new_files(folder) as unfinished:
        root.write(os.path.join(unfinished, original.CHECKPOINT_NAME))
        original.write_config(unfinished, config)
    return tuple(left_out)


def _find_variables(canonical, has_next_sentence):
    """Returns the variables with the value of a canonical tensor.

    Each object restores one other object, so the next sentence head's pooler is not the encoder's.

    Returns:
      Dict of variable name to a list of paths of attributes that lead to it.
    """

    def below(parents, path):
        return [f"{parent}/{path}" for parent in parents]

    if canonical in TABLES:
        attribute, name = TABLES[canonical]
        users = MASKED_LMS if canonical == WORD_EMBEDDINGS else ()
        return {name: below(ENCODERS, f"{attribute}/embeddings") + below(users, "embedding_table")}
    if canonical == OUTPUT_BIAS:
        return {
            f"bert/{OUTPUT_BIAS}/bias": below(MASKED_LMS, "bias")
            + below(MASKED_LMS, "output_bias/bias")
        }
    scope, _, leaf = canonical.rpartition("/")
    if scope in HEAD_PARTS:
        attribute, name = HEAD_PARTS[scope]
        return {f"bert/{name}/{leaf}": below(MASKED_LMS, f"{attribute}/{leaf}")}
    if scope in ENCODER_PARTS:
        attribute, name = ENCODER_PARTS[scope]
        variables = {f"{name}/{leaf}": below(ENCODERS, f"{attribute}/{leaf}")}
        if scope == "bert/pooler/dense" and has_next_sentence:
            variables[f"bert/{NEXT_SENTENCE_POOLER}/{leaf}"] = below(NEXT_SENTENCE_POOLERS, leaf)
        return variables
    if canonical.startswith(NEXT_SENTENCE):
        leaf = "kernel" if canonical.endswith("weights") else "bias"
        return {
            f"bert/next_sentence/logits/{leaf}": [f"model/classification_heads/0/out_proj/{leaf}"]
        }
    match = re.fullmatch(r"bert/encoder/layer_(\d+)/(.+)", scope)
    if match:
        attribute, name = LAYER_PARTS[match[2]]
        return {
            f"transformer/layer_{match[1]}/{name}/{leaf}": below(
                ENCODERS, f"_transformer_layers/{match[1]}/{attribute}/{leaf}"
            )
        }
    return {}


def _make_trackable(attributes):
    """Returns a trackable object with these attributes.

    `attributes`: Dict of name to a variable or to the dict of an object.
    """
    import tensorflow as tf

    return tf.train.Checkpoint(
        **{
            name: _make_trackable(value) if isinstance(value, dict) else value
            for name, value in attributes.items()
        }
    )


def _find_head_axis(name):
    """Returns the axis of a canonical tensor that is two axes in the format, [N, D].

    None without heads.
    """
    if "/attention/self/" in name:
        return 1 if name.endswith("kernel") else 0
    return 0 if name.endswith("/attention/output/dense/kernel") else None
