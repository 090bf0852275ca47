"""Training of a model of one weight, with results of evaluations that a test sets."""

import types

import tensorflow as tf
import tf_keras

from bert_tf.losses import Term, TotalLoss
from bert_tf.optimization import create_optimizer
from run.training import loop
from run.training.evaluations import EvaluationPlan
from run.training.schedule import Phase
from run.training.settings import StepSettings, TrainingSettings

# Results of evaluations, by step.
ACCURACIES = {2: 0.3, 4: 0.9, 6: 0.5, 8: 0.7, 10: 0.9, 12: 1.0, 13: 0.2}


class OneWeight(tf_keras.Model):
    def __init__(self):
        super().__init__()
        self.weight = self.add_weight("weight", [], initializer="zeros")

    def call(self, features, training=False):
        poison = features.get("poison", tf.constant(False))
        return {"weight": tf.where(tf.reduce_any(poison), float("nan"), 1.0) * self.weight}


EVALUATIONS = ("eval_steps", "best_metric", "early_stopping_evals")


def squared_distances(outputs, features):
    return tf.repeat(tf.square(outputs["weight"] + 9.0), tf.shape(features["input_mask"])[0])


LOSS = TotalLoss(Term("loss", squared_distances))


def batches(skip_steps, share):
    return tf.data.Dataset.from_tensors({"input_mask": tf.ones([3, 5], tf.int32)}).repeat()


def start(folder, steps=13, learning_rate=0.1, **settings):
    """Returns a run and its model, whose weight decreases by more than 0.01 per step."""
    profiled_steps = settings.pop("profiled_steps", None)
    evaluations = {name: settings.pop(name) for name in EVALUATIONS if name in settings}
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        model = OneWeight()
        optimizer = create_optimizer(learning_rate, 100, 0)
        run = loop.Run(
            TrainingSettings(output_dir=str(folder), train_batch_size=3, **settings),
            StepSettings(),
            strategy,
            model,
            optimizer,
            LOSS,
            num_steps=steps,
        )
        run.restore()
    run.evaluations = evaluations
    run.profiled_steps = profiled_steps
    return run, model


def train(run, make_batches=batches, evaluate=None):
    """Trains with the settings of evaluations that `start` received."""
    data = types.SimpleNamespace(training_batches=make_batches)
    settings = types.SimpleNamespace(training=TrainingSettings(train_batch_size=3))
    plan = EvaluationPlan(evaluate, **run.evaluations)
    return run.train([Phase(0, settings, data)], plan, run.profiled_steps)


def evaluate_by_step(run, model, seen):
    """Returns an evaluation that adds its step and the weight to `seen`."""

    def evaluate():
        seen[run.step] = float(model.weight)
        return {"accuracy": ACCURACIES[run.step], "eval_loss": 2.0}

    return evaluate
