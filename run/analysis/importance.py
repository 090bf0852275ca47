"""Importance of a fine-tuned model's heads, and its score as heads are pruned: by importance, and in random orders.

Importance is the one that pruning uses, from bert_tf.compression.importance. Masks of 0 disable heads. Without any
head, the model has only feed-forward layers.
"""

import numpy as np
import tensorflow as tf

from bert_tf.techniques.masks import apply_masks, get_layers
from run.arrays.prediction import Predictor

CURVE_POINTS = 10  # Number of steps in which all heads are pruned.
RANDOM_ORDERS = 3  # Number of random orders to compare the curve with.
SEED = 1  # Seed of the random orders, and of the order of the training examples.
BY_IMPORTANCE = "importance"  # The order that prunes the least important heads first.


def measure_curve(model, num_examples):
    """Measures the importance of the K heads of a FineTunedModel with a number of training examples.

    Returns:
      List of K dicts, the most important head first: layer, head, importance (of norm 1 in each layer); and a list of
      dicts, one per point of the curve: heads_out, the number of pruned heads, and the score for each order of pruning,
      BY_IMPORTANCE or "random_I".
    """
    by_layer, _ = model.measure_importance(num_examples, SEED)
    heads = [(layer, head) for layer, each in enumerate(by_layer) for head in range(len(each))]
    values = np.concatenate(by_layer)
    rng = np.random.default_rng(SEED)
    orders = {BY_IMPORTANCE: np.argsort(values, kind="stable")}
    orders |= {f"random_{number}": rng.permutation(len(values)) for number in range(RANDOM_ORDERS)}
    by_head = [{"layer": heads[place][0], "head": heads[place][1], "importance": values[place]}
               for place in np.argsort(-values, kind="stable")]
    return by_head, _score_orders(model, np.array([layer for layer, _ in heads]), orders)


def _score_orders(model, layer_of, orders):
    """Returns the points of the curve. `layer_of`: int [K]; `orders`: dict of name -> int [K]."""
    network, task = model.make_model(), model.task
    counts = np.unique(np.linspace(0, len(layer_of), CURVE_POINTS + 1).round().astype(int)).tolist()
    masks = [tf.Variable(tf.ones([int((layer_of == layer).sum())]))
             for layer in range(len(get_layers(network.encoder)))]
    points, known = [{"heads_out": count} for count in counts], {}  # Orders share the first and the last score.
    with apply_masks(network.encoder, heads=masks):
        predictor = Predictor(tf.distribute.get_strategy(), network, per_position=task.per_position)
        for name, order in orders.items():
            for point, count in zip(points, counts, strict=True):
                stays = np.ones(len(layer_of), np.float32)
                stays[order[:count]] = 0
                key = stays.tobytes()
                if key not in known:
                    for layer, mask in enumerate(masks):
                        mask.assign(stays[layer_of == layer])
                    outputs = predictor(task.eval_features, task.eval_batch_size, f"without {count} heads")
                    known[key] = float(task.score(outputs)[task.metric])
                point[name] = known[key]
    return points
