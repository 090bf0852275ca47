"""Prunes heads and feed-forward neurons of a model.

The remaining computation is unchanged: a model without a head has the same outputs as with that head's mask at 0.
"""

import dataclasses
import functools
import re

import numpy as np

from bert_tf.errors import InputError

LAYER = re.compile(r"bert/encoder/layer_(\d+)/(.+)")

# For the tensors of a layer that have heads, or neurons: their axis.
HEAD_AXES = {**{f"attention/self/{part}/{leaf}": axis for part in ("query", "key", "value")
                for leaf, axis in (("kernel", 1), ("bias", 0))}, "attention/output/dense/kernel": 0}
NEURON_AXES = {"intermediate/dense/kernel": 1, "intermediate/dense/bias": 0, "output/dense/kernel": 0}


@dataclasses.dataclass(frozen=True)
class RetainedUnits:
    """The remaining parts of a model.

    Attributes:
      heads: For each layer, ascending numbers of its remaining heads: L arrays of int.
      neurons: The same for its neurons.
    """

    heads: list
    neurons: list


def most_important(values, count):
    """Selects the most important heads, or neurons, and at least one per layer.

    Args:
      values: L arrays of float. Importances, normalized so that layers can be compared.
      count: int. Number to select in all layers together.

    Returns:
      L arrays of int. Ascending numbers of the selected heads or neurons.
    """
    flat = np.concatenate([np.where(np.arange(len(layer)) == np.argmax(layer), np.inf, layer) for layer in values])
    is_selected = np.zeros(len(flat), bool)
    is_selected[np.argsort(-flat, kind="stable")[:max(count, len(values))]] = True
    ends = np.cumsum([len(layer) for layer in values])[:-1]
    return [np.flatnonzero(part) for part in np.split(is_selected, ends)]


def prune_config(config, retained):
    """Returns the BertConfig of a pruned model: sizes of each layer, or one size if they are all equal.

    Raises:
      InputError: If the layers of the model share their weights.
    """
    if config.num_hidden_groups:
        raise InputError(f"num_hidden_groups is {config.num_hidden_groups}; a model whose layers share weights "
                         "cannot be pruned")
    neurons = tuple(map(len, retained.neurons))
    sizes = {"intermediate_size_per_layer": neurons}
    if len({*neurons}) == 1:
        sizes = {"intermediate_size": neurons[0], "intermediate_size_per_layer": None}
    return dataclasses.replace(config, attention_heads_per_layer=tuple(map(len, retained.heads)), **sizes)


def prune(tensors, config, retained):
    """Removes heads and neurons from a model.

    Args:
      tensors: Dict of canonical name to bert_tf.checkpoints.tensors.StoredTensor.
      config: BertConfig of the model.
      retained: RetainedUnits.

    Returns:
      Tuple `(tensors, config)` of the smaller model.

    Raises:
      InputError: See `prune_config`.
    """
    smaller_config = prune_config(config, retained)
    width = config.head_width
    columns = [(heads[:, np.newaxis] * width + np.arange(width)).ravel() for heads in retained.heads]

    def prune_tensor(name, tensor):
        match = LAYER.fullmatch(name)
        for axes, indices in ((HEAD_AXES, columns), (NEURON_AXES, retained.neurons)):
            if match and match[2] in axes:
                return _take(tensor, indices[int(match[1])], axes[match[2]])
        return tensor

    return {name: prune_tensor(name, tensor) for name, tensor in tensors.items()}, smaller_config


def _take(tensor, indices, axis):
    shape = list(tensor.shape)
    shape[axis] = len(indices)
    return tensor.map(shape, functools.partial(np.take, indices=indices, axis=axis))
