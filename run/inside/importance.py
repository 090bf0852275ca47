"""Importance of a fine-tuned model's heads, and its score as heads are pruned: by importance, and in random orders.

Importance is the one that pruning uses, from bert_tf.compression.importance. Masks of 0 disable heads. Without any
head, the model has only feed-forward layers.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf.cli.run_state import RunState, fingerprint
from bert_tf.techniques.masks import apply_masks, get_layers
from run.arrays.prediction import Predictor
from run.finetuning.fine_tuned_model import FineTunedModel
from run.settings import TrainingSettings

STATE_FILE = "importance.json"  # Results so far, to resume from.
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


class Job:
    """The data and the model to measure.

    Args:
      settings: AnalyzeAttentionSettings, resolved.

    Raises:
      InputError: If the data do not match the model.
    """

    def __init__(self, settings):
        self._settings = settings.importance
        self._model = FineTunedModel.open(
            settings, training=TrainingSettings(train_batch_size=self._settings.train_batch_size))
        self._task = self._model.task

    def run(self, folder):
        """Measures the Curve, starting with the results that a directory contains."""
        started_with = {**self._settings.values(),
                        **{name: fingerprint(paths) for name, paths in self._task.training_files.items()}}
        state = RunState(folder, started_with, name=STATE_FILE)
        if state.result("heads") is None:
            for name, value in self._measure_importance().items():
                state.finish(name, value)
        values, heads = np.array(state.result("importance")), state.result("heads")
        counts = np.unique(np.linspace(0, len(values), self._settings.curve_points + 1).round().astype(int)).tolist()
        rng = np.random.default_rng(self._settings.random_seed % 2**64)
        orders = {BY_IMPORTANCE: np.argsort(values, kind="stable")}
        orders |= {f"random_{number}": rng.permutation(len(values)) for number in range(self._settings.random_orders)}
        known = self._fill(state, heads, orders, counts)
        scores = {name: [known[name][str(count)] for count in counts] for name in orders}
        return Curve([tuple(head) for head in heads], values, self._task.metric, counts, scores)

    def _measure_importance(self):
        """Measures importances as JSON values. "heads" is last and marks them as complete."""
        importance = self._model.measure_importance(
            self._settings.importance_examples, self._settings.random_seed).normalize()
        heads = [(layer, head) for layer, each in enumerate(importance.heads) for head in range(len(each))]
        return {"num_examples": importance.num_examples, "importance": np.concatenate(importance.heads).tolist(),
                "heads": heads}

    def _fill(self, state, heads, orders, counts):
        """Returns the scores of a state, after computing missing ones and saving each."""
        scores = state.result("scores") or {}
        missing = [(name, count) for name in orders for count in counts if str(count) not in scores.get(name, {})]
        if not missing:
            return scores
        model = self._model.make_model()
        layer_of = np.array([layer for layer, _ in heads])
        masks = [tf.Variable(tf.ones([int((layer_of == layer).sum())]))
                 for layer in range(len(get_layers(model.encoder)))]
        with apply_masks(model.encoder, heads=masks):
            predictor = Predictor(tf.distribute.get_strategy(), model, per_position=self._task.per_position)
            known = {}  # Shared by orders: with all heads, and with none.
            for name, count in missing:
                stays = np.ones(len(layer_of), np.float32)
                stays[orders[name][:count]] = 0
                key = stays.tobytes()
                if key not in known:
                    for layer, mask in enumerate(masks):
                        mask.assign(stays[layer_of == layer])
                    outputs = predictor(self._task.eval_features, self._task.eval_batch_size, f"without {count} heads")
                    known[key] = float(self._task.score(outputs)[self._task.metric])
                scores.setdefault(name, {})[str(count)] = known[key]
                state.finish("scores", scores)
        return scores
