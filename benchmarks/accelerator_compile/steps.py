"""The steps to compile: the computations of the project's scripts on one replica, as functions for XLA."""

import tensorflow as tf

from benchmarks.accelerator_compile import peer
from bert_tf import losses, models, optimization
from bert_tf.fast import FastEncoder
from data_prep import records
from run.training.step import Trainer
from run.training.strategies import choose_fast_with_xla

PRETRAINING, CLASSIFIER, PEER = WORKLOADS = ("pretraining", "classifier", "tf-models-official")
POLICY = "mixed_bfloat16"
NUM_LABELS = 3


def create_step(settings, config, is_tpu):
    """Creates the step for CompileSettings and a BertConfig.

    Returns:
      Tuple of a tf.function with jit_compile, and its only argument, a dict of features: zeros of fixed shapes.
    """
    if settings.workload == PEER:
        return peer.training_step(settings, config, create_features(settings))
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        fast = choose_fast_with_xla("TPU" if is_tpu else "GPU", jit_compile=True, in_16_bits=True,
                                    recompute=settings.recompute_activations)
        encoder = FastEncoder(config, fast, dtype=POLICY)
        is_classifier = settings.workload == CLASSIFIER
        model = models.BertClassifier(encoder, NUM_LABELS) if is_classifier else models.BertPretrainer(encoder)
        optimizer = optimization.create_optimizer(1e-4, 100_000, 10_000, settings.optimizer)
        optimizer.build(model.trainable_variables)
    trainer = Trainer(strategy, model, optimizer,
                      losses.classification_loss if is_classifier else losses.pretraining_loss)

    @tf.function(jit_compile=True)
    def step(features):
        trainer.train_step(iter([features]))
    return step, create_features(settings)


def create_features(settings):
    """Creates the features of a batch of a classifier, or of pre-training records."""
    specs = (records.classification_features(settings.max_seq_length) if settings.workload == CLASSIFIER else
             records.pretraining_features(settings.max_seq_length, settings.max_predictions_per_seq))
    features = {spec.name: tf.zeros([settings.batch_size, spec.length], tf.float32 if spec.is_float else tf.int32)
                for spec in specs}
    if settings.workload == CLASSIFIER:
        features = {name: features[name] for name in ("input_ids", "input_mask", "segment_ids")} | {
            "label_ids": tf.zeros([settings.batch_size], tf.int32)}
    return features
