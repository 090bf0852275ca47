"""What a compiled step costs: FLOPs that are needed, and the compiler's estimate of cycles."""

import collections
import re

from run.training import utilisation


def training_flops(config, batch_size, sequence_length, predictions, use_one_hot_embeddings):
    """Multiplications and additions of the matrix products of a step, those of one-hot look-ups included."""
    flops = batch_size * utilisation.pretraining_flops(config, sequence_length, predictions)
    if use_one_hot_embeddings:  # the table's gradient is one more product; the one-hot vectors have none
        flops += 2 * 2 * batch_size * sequence_length * config.vocab_size * config.hidden_size
    return flops


def estimated_cycles(compiled):
    """The compiler's estimates by operation: Counter of name -> cycles; the layers' are summed.

    Args:
      compiled: text of an HLO module as libtpu compiled it. An instruction that no operation of the model asked for
        goes by its own name.
    """
    cycles = collections.Counter()
    for line in compiled.splitlines():
        estimate = re.search(r'"estimated_cycles":"(\d+)"', line)
        if estimate:
            name = re.search(r'op_name="([^";]*)', line)
            name = name[1] if name else re.search(r"%([a-z-]+)", line)[1]
            cycles[re.sub(r"_\d+(?=/|$)", "", name)] += int(estimate[1])
    return cycles
