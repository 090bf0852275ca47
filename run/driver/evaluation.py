"""Evaluation and prediction under a strategy, and the result files of the original."""

import os

import numpy as np
import tensorflow as tf
import tf_keras
from tqdm import tqdm


def evaluate_pretraining(strategy, model, dataset, loss_function, max_steps):
    """Scores a BertPretrainer on records (the original's `run_pretraining.metric_fn`).

    Args:
      strategy: under whose scope the model was made.
      model: BertPretrainer.
      dataset: finite batches of pre-training features.
      loss_function: bert_tf.losses.pretraining_loss.
      max_steps: batches to score at most.

    Returns:
      Dict of floats: masked_lm_accuracy and masked_lm_loss over real predictions, next_sentence_accuracy and
      next_sentence_loss over examples, and loss, the mean of the batches' training losses.
    """
    names = ("loss", "masked_lm_accuracy", "masked_lm_loss", "next_sentence_accuracy", "next_sentence_loss")
    with strategy.scope():
        means = {name: tf_keras.metrics.Mean(name) for name in names}

    def score(features):
        outputs = model(features, training=False)
        means["loss"].update_state(loss_function(outputs, features)["loss"])
        _update(means, "masked_lm", outputs["masked_lm_logits"], features["masked_lm_ids"],
                features["masked_lm_weights"])
        labels = features["next_sentence_labels"][:, 0]
        _update(means, "next_sentence", outputs["next_sentence_logits"], labels, tf.ones_like(labels, tf.float32))

    score_all = tf.function(lambda features: strategy.run(score, args=(features,)))
    batches = strategy.experimental_distribute_dataset(dataset.take(max_steps))
    for features in tqdm(batches, desc="evaluating", unit="batch", total=_length(dataset, max_steps),
                         dynamic_ncols=True):
        score_all(features)
    return {name: float(mean.result()) for name, mean in means.items()}


def predict(strategy, model, dataset, description="predicting"):
    """Runs a model over a dataset.

    Args:
      strategy: under whose scope the model was made.
      model: features -> dict of tensors, the batch on axis 0.
      dataset: finite batches of features, in the order wanted.
      description: what the progress bar says.

    Returns:
      Dict of NumPy arrays, a row for each example, in the dataset's order.
    """
    run = tf.function(lambda features: strategy.run(lambda each: model(each, training=False), args=(features,)))
    batches = strategy.experimental_distribute_dataset(dataset)
    pieces = [{name: strategy.gather(value, axis=0).numpy() for name, value in run(features).items()}
              for features in tqdm(batches, desc=description, unit="batch", total=_length(dataset),
                                   dynamic_ncols=True)]
    if not pieces:
        raise ValueError(f"{description}: there are no examples")
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def write_results(path, results):
    """Writes and prints `name = value` lines, sorted by name, as the original's eval_results.txt."""
    text = "".join(f"{name} = {results[name]}\n" for name in sorted(results))
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".partial", path)
    print(text, end="")


def _update(means, prefix, logits, labels, weights):
    """Adds a batch's losses and hits, weighted, to the means `prefix`_loss and `prefix`_accuracy."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    hits = tf.equal(tf.argmax(logits, axis=-1, output_type=labels.dtype), labels)
    means[f"{prefix}_loss"].update_state(losses, weights)
    means[f"{prefix}_accuracy"].update_state(hits, weights)


def _length(dataset, at_most=None):
    """Batches in a dataset, or None when only reading it would tell."""
    count = int(dataset.cardinality())
    if count < 0:
        return None
    return count if at_most is None else min(count, at_most)
