"""The steps to compile, in bfloat16.

They are those of this project's scripts on one replica, and tf-models-official's.
"""

import tensorflow as tf
import tf_keras
from official.modeling.optimization import lamb
from official.nlp.configs import bert, encoders
from official.nlp.data.pretrain_dataloader import BertPretrainDataConfig
from official.nlp.tasks import masked_lm

from benchmarks.models import GARDEN_NO_DECAY, NUM_LABELS, create_garden_optimizer, make_batch
from bert_tf import losses, models, optimization
from bert_tf.fast import FastEncoder
from run.training.step import Trainer
from run.training.strategies import choose_fast_with_xla

PRETRAINING = "pretraining"
CLASSIFIER = "classifier"
PEER = "tf-models-official"
WORKLOADS = (PRETRAINING, CLASSIFIER, PEER)
POLICY = "mixed_bfloat16"


def create_step(settings, config, is_tpu):
    """Creates the step for CompileSettings and a BertConfig.

    Returns:
      Tuple of a tf.function with jit_compile, and its only argument, a dict of features of fixed
      shapes.
    """
    features = make_batch(
        config, settings.batch_size, settings.max_seq_length, settings.max_predictions_per_seq
    )
    if settings.workload == PEER:
        return create_peer_step(settings, config, features)
    is_classifier = settings.workload == CLASSIFIER
    if is_classifier:
        features = {
            "input_ids": features["input_ids"],
            "input_mask": features["input_mask"],
            "segment_ids": features["segment_ids"],
            "label_ids": features["next_sentence_labels"][:, 0],
        }
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        fast = choose_fast_with_xla(
            "TPU" if is_tpu else "GPU",
            jit_compile=True,
            in_16_bits=True,
            recompute=settings.recompute_activations,
        )
        encoder = FastEncoder(config, fast, dtype=POLICY)
        if is_classifier:
            model = models.BertClassifier(encoder, NUM_LABELS)
            loss = losses.classification_loss
        else:
            model = models.BertPretrainer(encoder)
            loss = losses.pretraining_loss
        optimizer = optimization.create_optimizer(1e-4, 100_000, 10_000, settings.optimizer)
        optimizer.build(model.trainable_variables)
    trainer = Trainer(strategy, model, optimizer, loss)

    @tf.function(jit_compile=True)
    def step(features):
        trainer.train_step(iter([features]))

    return step, features


def create_peer_step(settings, config, features):
    """Creates the step of tf-models-official's MaskedLMTask.train_step; see `create_step`.

    `features` are those of this project.
    """
    names = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}
    inputs = {names.get(name, name): value for name, value in features.items()}
    tf_keras.mixed_precision.set_global_policy(POLICY)  # For new layers.
    task = masked_lm.MaskedLMTask(
        masked_lm.MaskedLMConfig(
            model=create_peer_config(config), train_data=BertPretrainDataConfig()
        )
    )
    model = task.build_model()
    # The first call creates the variables of its heads.
    model({name: value[:1] for name, value in inputs.items()})
    tf_keras.mixed_precision.set_global_policy("float32")
    metrics = task.build_metrics(training=True)
    schedule = tf_keras.optimizers.schedules.PolynomialDecay(1e-4, 100_000)
    optimizer = (
        lamb.LAMB(schedule, weight_decay_rate=0.01, exclude_from_weight_decay=GARDEN_NO_DECAY)
        if settings.optimizer == "lamb"
        else create_garden_optimizer(schedule)
    )
    variables = model.trainable_variables
    # The first update creates the optimizer's state.
    optimizer.apply_gradients([(tf.zeros_like(variable), variable) for variable in variables])

    @tf.function(jit_compile=True, autograph=False)
    def step(features):
        task.train_step(features, model, optimizer, metrics)

    return step, inputs


def create_peer_config(config):
    """Creates the task's config for a BertConfig's model, with a next sentence head."""
    encoder = encoders.BertEncoderConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        hidden_activation=config.hidden_act,
        intermediate_size=config.intermediate_size,
        dropout_rate=config.hidden_dropout_prob,
        attention_dropout_rate=config.attention_probs_dropout_prob,
        max_position_embeddings=config.max_position_embeddings,
        type_vocab_size=config.type_vocab_size,
    )
    return bert.PretrainerConfig(
        encoder=encoders.EncoderConfig(type="bert", bert=encoder),
        cls_heads=[
            bert.ClsHeadConfig(inner_dim=config.hidden_size, num_classes=2, name="next_sentence")
        ],
        mlm_activation="gelu",
    )
