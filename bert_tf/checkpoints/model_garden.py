"""Checkpoints of tf-models-official: tf.train.Checkpoint of its BertEncoder and BertPretrainerV2, and SavedModels.

They are read by variable name. These names are the same for `networks.BertEncoder` and `BertEncoderV2` and for all
objects that contain them. They are written as the objects that the Model Garden's restoring code expects:

    tf.train.Checkpoint(encoder=encoder)
    tf.train.Checkpoint(model=pretrainer)
    tf.train.Checkpoint(**pretrainer.checkpoint_items)

Its attention kernels are [H, N, D] (query, key, value) and [N, D, H] (output): H hidden, N heads, D head width.
Its next sentence head has its own pooler, which corresponds to BERT's pooler; the encoder's pooler is then unused.
"""

import functools
import os
import re

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import tensorflow_file
from bert_tf.checkpoints.tensors import Checkpoint
from bert_tf.errors import InputError
from bert_tf.files import new_files
from bert_tf.huggingface_config import reject_settings
from bert_tf.model_folder.saved_models import CASING
from bert_tf.variables import NEXT_SENTENCE, OUTPUT_BIAS, POSITION_EMBEDDINGS, TOKEN_TYPE_EMBEDDINGS, WORD_EMBEDDINGS

KIND = "Model Garden checkpoint"

# Scope of this project's variables -> attributes of the encoder (or of one of its layers) that lead to the object, and
# the scope of that object's variables.
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

OPTIMIZER = "optimizer/"  # The item under which its training loop saves it.
COUNTERS = ("save_counter", "global_step")
NOT_WEIGHTS = (OPTIMIZER, CASING)  # Starts of keys.

LAYER_VARIABLE = re.compile(r"transformer/layer_(\d+)/(.+)/(kernel|bias|gamma|beta)$")
LAYER_SCOPES = {scope: part for part, (_, scope) in LAYER_PARTS.items()}
PART_SCOPES = {scope: part for part, (_, scope) in (ENCODER_PARTS | HEAD_PARTS).items()}
WHOLE_NAMES = {name: table for table, (_, name) in TABLES.items()} | {
    f"{OUTPUT_BIAS}/bias": OUTPUT_BIAS,
    "next_sentence/logits/kernel": f"{NEXT_SENTENCE}output_weights",
    "next_sentence/logits/bias": f"{NEXT_SENTENCE}output_bias",
}


def read(file):
    """Reads a TensorFlowFile, without optimizer state.

    Raises:
      InputError: If it contains two encoders, or if a tensor does not have the axes of the format.
    """
    tensors, settings = {}, {}
    for key, name in sorted(file.variable_names.items()):
        if key.startswith(NOT_WEIGHTS) or name in COUNTERS:
            continue
        canonical, stored = canonical_name(name) or name, file.tensor(key)
        if canonical in tensors:
            raise InputError(f"{file.prefix}: the checkpoint contains {canonical} more than once, in two encoders")
        axis = _find_head_axis(canonical)
        if axis is not None:
            rank = 3 if canonical.endswith("kernel") else 2
            if len(stored.shape) != rank:
                raise InputError(f"{file.prefix}: {canonical} has shape {stored.shape}, but must have {rank} axes in a "
                                 "Model Garden checkpoint")
            settings["num_attention_heads"] = stored.shape[axis]
            shape = [*stored.shape[:axis], stored.shape[axis] * stored.shape[axis + 1], *stored.shape[axis + 2:]]
            stored = stored.map(shape, functools.partial(np.reshape, shape=shape))
        elif canonical == f"{NEXT_SENTENCE}output_weights":
            stored = stored.map(stored.shape[::-1], np.transpose)
        tensors[canonical] = stored
    for leaf in ("kernel", "bias"):
        trained = f"{NEXT_SENTENCE_POOLER}/{leaf}"
        if trained in tensors:
            tensors[f"bert/pooler/dense/{leaf}"] = tensors.pop(trained)
    return Checkpoint(file.prefix, KIND, tensors, settings)


