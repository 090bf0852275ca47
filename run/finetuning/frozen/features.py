"""Which layers each kind of frozen features is made of (table 7 of the paper), and how. Free of TensorFlow."""

from bert_tf.errors import InputError

LAST_FOUR = 4
# How the vectors of several layers become one.
ALONE, SUM, MIX, SIDE_BY_SIDE = "alone", "sum", "mix", "side by side"
WAYS = {"embeddings": ALONE, "last": ALONE, "second_to_last": ALONE, "sum_last_four": SUM,
        "weighted_sum_last_four": MIX, "concat_last_four": SIDE_BY_SIDE, "weighted_sum_all": MIX}
KINDS = tuple(WAYS)


def layers_of(kind, num_layers):
    """The layers of one of KINDS in a model with so many: tuple of int, 0 the embeddings, `num_layers` the last.

    Raises:
      InputError: the model has too few.
    """
    needed = {"second_to_last": 2}.get(kind, LAST_FOUR if kind.endswith("last_four") else 1)
    if num_layers < needed:
        raise InputError(f"`frozen_features`={kind}: needs {needed} layers, and the model has {num_layers}")
    if kind == "embeddings":
        return (0,)
    if kind.endswith("last_four"):
        return tuple(range(num_layers - LAST_FOUR + 1, num_layers + 1))
    if kind == "weighted_sum_all":
        return tuple(range(1, num_layers + 1))
    return (num_layers - (kind == "second_to_last"),)
