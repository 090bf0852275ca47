import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.losses import Term, TotalLoss
from run.training import strategies, utilisation


def test_flops_counted_by_hand():
    config = BertConfig(vocab_size=11, hidden_size=6, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7,
                        max_position_embeddings=13)
    tokens = 5
    projections = 4 * (2 * tokens * 6 * 6)  # query, key, value, output
    attention = 2 * (2 * tokens * tokens * 6)  # scores and weighted sum, all heads together
    feed_forward = 2 * (2 * tokens * 6 * 7)
    assert utilisation.encoder_flops(config, 3, tokens) == 3 * 2 * (projections + attention + feed_forward)
    head = 4 * (2 * 6 * 6 + 2 * 6 * 11)  # 4 predictions: transform, logits
    assert utilisation.masked_lm_flops(config, 1, 4) == head
    assert utilisation.pretraining_flops(config, tokens, 4) == 3 * (
        2 * (projections + attention + feed_forward) + head)


@pytest.mark.parametrize("device", ["CPU", "GPU", "TPU"])
def test_a_matrix_product_has_a_rate(monkeypatch, device):
    assert device in utilisation.MATRIX_WIDTHS
    monkeypatch.setattr(utilisation, "MATRIX_WIDTHS", {device: 32})
    monkeypatch.setattr(strategies, "device_type", lambda _: device)
    assert utilisation.matmul_rate(tf.distribute.OneDeviceStrategy("CPU:0"), "bfloat16") > 0


def test_tokens_are_counted_beside_a_loss():
    loss = TotalLoss(Term("loss", lambda outputs, features: outputs, counts=1), utilisation.TOKENS_PER_EXAMPLE)
    features = {"input_mask": tf.constant([[1, 1, 0], [1, 1, 1]])}
    found = loss(tf.constant([1.0, 2.0]), features)
    assert {name: float(value) for name, value in found.items()} == {"loss": 1.5, "tokens": 2.5}
    packed = {"input_mask": tf.constant([[1, 1, 0], [1, 2, 3]]),
              "sequence_weights": tf.constant([[1.0, 0, 0], [1, 1, 1]])}
    assert loss(tf.constant([1.0, 2.0]), packed)["tokens"] == 5 / 4
