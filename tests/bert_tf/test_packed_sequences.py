"""Packed rows: the same losses and gradients as for the same sequences in separate rows."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.losses import create_pretraining_loss
from bert_tf.models import BertPretrainer
from tests.encoders import make_encoder
from tests.gradients import compute_gradients

# 7 sequences in 3 rows of up to K = 4 sequences, S = 23 tokens, and P = 5 predictions: all sizes
# are different.
LENGTHS = (4, 17, 6, 9, 11, 5, 8)
K = 4
S = 23
P = 5
PACKS = ((1, 2), (3, 0, 5), (4, 6))
MASKS = (1, 3, 2, 1, 4, 2, 1)  # of each sequence


@pytest.fixture(scope="module")
def separate_and_packed():
    """The features of the seven sequences in separate rows, and packed."""
    rng = np.random.default_rng(7)
    sequences = []
    for length, num_masks in zip(LENGTHS, MASKS, strict=True):
        sequences.append(
            {
                "input_ids": rng.integers(5, 120, length),
                "segment_ids": np.arange(length) >= length // 2,
                "masks": np.sort(rng.permutation(np.arange(1, length - 1))[:num_masks]),
                "masked_lm_ids": rng.integers(5, 120, num_masks),
                "label": rng.integers(0, 2),
            }
        )
    separate = pack(sequences, [(number,) for number in range(len(LENGTHS))])
    for name in ("positions", "next_sentence_positions", "next_sentence_weights"):
        del separate[name]
    separate["next_sentence_labels"] = separate["next_sentence_labels"][:, :1]
    return separate, pack(sequences, PACKS)


def pack(sequences, packs):
    features = {
        name: np.zeros((len(packs), width), np.float32 if name.endswith("weights") else np.int32)
        for names, width in (
            (("input_ids", "input_mask", "segment_ids", "positions"), S),
            (("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"), P),
            (tuple(f"next_sentence_{name}" for name in ("positions", "labels", "weights")), K),
        )
        for name in names
    }
    for row, numbers in enumerate(packs):
        start = first = 0
        for index, number in enumerate(numbers):
            sequence = sequences[number]
            here = slice(start, start + LENGTHS[number])
            masks = slice(first, first + MASKS[number])
            features["input_ids"][row, here] = sequence["input_ids"]
            features["input_mask"][row, here] = index + 1
            features["segment_ids"][row, here] = sequence["segment_ids"]
            features["positions"][row, here] = range(LENGTHS[number])
            features["masked_lm_positions"][row, masks] = sequence["masks"] + start
            features["masked_lm_ids"][row, masks] = sequence["masked_lm_ids"]
            features["masked_lm_weights"][row, masks] = 1
            features["next_sentence_positions"][row, index] = start
            features["next_sentence_labels"][row, index] = sequence["label"]
            features["next_sentence_weights"][row, index] = 1
            start = here.stop
            first = masks.stop
    return features


@pytest.mark.large
@pytest.mark.parametrize("label", ["next_sentence", None])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"remove_padding": True},
        {"remove_padding": True, "last_where_read": True},
        {"layer": "einsum", "one_hot": True, "last_where_read": True},
    ],
)
def test_losses_and_gradients(reference_config, separate_and_packed, options, label):
    separate, packed = separate_and_packed
    config = dataclasses.replace(
        reference_config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    found, expected = (
        compute_gradients(
            BertPretrainer(make_encoder(config, seed=3, **options), sentence_label=label),
            features,
            create_pretraining_loss(label),
        )
        for features in (packed, separate)
    )
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-6)
    assert found.keys() == expected.keys()
    assert any("pooler" in name for name in expected) == bool(label)
    for name, gradient in expected.items():
        # The gradient of the key bias is only rounding: it shifts all scores of a row equally.
        assert "qkv/bias" in name or tf.norm(found[name] - gradient) / tf.norm(gradient) < 1e-6, (
            name
        )
