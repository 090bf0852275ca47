"""A batch of packs: the same losses and gradients as of the same sequences, each in a row of its own."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.losses import create_pretraining_loss
from bert_tf.models import BertEncoder, BertPretrainer
from tests.encoders import make_encoder

# All different, so that no axis can stand for another: 7 sequences, in 3 rows of up to K = 4, S = 23 ids, P = 5 masks.
LENGTHS, K, S, P = (4, 17, 6, 9, 11, 5, 8), 4, 23, 5
PACKS = ((1, 2), (3, 0, 5), (4, 6))
MASKS = (1, 3, 2, 1, 4, 2, 1)  # of each sequence


@pytest.fixture(scope="module")
def batches():
    """The features of the seven sequences apart, of S and P, and packed."""
    rng = np.random.default_rng(7)
    sequences = []
    for length, num_masks in zip(LENGTHS, MASKS, strict=True):
        sequences.append({
            "input_ids": rng.integers(5, 120, length), "segment_ids": np.arange(length) >= length // 2,
            "masks": np.sort(rng.permutation(np.arange(1, length - 1))[:num_masks]),
            "masked_lm_ids": rng.integers(5, 120, num_masks), "label": rng.integers(0, 2)})
    apart = _packed(sequences, [(number,) for number in range(len(LENGTHS))])
    for name in ("positions", "next_sentence_positions", "next_sentence_weights"):
        del apart[name]
    apart["next_sentence_labels"] = apart["next_sentence_labels"][:, :1]
    return apart, _packed(sequences, PACKS)


def _packed(sequences, packs):
    features = {name: np.zeros((len(packs), width), np.float32 if name.endswith("weights") else np.int32)
                for names, width in ((("input_ids", "input_mask", "segment_ids", "positions"), S),
                                     (("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"), P),
                                     (tuple(f"next_sentence_{name}" for name in ("positions", "labels", "weights")), K))
                for name in names}
    for row, pack in enumerate(packs):
        start = first = 0
        for place, number in enumerate(pack):
            sequence = sequences[number]
            here, masks = slice(start, start + LENGTHS[number]), slice(first, first + MASKS[number])
            features["input_ids"][row, here] = sequence["input_ids"]
            features["input_mask"][row, here] = place + 1
            features["segment_ids"][row, here] = sequence["segment_ids"]
            features["positions"][row, here] = range(LENGTHS[number])
            features["masked_lm_positions"][row, masks] = sequence["masks"] + start
            features["masked_lm_ids"][row, masks] = sequence["masked_lm_ids"]
            features["masked_lm_weights"][row, masks] = 1
            features["next_sentence_positions"][row, place] = start
            features["next_sentence_labels"][row, place] = sequence["label"]
            features["next_sentence_weights"][row, place] = 1
            start, first = here.stop, masks.stop
    return features


def losses_and_gradients(config, features, label, **options):
    model = BertPretrainer(make_encoder(config, seed=3, **options), sentence_label=label)
    with tf.GradientTape() as tape:
        losses = create_pretraining_loss(label)(model(features, training=True), features)
    variables = model.trainable_variables
    return losses, dict(zip((variable.name for variable in variables), map(
        tf.convert_to_tensor, tape.gradient(losses["loss"], variables)), strict=True))


@pytest.mark.parametrize("label", ["next_sentence", None])
@pytest.mark.parametrize("options", [
    {}, {"remove_padding": True}, {"last_where_read": True, "remove_padding": True},
    {"einsum": True, "one_hot": True, "last_where_read": True}])
def test_losses_and_gradients_are_those_of_sequences_apart(reference_config, batches, options, label):
    config = dataclasses.replace(reference_config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    (losses, gradients), (expected_losses, expected) = (
        losses_and_gradients(config, features, label, **options) for features in (batches[1], batches[0]))

    assert losses.keys() == expected_losses.keys()
    for name, loss in expected_losses.items():
        np.testing.assert_allclose(losses[name], loss, rtol=1e-6)
    assert gradients.keys() == expected.keys()
    assert any("pooler" in name for name in expected) == bool(label)
    for name, gradient in expected.items():
        difference = tf.norm(gradients[name] - gradient) / tf.norm(gradient)
        # What a bias of keys gets is rounding alone: it moves all scores of a row alike.
        assert difference < 1e-6 or "qkv/bias" in name, name


def test_sequences_of_a_pack_do_not_see_each_other(reference_config, batches):
    encoder = BertEncoder(reference_config)
    features = {name: tf.constant(batches[1][name]) for name in ("input_ids", "input_mask", "segment_ids", "positions")}
    others = {**features, "input_ids": tf.where(features["input_mask"] == 2, 7, features["input_ids"])}
    states, changed = (encoder(each)["sequence_output"] for each in (features, others))
    is_second = batches[1]["input_mask"] == 2
    np.testing.assert_array_equal(states[~is_second], changed[~is_second])
    assert (np.abs(states[is_second] - changed[is_second]) > 1e-3).any(axis=-1).all()
