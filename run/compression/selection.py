"""Selection of the heads and neurons to keep by importance, and the operations of an encoder."""

import numpy as np

from bert_tf.compression.pruning import RetainedUnits, most_important


def count_encoder_flops(config, length):
    """Returns the multiplications and additions of an encoder's matrix products for a text of `length` tokens, int."""
    total = length * 2 * (config.embedding_size or 0) * config.hidden_size
    for heads, inner in config.layer_sizes:
        context = heads * config.head_width
        total += length * (8 * config.hidden_size * context + 4 * config.hidden_size * inner + 4 * length * context)
    return total


def select(importance, original, settings, part):
    """Selects the heads and neurons to keep after a part of a pruning.

    Args:
      importance: bert_tf.compression.importance.Importance of the current model.
      original: BertConfig of the original model, which fractions refer to.
      settings: PruneModelSettings.
      part: float in (0, 1]. Fraction of the pruning to have completed.

    Returns:
      bert_tf.compression.pruning.RetainedUnits.
    """
    values, retained = importance.normalize(), []
    for number, (units, fraction) in enumerate(((values.heads, settings.keep_heads),
                                                (values.neurons, settings.keep_neurons))):
        sizes = np.asarray(original.layer_sizes)[:, number]
        fraction = 1 - (1 - fraction) * part
        if settings.prune_across == "layer":
            retained.append([most_important([each], round(fraction * int(size)))[0]
                             for each, size in zip(units, sizes, strict=True)])
        else:
            retained.append(most_important(units, round(fraction * int(sizes.sum()))))
    return RetainedUnits(*retained)
