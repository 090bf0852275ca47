"""Causal attention: no position sees a later one, and the last token represents the sequence."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.config import BertConfig
from tests.encoders import make_encoder
from tests.gradients import assert_close, compute_gradients

B = 3
S = 11
V = 40
CONFIG = BertConfig(
    V,
    12,
    2,
    3,
    20,
    max_position_embeddings=S,
    type_vocab_size=2,
    attention="causal",
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
LENGTHS = (11, 7, 4)
PACKED = [
    [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3],
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 0, 0],
    [1, 1, 2, 2, 2, 2, 2, 0, 0, 0, 0],
]
STARTS = [[0, 4, 7], [0, 6, 0], [0, 2, 0]]
ENDS = [[3, 6, 10], [5, 8, 5], [1, 6, 1]]
OPTIONS = {
    "plain": {},
    "fast": {"remove_padding": True, "last_where_read": True},
    "compiled": {"layer": "compiled", "remove_padding": True},
    "einsum": {"layer": "einsum", "last_where_read": True},
}


@pytest.fixture(scope="module", params=[False, True], ids=["unpacked", "packed"])
def features(request):
    rng = np.random.default_rng(3)
    mask = np.array(PACKED) if request.param else np.arange(S) < np.array(LENGTHS)[:, np.newaxis]
    batch = {
        "input_ids": rng.integers(1, V, [B, S]) * (mask > 0),
        "input_mask": mask,
        "segment_ids": rng.integers(0, 2, [B, S]),
    }
    if request.param:
        starts = [[row.index(number) if number else 0 for number in row] for row in PACKED]
        batch |= {"positions": np.arange(S) - starts}
    return {name: tf.constant(value, tf.int32) for name, value in batch.items()}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_no_position_sees_a_later_one(features, options):
    """A changed token changes itself and the later tokens of its sequence.

    All other tokens stay bit-identical.
    """
    encoder = make_encoder(CONFIG, **options)
    mask = features["input_mask"].numpy()
    expected = encoder(features)["sequence_output"].numpy()
    positions = tf.tile(tf.range(S)[tf.newaxis], [B, 1])
    at_all = encoder.call_at_positions(features, positions).at_positions
    for position in range(S):
        ids = features["input_ids"].numpy()
        ids[:, position] = (ids[:, position] + 5) % V
        changed_features = {**features, "input_ids": tf.constant(ids)}
        changed = encoder(changed_features)["sequence_output"].numpy()
        changed_at_all = encoder.call_at_positions(changed_features, positions).at_positions
        sees = (np.arange(S) >= position) & (mask == mask[:, position : position + 1])
        np.testing.assert_array_equal(changed[~sees & (mask > 0)], expected[~sees & (mask > 0)])
        np.testing.assert_array_equal(
            changed_at_all[~sees & (mask > 0)], at_all[~sees & (mask > 0)]
        )
        difference = np.abs(changed - expected).max(axis=-1)
        assert (difference[sees & (mask > 0)] > 1e-4).all()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_last_token_is_pooled(features, options):
    encoder = make_encoder(CONFIG, **options)
    is_packed = "positions" in features
    starts = tf.constant(STARTS) if is_packed else None
    ends = np.array(ENDS if is_packed else [[length - 1] for length in LENGTHS])
    pooled = encoder.call_at_positions(features, pooled_positions=starts).pooled
    states = tf.gather(make_encoder(CONFIG)(features)["sequence_output"], ends, batch_dims=1)
    expected = encoder.pooler(tf.reshape(states, [-1, CONFIG.hidden_size]))
    np.testing.assert_allclose(pooled, expected, rtol=0, atol=1e-6)
    if not is_packed:
        np.testing.assert_allclose(encoder(features)["pooled_output"], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("options", list(OPTIONS.values())[1:], ids=list(OPTIONS)[1:])
def test_loss_and_gradients_of_the_fast_encoder(features, options):
    batch = dict(features)
    label = "label_ids"
    if "positions" in features:
        batch |= {
            "sequence_positions": tf.constant(STARTS),
            label: tf.constant([[0, 1, 1], [1, 0, 0], [0, 1, 0]]),
            "sequence_weights": tf.constant([[1.0, 1, 1], [1, 1, 0], [1, 1, 0]]),
        }
    else:
        batch |= {label: tf.constant([0, 1, 0])}
    assert_close(
        *(
            compute_gradients(
                models.BertClassifier(make_encoder(CONFIG, seed=4, **each), 2),
                batch,
                losses.classification_loss,
            )
            for each in (options, {})
        ),
        2e-5,
    )
