"""Selection of the heads and neurons to keep, by importance and the requested size."""

import numpy as np

from bert_tf.compression.pruning import RetainedUnits, most_important, prune_config
from bert_tf.errors import InputError

RESOLUTION = 1000  # Resolution of the search for the largest fraction that fits a number of FLOPs.


def count_encoder_flops(config, length):
    """Returns the multiplications and additions of an encoder's matrix products for a text of `length` tokens, int."""
    total = length * 2 * (config.embedding_size or 0) * config.hidden_size
    for heads, inner in config.layer_sizes:
        context = heads * config.head_width
        total += length * (8 * config.hidden_size * context + 4 * config.hidden_size * inner + 4 * length * context)
    return total


def select(importance, config, original, settings, part, length):
    """Selects the heads and neurons to keep after a part of a pruning.

    Args:
      importance: bert_tf.compression.importance.Importance of the current model.
      config: BertConfig of the current model.
      original: BertConfig of the original model, which fractions refer to.
      settings: PruningSettings.
      part: float in (0, 1]. Fraction of the pruning to have completed.
      length: int. Tokens per text, to count FLOPs.

    Returns:
      bert_tf.compression.pruning.RetainedUnits.

    Raises:
      InputError: If `keep_flops` is less than the smallest encoder requires.
    """
    values = importance.normalize()

    def select_units(heads, neurons):
        return RetainedUnits(*(_select_indices(each, number, original, fraction, settings.prune_across == "layer")
                               for number, (each, fraction) in enumerate(
                                   ((values.heads, heads), (values.neurons, neurons)))))

    if settings.keep_flops is None:
        return select_units(*(1 - (1 - fraction) * part for fraction in (settings.keep_heads, settings.keep_neurons)))
    most = count_encoder_flops(original, length)
    target = settings.keep_flops * most if settings.keep_flops <= 1 else settings.keep_flops
    allowed = most - max(0, most - target) * part

    def count_flops(fraction):
        units = select_units(fraction / RESOLUTION, fraction / RESOLUTION)
        return count_encoder_flops(prune_config(config, units), length)

    if count_flops(0) > allowed:
        raise InputError(f"`keep_flops`={settings.keep_flops:g}: with one head and one neuron per layer, the encoder "
                         f"requires {count_flops(0):,} FLOPs for {length} tokens, {count_flops(0) / most:.3f} of the "
                         "original; set a larger value")
    least, beyond = 0, RESOLUTION + 1  # 0 is the smallest fraction that fits.
    while beyond - least > 1:
        middle = (least + beyond) // 2
        least, beyond = (middle, beyond) if count_flops(middle) <= allowed else (least, middle)
    return select_units(least / RESOLUTION, least / RESOLUTION)


def _select_indices(values, number, original, fraction, by_layer):
    """Returns the indices to keep in each layer. `number`: Position of the unit type in BertConfig.layer_sizes."""
    sizes = np.asarray(original.layer_sizes)[:, number]
    if not by_layer:
        return most_important(values, round(fraction * int(sizes.sum())))
    return [most_important([each], round(fraction * int(size)))[0] for each, size in zip(values, sizes, strict=True)]