def canonical_name(name):
    """Returns the canonical name of a variable; None for an unknown one.

    The next sentence head's own pooler keeps its name. A prefix with the name of the model that contains the encoder is
    ignored.
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
    """Writes `bert_model.ckpt` and `bert_config.json`: an encoder, or a pretrainer if there is a masked LM head.

    For the arguments, see `tf1.write`.

    Returns:
      Tuple of str. Sorted names of tensors that the format does not support: heads of classifiers and span labelers,
      which are separate models in tf-models-official.

    Raises:
      InputError: If the Model Garden does not support a setting of the model.
    """
    reject_settings(config.to_dict(), "the Model Garden's encoder")
    variables = _Variables(tensors, config.num_attention_heads)
    encoder = _encoder(variables, config.num_hidden_layers)
    items = {"encoder": encoder, "model": encoder}
    if OUTPUT_BIAS in tensors:
        items |= _pretrainer(encoder, variables)
    root = _node(items)
    root.save_counter.assign_add(1)  # without it, assert_existing_objects_matched fails after restore()
    with new_files(folder) as unfinished:
        root.write(os.path.join(unfinished, tensorflow_file.CHECKPOINT_NAME))
        tensorflow_file.write_config(unfinished, config)
    return tuple(sorted(set(tensors) - variables.used))


def _encoder(variables, num_layers):
    """Returns the objects of a BertEncoder, by attribute and by number, as in the functional model."""
    named = {attribute: _node({"embeddings": variables.make(table, name)})
             for table, (attribute, name) in TABLES.items()}
    named |= {attribute: variables.dense(part, name) for part, (attribute, name) in ENCODER_PARTS.items()}
    layers = [_layer(variables, number) for number in range(num_layers)]
    in_order = [named["_embedding_layer"], named["_position_embedding_layer"], named["_type_embedding_layer"],
                named["_embedding_norm_layer"], *layers, named["_pooler_layer"]]
    numbered = {f"layer_with_weights-{number}": layer for number, layer in enumerate(in_order)}
    return _node(numbered | named | {"_transformer_layers": _list(layers)})


def _layer(variables, number):
    attributes, attention = {}, {}
    for part, (path, scope) in LAYER_PARTS.items():
        layer_object = variables.dense(f"bert/encoder/layer_{number}/{part}", f"transformer/layer_{number}/{scope}")
        inside, _, attribute = path.rpartition("/")
        (attention if inside else attributes)[attribute] = layer_object
    return _node(attributes | {"_attention_layer": _node(attention)})


def _pretrainer(encoder, variables):
    """Returns the items in a checkpoint of a BertPretrainerV2 in addition to its encoder."""
    bias = variables.make(OUTPUT_BIAS, f"bert/{OUTPUT_BIAS}/bias")
    masked_lm = _node({
        "embedding_table": variables.make(WORD_EMBEDDINGS, TABLES[WORD_EMBEDDINGS][1]),
        "bias": bias, "output_bias/bias": bias,
        **{attribute: variables.dense(part, f"bert/{scope}") for part, (attribute, scope) in HEAD_PARTS.items()},
    })
    items, heads = {"masked_lm": masked_lm}, []
    if f"{NEXT_SENTENCE}output_weights" in variables:
        # Each object restores one other object, so the head's pooler must not be the encoder's.
        pooler = variables.dense("bert/pooler/dense", f"bert/{NEXT_SENTENCE_POOLER}")
        logits = {"kernel": variables.make(f"{NEXT_SENTENCE}output_weights", "bert/next_sentence/logits/kernel"),
                  "bias": variables.make(f"{NEXT_SENTENCE}output_bias", "bert/next_sentence/logits/bias")}
        items["next_sentence.pooler_dense"] = pooler
        heads.append(_node({"dense": pooler, "out_proj": _node(logits)}))
    model = _node({"encoder_network": encoder, "masked_lm": masked_lm, "classification_heads": _list(heads)})
    return items | {"model": model}


class _Variables:
    """Creates variables of the format from canonical tensors, and records which ones are `used`."""

    def __init__(self, tensors, num_heads):
        self._tensors = tensors
        self._num_heads = num_heads
        self._made = {}
        self.used = set()

    def __contains__(self, name):
        return name in self._tensors

    def make(self, canonical, name):
        """Returns the variable with this name, which has the value of a canonical tensor."""
        if name not in self._made:
            self.used.add(canonical)
            value, axis = self._tensors[canonical].read(), _find_head_axis(canonical)
            if axis is not None:
                value = value.reshape([*value.shape[:axis], self._num_heads, -1, *value.shape[axis + 1:]])
            elif canonical == f"{NEXT_SENTENCE}output_weights":
                value = value.T
            self._made[name] = tf.Variable(value, name=name)
        return self._made[name]

    def dense(self, scope, garden_scope):
        """Returns an object with the existing variables of a Dense layer or a LayerNormalization."""
        return _node({leaf: self.make(f"{scope}/{leaf}", f"{garden_scope}/{leaf}")
                      for leaf in ("kernel", "bias", "gamma", "beta") if f"{scope}/{leaf}" in self})


def _node(attributes):
    """Returns a trackable object with these attributes."""
    return tf.train.Checkpoint(**attributes)


def _list(objects):
    return _node({str(number): element for number, element in enumerate(objects)})


def _find_head_axis(name):
    """Returns the axis of a canonical tensor that is two axes in the format, [N, D]; None without heads."""
    if "/attention/self/" in name:
        return 1 if name.endswith("kernel") else 0
    return 0 if name.endswith("/attention/output/dense/kernel") else None
