"""Models, training steps, and random batches of this project and of tf-models-official."""

import numpy as np
import tensorflow as tf
from official.modeling.optimization import legacy_adamw
from official.nlp.modeling import networks as garden_networks

from bert_tf import losses, optimization
from bert_tf.models import BertPretrainer

NUM_LABELS = 2
GARDEN_NO_DECAY = ["LayerNorm", "layer_norm", "bias"]
MRPC_TOKENS = 0.42  # Fraction of non-padding tokens in MRPC, padded to 128.


def make_batch(config, batch_size, length, predictions=1, token_fraction=1.0):
    """Creates random pre-training features, a dict of name to int32 or float32 tensor.

    Args:
      config: BertConfig.
      batch_size, length: int. Shape of the batch.
      predictions: int. Number of masked tokens per example.
      token_fraction: float. Fraction of non-padding tokens. If it is below 1, the rows have several
        lengths.
    """
    generator = np.random.default_rng(1)
    spread = min(0.5, 1 / token_fraction - 1)  # Deviation of the lengths from their mean.
    lengths = np.round(
        length * token_fraction * np.linspace(1 - spread, 1 + spread, batch_size)
    ).astype(int)
    arrays = {
        "input_ids": generator.integers(config.vocab_size, size=[batch_size, length]),
        "input_mask": np.arange(length) < lengths[:, np.newaxis],
        "segment_ids": np.broadcast_to(np.arange(length) > length // 2, [batch_size, length]),
        "masked_lm_positions": np.sort(
            generator.integers(0, max(1, int(lengths.min())), [batch_size, predictions])
        ),
        "masked_lm_ids": generator.integers(config.vocab_size, size=[batch_size, predictions]),
        "next_sentence_labels": generator.integers(0, 2, [batch_size, 1]),
    }
    return {
        **{name: tf.constant(value, tf.int32) for name, value in arrays.items()},
        "masked_lm_weights": tf.ones([batch_size, predictions]),
    }


def to_garden_inputs(features):
    """Renames this project's features for tf-models-official."""
    return {
        "input_word_ids": features["input_ids"],
        "input_mask": features["input_mask"],
        "input_type_ids": features["segment_ids"],
    }


def to_huggingface_inputs(features):
    """Renames features for Hugging Face, as int64 arrays."""
    return {
        theirs: features[name].numpy().astype(np.int64)
        for theirs, name in (
            ("input_ids", "input_ids"),
            ("attention_mask", "input_mask"),
            ("token_type_ids", "segment_ids"),
        )
    }


def get_huggingface_sizes(config):
    """Returns the arguments of transformers.BertConfig for a model of the same size."""
    return {
        name: getattr(config, name)
        for name in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
        )
    }


def create_garden_encoder(config):
    """Creates tf-models-official's encoder of the same size."""
    return garden_networks.BertEncoder(
        config.vocab_size,
        config.hidden_size,
        config.num_hidden_layers,
        config.num_attention_heads,
        config.max_position_embeddings,
        config.type_vocab_size,
        inner_dim=config.intermediate_size,
        inner_activation=lambda x: tf.nn.gelu(x, approximate=True),
        output_dropout=config.hidden_dropout_prob,
        attention_dropout=config.attention_probs_dropout_prob,
        dict_outputs=True,
    )


def create_garden_optimizer(learning_rate=1e-4):
    """Creates tf-models-official's AdamW.

    Weight decay and clipping are those of `optimization.create_optimizer`.
    """
    return legacy_adamw.AdamWeightDecay(
        learning_rate,
        weight_decay_rate=0.01,
        epsilon=1e-6,
        gradient_clip_norm=1.0,
        exclude_from_weight_decay=GARDEN_NO_DECAY,
    )


def create_step(model, inputs, compute_loss, optimizer=None):
    """Creates a training step, a tf.function that returns the loss.

    The step consists of forward, loss, backward, clipping, and AdamW.

    Args:
      model, inputs: Keras model of this project or of a peer, and its inputs.
      compute_loss: Callable of the outputs that returns a scalar.
      optimizer: Optimizer, which also clips; this project's by default.
    """
    if optimizer is None:
        optimizer = optimization.create_optimizer(1e-4, 10_000, 100)
        optimizer.build(model.trainable_variables)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            loss = compute_loss(model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step


def create_pretraining_step(encoder, features):
    """Creates a pre-training step of this project; see `create_step`."""
    return create_step(
        BertPretrainer(encoder),
        features,
        lambda outputs: losses.pretraining_loss(outputs, features)["loss"],
    )
