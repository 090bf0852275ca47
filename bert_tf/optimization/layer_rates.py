"""Learning rates that fall from layer to layer, from the top of the encoder down.

What lower layers know is of language at large, and changes less in fine-tuning (Sun et al. 2019, arXiv:1905.05583,
section 5.3.4; ELECTRA, appendix B).
"""

import re

_LAYER = re.compile(r"(?:^|/)bert/encoder/layer_(\d+)/")
_EMBEDDINGS = re.compile(r"(?:^|/)bert/embeddings/")


def layerwise_factors(variables, num_layers, decay):
    """What factor of the learning rate each variable of a model has.

    The top layer of the encoder, the pooler and the head learn at the whole rate, each layer at `decay` times the rate
    of the one above it, and the embeddings at `decay` times that of the lowest layer. (ELECTRA's code has the top layer
    two powers below the head.)

    Args:
      variables: of a model of bert_tf.models whose layers do not share their weights, told by their names.
      num_layers: int, layers of its encoder.
      decay: float.

    Returns:
      List of pairs of a variable and a float, for ClippingOptimizer.set_rate_factors.
    """
    return [(variable, decay ** _layers_above(variable.name, num_layers)) for variable in variables]


def _layers_above(name, num_layers):
    """How many layers of the encoder lie above the variable of a name."""
    if _EMBEDDINGS.search(name):
        return num_layers
    layer = _LAYER.search(name)
    return num_layers - 1 - int(layer[1]) if layer else 0
