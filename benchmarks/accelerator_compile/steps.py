"""The steps to compile: the computations of the project's scripts on one replica, as functions for XLA."""

import tensorflow as tf

from benchmarks.accelerator_compile import peer
from benchmarks.accelerator_compile.settings import CLASSIFIER, FLOAT16, ONE_HOT, PEER, SERVED
from bert_tf import losses, models, optimization
from bert_tf.fast import FastEncoder
from data_prep import records
from run.training.step import Trainer
from run.training.strategies import choose_fast_with_xla

FEATURES = ("input_ids", "input_mask", "segment_ids")
NUM_LABELS = 3


def traced_step(settings, config, lookup):
    """Creates the step for CompileSettings, with a BertConfig and a kind of embedding lookup.

    Returns:
      Tuple of a tf.function with jit_compile, and its only argument, a dict of features: zeros of fixed shapes.
    """
    if settings.workload == SERVED:
        return served_step(settings, config)
    if settings.workload == PEER:
        return peer.training_step(settings, config, pretraining_features(settings))
    return training_step(settings, config, lookup)


def training_step(settings, config, lookup):
    """Creates the step that run_pretraining or run_classifier runs on one replica."""
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        fast = choose_fast_with_xla("TPU" if settings.described_chip.is_tpu else "GPU", jit_compile=True,
                                    in_16_bits=True, one_hot=lookup == ONE_HOT,
                                    recompute=settings.recompute_activations)
        encoder = FastEncoder(config, fast, dtype=settings.policy)
        if settings.workload == CLASSIFIER:
            model = models.BertClassifier(encoder, NUM_LABELS)
        else:
            model = models.BertPretrainer(encoder)
        optimizer = optimization.create_optimizer(1e-4, 100_000, 10_000, settings.optimizer,
                                                  scale_loss=settings.precision == FLOAT16)
        optimizer.build(model.trainable_variables)
    if settings.workload == CLASSIFIER:
        features, loss = classifier_features(settings), losses.classification_loss
    else:
        features, loss = pretraining_features(settings), losses.pretraining_loss
    trainer = Trainer(strategy, model, optimizer, loss, accumulate_steps=settings.accumulate_steps)

    @tf.function(jit_compile=True)
    def step(features):
        trainer.train_step(iter([features]))
    return step, features


def served_step(settings, config):
    """Creates the part of a served classifier that a TPU can run, IDs to probabilities, in float32 like exports."""
    model = models.BertClassifier(config, NUM_LABELS)

    @tf.function(jit_compile=True)
    def step(features):
        return tf.nn.softmax(model(features)["logits"])
    return step, ids(settings)


def ids(settings):
    """Creates the features that all models use."""
    return {name: tf.zeros([settings.batch_size, settings.max_seq_length], tf.int32) for name in FEATURES}


def classifier_features(settings):
    """Creates the features of a classifier's training step."""
    return {**ids(settings), "label_ids": tf.zeros([settings.batch_size], tf.int32)}


def pretraining_features(settings):
    """Creates the features of a pre-training record."""
    return {feature.name: tf.zeros([settings.batch_size, feature.length],
                                   tf.float32 if feature.is_float else tf.int32)
            for feature in records.pretraining_features(settings.max_seq_length, settings.max_predictions_per_seq,
                                                        most_packed=settings.max_sequences_per_pack)}
