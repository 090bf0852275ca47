"""Selection of heads and neurons for a number of operations."""

import numpy as np
import pytest

from bert_tf.compression.importance import Importance
from bert_tf.compression.pruning import prune_config
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from run.compression import selection
from run.compression.settings import PruningSettings

CONFIG = BertConfig(100, 32, 2, 8, 64)
LENGTH = 50


def select(keep_flops, part=1.0, **settings):
    """Returns the fraction of the operations that is left, and the config."""
    rng = np.random.default_rng(1)
    importance = Importance([rng.random(8) for _ in range(2)], [rng.random(64) for _ in range(2)], 1)
    settings = PruningSettings(keep_flops=keep_flops, **settings)
    config = prune_config(CONFIG, selection.select(importance, CONFIG, CONFIG, settings, part, LENGTH))
    return selection.count_encoder_flops(config, LENGTH) / selection.count_encoder_flops(CONFIG, LENGTH), config


def test_the_largest_share_that_fits_is_selected():
    share, config = select(0.7)
    assert 0.65 < share <= 0.7
    assert select(0.7 * selection.count_encoder_flops(CONFIG, LENGTH))[1] == config
    assert 0.8 < select(0.7, part=0.5)[0] <= 0.85


def test_layers_are_equal_across_layers():
    first, second = select(0.5, prune_across="layer")[1].layer_sizes
    assert first == second


def test_fewer_operations_than_the_smallest_encoder_requires():
    with pytest.raises(InputError, match=r"`keep_flops`=0\.02: with one head and one neuron per layer, the encoder"):
        select(0.02)
