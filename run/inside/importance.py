"""Which heads matter to a fine-tuned model, and what its score is as they go: in that order, and in random orders.

Importance is the one that pruning uses, of bert_tf.compression.importance. Heads go by masks at 0; after the last the
model is one of feed-forward layers alone.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf.run_state import RunState, fingerprint
from bert_tf.techniques.masks import layers_of, masked
from run.arrays.prediction import Predictor
from run.finetuning.fine_tuned import FineTuned
from run.settings import TrainingSettings

STATE_FILE = "importance.json"  # what is known so far; a run that was stopped goes on with it
BY_IMPORTANCE = "importance"  # the order in which the least important go first


@dataclasses.dataclass(frozen=True)
class Curve:
    """What was found.

    Attributes:
      heads: list of (layer, head), K of them.
      importance: float64 [K], of norm 1 in each layer.
      metric: name of the score.
      counts: how many heads were out at each point, list of P int.
      scores: dict of order, BY_IMPORTANCE or "random_I", -> list of P float.
    """

    heads: list
    importance: np.ndarray
    metric: str
    counts: list
    scores: dict


class Job:
    """The data and the model, ready to be measured.

    Args:
      settings: AnalyzeAttentionSettings, resolved.

    Raises:
      InputError: data that do not suit the model.
    """

    def __init__(self, settings):
        self._settings = settings.importance
        self._model = FineTuned.open(
            settings, training=TrainingSettings(train_batch_size=self._settings.train_batch_size))
        self._task = self._model.task

    def run(self, folder):
        """The Curve; goes on with what a folder has of it."""
        started_with = {**self._settings.values(),
                        **{name: fingerprint(paths) for name, paths in self._task.training_files.items()}}
        state = RunState(folder, started_with, name=STATE_FILE)
        if state.result("heads") is None:
            for name, value in self._measured().items():
                state.finish(name, value)
        values, heads = np.array(state.result("importance")), state.result("heads")
        counts = np.unique(np.linspace(0, len(values), self._settings.curve_points + 1).round().astype(int)).tolist()
        rng = np.random.default_rng(self._settings.random_seed % 2**64)
        orders = {BY_IMPORTANCE: np.argsort(values, kind="stable")}
        orders |= {f"random_{number}": rng.permutation(len(values)) for number in range(self._settings.random_orders)}
        known = self._fill(state, heads, orders, counts)
        scores = {name: [known[name][str(count)] for count in counts] for name in orders}
        return Curve([tuple(head) for head in heads], values, self._task.metric, counts, scores)

    def _measured(self):
        """The importances, as JSON can hold them; "heads", the last, shows that all of them are kept."""
        found = self._model.measure_importance(
            self._settings.importance_examples, self._settings.random_seed).normalised()
        heads = [(layer, head) for layer, each in enumerate(found.heads) for head in range(len(each))]
        return {"num_examples": found.num_examples, "importance": np.concatenate(found.heads).tolist(), "heads": heads}

    def _fill(self, state, heads, orders, counts):
        """Returns the scores of a state, with those that it lacks, which are kept one by one."""
        scores = state.result("scores") or {}
        missing = [(name, count) for name in orders for count in counts if str(count) not in scores.get(name, {})]
        if not missing:
            return scores
        model = self._model.make_model()
        layer_of = np.array([layer for layer, _ in heads])
        masks = [tf.Variable(tf.ones([int((layer_of == layer).sum())]))
                 for layer in range(len(layers_of(model.encoder)))]
        with masked(model.encoder, heads=masks):
            predictor = Predictor(tf.distribute.get_strategy(), model, per_position=self._task.per_position)
            known = {}  # of what no order changes: all heads, and none
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
