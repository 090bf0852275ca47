"""The same pre-training step in tf-models-official: the training step of its masked LM task, with its model."""

import contextlib

import tensorflow as tf
import tf_keras
from official.modeling.optimization import lamb, legacy_adamw
from official.nlp.configs import bert, encoders
from official.nlp.data.pretrain_dataloader import BertPretrainDataConfig
from official.nlp.tasks import masked_lm

NO_DECAY = ["LayerNorm", "layer_norm", "bias"]


def training_step(settings, config, features):
    """Returns MaskedLMTask.train_step in mixed_bfloat16, as a function for XLA.

    Args:
      settings: CompileSettings. Only the optimizer is used.
      config: BertConfig.
      features: Dict of this project's features, renamed for the peer.

    Returns:
      Tuple of a tf.function with jit_compile, and its only argument.
    """
    names = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}
    inputs = {names.get(name, name): value for name, value in features.items()}
    with global_policy("mixed_bfloat16"):
        task = masked_lm.MaskedLMTask(masked_lm.MaskedLMConfig(
            model=model_config(config), train_data=BertPretrainDataConfig()))
        model = task.build_model()
        model({name: value[:1] for name, value in inputs.items()})  # Creates the variables of its heads.
    metrics = task.build_metrics(training=True)
    optimizer = make_optimizer(settings.optimizer)
    variables = model.trainable_variables
    optimizer.apply_gradients([(tf.zeros_like(variable), variable) for variable in variables])  # Creates its state.
    @tf.function(jit_compile=True, autograph=False)
    def step(features):
        task.train_step(features, model, optimizer, metrics)
    return step, inputs


def model_config(config):
    """Creates the task's config for a BertConfig's model, with a next sentence head."""
    encoder = encoders.BertEncoderConfig(
        vocab_size=config.vocab_size, hidden_size=config.hidden_size, num_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads, hidden_activation=config.hidden_act,
        intermediate_size=config.intermediate_size, dropout_rate=config.hidden_dropout_prob,
        attention_dropout_rate=config.attention_probs_dropout_prob,
        max_position_embeddings=config.max_position_embeddings, type_vocab_size=config.type_vocab_size)
    return bert.PretrainerConfig(
        encoder=encoders.EncoderConfig(type="bert", bert=encoder),
        cls_heads=[bert.ClsHeadConfig(inner_dim=config.hidden_size, num_classes=2, name="next_sentence")],
        mlm_activation="gelu")


def make_optimizer(name):
    """Creates the peer's AdamW or LAMB, with the clipping of its experiments."""
    schedule = tf_keras.optimizers.schedules.PolynomialDecay(1e-4, 100_000)
    if name == "lamb":
        return lamb.LAMB(schedule, weight_decay_rate=0.01, exclude_from_weight_decay=NO_DECAY)
    return legacy_adamw.AdamWeightDecay(schedule, weight_decay_rate=0.01, epsilon=1e-6,
                                        exclude_from_weight_decay=NO_DECAY)


@contextlib.contextmanager
def global_policy(name):
    """Sets the dtype policy for creating Keras layers; a context manager."""
    before = tf_keras.mixed_precision.global_policy()
    tf_keras.mixed_precision.set_global_policy(name)
    try:
        yield
    finally:
        tf_keras.mixed_precision.set_global_policy(before)
