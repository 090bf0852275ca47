"""Selection of the heads and neurons to keep, by importance and the requested size."""

import numpy as np

from bert_tf.compression.pruning import RetainedUnits, most_important, prune_config
from bert_tf.errors import InputError
from run.training.utilisation import encoder_flops

SHARES = 1000  # Resolution of the search for the largest fraction that fits a number of FLOPs.


def flops(config, length):
    """Returns the FLOPs of an encoder for a text of `length` tokens, int."""
    return encoder_flops(config, 1, length)


def select(importance, config, whole, settings, part, length):
    """Selects the heads and neurons to keep after a part of a pruning.

    Args:
      importance: bert_tf.compression.importance.Importance of the current model.
      config: BertConfig of the current model.
      whole: BertConfig of the original model, which fractions refer to.
      settings: PruningSettings.
      part: float in (0, 1]. Fraction of the pruning to have completed.
      length: int. Tokens per text, to count FLOPs.

    Returns:
      bert_tf.compression.pruning.RetainedUnits.

    Raises:
      InputError: If `keep_flops` is less than the smallest encoder requires.
    """
    values = importance.normalize()

    def kept(heads, neurons):
        return RetainedUnits(*(_stays(each, number, whole, share, settings.prune_across == "layer")
                      for number, (each, share) in enumerate(((values.heads, heads), (values.neurons, neurons)))))

    if settings.keep_flops is None:
        return kept(*(1 - (1 - share) * part for share in (settings.keep_heads, settings.keep_neurons)))
    most = flops(whole, length)
    target = settings.keep_flops * most if settings.keep_flops <= 1 else settings.keep_flops
    allowed = most - max(0, most - target) * part

    def takes(share):
        return flops(prune_config(config, kept(share / SHARES, share / SHARES)), length)

    if takes(0) > allowed:
        raise InputError(f"`keep_flops`={settings.keep_flops:g}: with one head and one neuron a layer the encoder "
                         f"takes {takes(0):,} operations for {length} pieces, {takes(0) / most:.3f} of the whole")
    least, beyond = 0, SHARES + 1  # 0 is the smallest fraction that fits.
    while beyond - least > 1:
        middle = (least + beyond) // 2
        least, beyond = (middle, beyond) if takes(middle) <= allowed else (least, middle)
    return kept(least / SHARES, least / SHARES)


def _stays(values, number, whole, share, by_layer):
    """Returns the indices to keep in each layer. `number`: Position of the unit type in BertConfig.layer_sizes."""
    sizes = np.asarray(whole.layer_sizes)[:, number]
    if not by_layer:
        return most_important(values, round(share * int(sizes.sum())))
    return [most_important([each], round(share * int(size)))[0] for each, size in zip(values, sizes, strict=True)]
