"""Prunes heads and feed-forward neurons of a model.

The remaining computation is unchanged: a model without a head has the same outputs as with that
head's mask at 0.
"""

import dataclasses
import functools
import re

import numpy as np

from bert_tf.errors import InputError

LAYER = re.compile(r"bert/encoder/layer_(\d+)/(.+)")

# For the tensors of a layer that have heads, or neurons: their axis.
HEAD_AXES = {
    **{
        f"attention/self/{part}/{leaf}": axis
        for part in ("query", "key", "value")
        for leaf, axis in (("kernel", 1), ("bias", 0))
    },
    "attention/output/dense/kernel": 0,
}
NEURON_AXES = {
    "intermediate/dense/kernel": 1,
    "intermediate/dense/bias": 0,
    "output/dense/kernel": 0,
}


def most_important(values, count):
    """Selects the most important heads, or neurons, of all layers together.

    Args:
      values: L arrays of float. Importances, normalized so that layers can be compared.
      count: int. Number to select; at least one per layer is selected.

    Returns:
      L arrays of int. Ascending numbers of the selected heads or neurons.
    """
    flat = np.concatenate(
        [np.where(np.arange(len(layer)) == np.argmax(layer), np.inf, layer) for layer in values]
    )
    is_selected = np.zeros(len(flat), bool)
    is_selected[np.argsort(-flat, kind="stable")[: max(count, len(values))]] = True
    ends = np.cumsum([len(layer) for layer in values])[:-1]
    return [np.flatnonzero(part) for part in np.split(is_selected, ends)]


def prune(tensors, config, heads, neurons):
    """Removes heads and neurons from a model.

    Args:
      tensors: Dict of canonical name to StoredTensor.
      config: BertConfig.
      heads, neurons: L arrays of int. For each layer, ascending numbers of the heads, and neurons,
        that remain.

    Returns:
      Tuple `(tensors, config)` of the smaller model. The config has the sizes of each layer, or one
      if all are equal. `num_attention_heads` is unchanged, because it determines the head size.

    Raises:
      InputError: If the layers of the model share their weights.
    """
    if config.num_hidden_groups:
        raise InputError(
            f"num_hidden_groups is {config.num_hidden_groups}; a model whose layers share weights "
            "cannot be pruned"
        )
    inner = tuple(map(len, neurons))
    sizes = {"intermediate_size_per_layer": inner}
    if len({*inner}) == 1:
        sizes = {"intermediate_size": inner[0], "intermediate_size_per_layer": None}
    smaller_config = dataclasses.replace(
        config, attention_heads_per_layer=tuple(map(len, heads)), **sizes
    )
    width = config.head_width
    columns = [(numbers[:, np.newaxis] * width + np.arange(width)).ravel() for numbers in heads]

    def prune_tensor(name, tensor):
        match = LAYER.fullmatch(name)
        for axes, indices in ((HEAD_AXES, columns), (NEURON_AXES, neurons)):
            if match and match[2] in axes:
                layer_indices = indices[int(match[1])]
                axis = axes[match[2]]
                shape = [*tensor.shape[:axis], len(layer_indices), *tensor.shape[axis + 1 :]]
                return tensor.map(
                    shape, functools.partial(np.take, indices=layer_indices, axis=axis)
                )
        return tensor

    return {name: prune_tensor(name, tensor) for name, tensor in tensors.items()}, smaller_config
