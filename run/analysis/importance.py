"""Importance of a fine-tuned model's heads, and its score as heads are pruned: by importance, and in random orders.

Importance is the one that pruning uses, from bert_tf.compression.importance. Masks of 0 disable heads. Without any
head, the model has only feed-forward layers.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf.techniques.masks import apply_masks, get_layers
from run.arrays.prediction import Predictor

CURVE_POINTS = 10  # Number of steps in which all heads are pruned.
RANDOM_ORDERS = 3  # Number of random orders to compare the curve with.
SEED = 1  # Seed of the random orders, and of the order of the training examples.
BY_IMPORTANCE = "importance"  # The order that prunes the least important heads first.


@dataclasses.dataclass(frozen=True)
class Curve:
    """Importance of heads, and scores without them.

    Attributes:
      heads: List of K (layer, head).
      importance: float64 [K], of norm 1 in each layer.
      metric: Name of the score.
      counts: List of P int. Number of pruned heads at each point.
      scores: Dict of order, BY_IMPORTANCE or "random_I", to list of P float.
    """

    heads: list
    importance: np.ndarray
    metric: str
    counts: list
    scores: dict


def measure_curve(model, num_examples):
    """Measures the Curve of a FineTunedModel with a number of training examples."""
    importance = model.measure_importance(num_examples, SEED).normalize()
    heads = [(layer, head) for layer, each in enumerate(importance.heads) for head in range(len(each))]
    values = np.concatenate(importance.heads)
    counts = np.unique(np.linspace(0, len(values), CURVE_POINTS + 1).round().astype(int)).tolist()
    rng = np.random.default_rng(SEED)
    orders = {BY_IMPORTANCE: np.argsort(values, kind="stable")}
    orders |= {f"random_{number}": rng.permutation(len(values)) for number in range(RANDOM_ORDERS)}
    return Curve(heads, values, model.task.metric, counts, _score_orders(model, heads, orders, counts))


def _score_orders(model, heads, orders, counts):
    """Returns a dict of order -> list of P scores without the first `counts` heads of the order."""
    network, task = model.make_model(), model.task
    layer_of = np.array([layer for layer, _ in heads])
    masks = [tf.Variable(tf.ones([int((layer_of == layer).sum())]))
             for layer in range(len(get_layers(network.encoder)))]
    scores, known = {name: [] for name in orders}, {}  # Orders share the scores with all heads, and with none.
    with apply_masks(network.encoder, heads=masks):
        predictor = Predictor(tf.distribute.get_strategy(), network, per_position=task.per_position)
        for name, order in orders.items():
            for count in counts:
                stays = np.ones(len(layer_of), np.float32)
                stays[order[:count]] = 0
                key = stays.tobytes()
                if key not in known:
                    for layer, mask in enumerate(masks):
                        mask.assign(stays[layer_of == layer])
                    outputs = predictor(task.eval_features, task.eval_batch_size, f"without {count} heads")
                    known[key] = float(task.score(outputs)[task.metric])
                scores[name].append(known[key])
    return scores
