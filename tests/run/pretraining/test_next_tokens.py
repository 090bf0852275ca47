"""Left-to-right language modeling: predicted tokens and their loss, computed directly."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.config import BertConfig
from run.pretraining.inputs import add_next_tokens
from run.pretraining.settings import check_objective
from tests.encoders import make_encoder
from tests.errors import Message, raises_message

CONFIG = BertConfig(
    31,
    12,
    2,
    3,
    20,
    max_position_embeddings=8,
    type_vocab_size=2,
    attention="causal",
    initializer_range=0.4,
)
ROWS = {
    "input_ids": [[2, 9, 7, 3, 0, 0], [2, 8, 3, 2, 5, 3]],
    "segment_ids": [[0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 1]],
    "input_mask": [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]],
}
PACKED = ROWS | {
    "input_mask": [[1, 1, 1, 1, 0, 0], [1, 1, 1, 2, 2, 2]],
    "positions": [[0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 2]],
}


def add_to(rows):
    return add_next_tokens({name: tf.constant(value) for name, value in rows.items()}, None, None)


def test_predictions_by_hand():
    features = add_to(ROWS)
    packed = add_to(PACKED)
    assert features["masked_lm_positions"].numpy().tolist() == [[0, 1, 2, 3, 4]] * 2
    assert features["masked_lm_ids"].numpy().tolist() == [[9, 7, 3, 0, 0], [8, 3, 2, 5, 3]]
    assert features["masked_lm_weights"].numpy().tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    assert packed["masked_lm_ids"].numpy().tolist() == [[9, 7, 3, 0, 0], [8, 3, 0, 5, 3]]
    assert packed["masked_lm_weights"].numpy().tolist() == [[1, 1, 1, 0, 0], [1, 1, 0, 1, 1]]
    for name in ROWS:
        np.testing.assert_array_equal(features[name], ROWS[name])


@pytest.mark.parametrize("rows", [ROWS, PACKED], ids=["unpacked", "packed"])
@pytest.mark.parametrize(
    "options", [{}, {"remove_padding": True, "last_where_read": True}], ids=["plain", "fast"]
)
def test_loss(rows, options):
    """The loss is the mean over all pairs of a token and the next one in its sequence.

    NumPy computes it token by token.
    """
    model = models.BertPretrainer(make_encoder(CONFIG, **options), sentence_label=None)
    features = add_to(rows)
    found = losses.create_pretraining_loss(None, "next_token")(model(features), features)
    states = model.encoder(features)["sequence_output"].numpy()
    table = model.encoder.embeddings.word_embeddings.numpy()
    items = []
    for row, (ids, numbers) in enumerate(zip(rows["input_ids"], rows["input_mask"], strict=True)):
        for position in range(len(ids) - 1):
            if numbers[position + 1] and numbers[position + 1] == numbers[position]:
                head = model.masked_lm.layer_norm(
                    model.masked_lm.transform(states[row, position : position + 1])
                ).numpy()[0]
                logits = table.astype(np.float64) @ head
                items.append(np.log(np.exp(logits).sum()) - logits[ids[position + 1]])
    assert len(items) == (7 if rows is PACKED else 8)
    assert found.keys() == {"loss", "next_token_loss"}
    assert float(found["next_token_loss"]) == pytest.approx(np.mean(items), rel=1e-5)


@pytest.mark.parametrize(
    ("config", "objective", "message"),
    [
        (
            {},
            "sentence_pairs",
            Message(
                "objective",
                "requires bidirectional attention",
                "causal in the BERT config",
                "set `objective`=left_to_right",
                "use another config",
                value="sentence_pairs",
            ),
        ),
        (
            {"attention": "bidirectional"},
            "left_to_right",
            Message(
                "objective",
                "requires causal attention",
                'set "attention": "causal"',
                value="left_to_right",
                end="in the BERT config",
            ),
        ),
        (
            {"bilstm_head": True},
            "left_to_right",
            Message(None, "bilstm_head is true", "only fine-tuned models"),
        ),
    ],
)
def test_configs_that_do_not_fit_the_objective(config, objective, message):
    with raises_message(message):
        check_objective(BertConfig.from_dict(CONFIG.to_dict() | config), objective)
    check_objective(CONFIG, "left_to_right")
