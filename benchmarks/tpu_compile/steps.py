"""What is compiled: the step that run_pretraining runs on a replica."""

import tensorflow as tf

from bert_tf import losses, models, optimization
from data_prep import records
from run.pretraining import job
from run.training.step import Trainer


def training_step(config, batch_size, sequence_length, predictions, use_one_hot_embeddings, recompute_activations):
    """The step of run_pretraining on one replica, as a function for XLA, and a batch of features for it."""
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        model = models.BertPretrainer(models.BertEncoder(
            config, use_one_hot_embeddings=use_one_hot_embeddings, recompute_activations=recompute_activations,
            dtype="mixed_bfloat16"))
        optimizer = optimization.create_optimizer(1e-4, 100_000, 10_000)
        optimizer.build(model.trainable_variables)
    trainer = Trainer(strategy, model, optimizer, losses.pretraining_loss, job.LOSS_NAMES)

    @tf.function(jit_compile=True)
    def step(features):
        trainer.train_step(iter([features]))

    features = {feature.name: tf.zeros([batch_size, feature.length], tf.float32 if feature.is_float else tf.int32)
                for feature in records.pretraining_features(sequence_length, predictions)}
    return step, features
