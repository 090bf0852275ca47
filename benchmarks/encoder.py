"""The forward pass of BERT-Base on a CPU, compared with tf-models-official's BertEncoder and with large matmuls.

    python -m benchmarks.encoder

Both take turns in one process, on the same batches. GFLOP/s count the matmuls of the encoder. The share is the fraction
of the rate of a 2048 x 2048 x 2048 matmul on this machine, which takes turns too.
"""

import dataclasses
import functools
import os

import numpy as np
import tensorflow as tf
from official.modeling.optimization import legacy_adamw
from official.nlp.modeling import layers as garden_layers
from official.nlp.modeling import models as garden_models
from official.nlp.modeling import networks as garden_networks

from benchmarks import measurements
from benchmarks.flops import encoder_flops
from benchmarks.measurements import Comparison
from bert_tf import losses, optimization
from bert_tf.cli import flags, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.fast import Fast, FastEncoder
from bert_tf.models import BertPretrainer

PRODUCT_WIDTH = 2048
SMALL_BATCH_TOKENS, SMALL_BATCH_ROUNDS = 512, 6  # A batch with fewer tokens has this many times as many turns.
REAL_TOKENS = 0.42  # Fraction in MRPC, padded to 128.


@dataclasses.dataclass(frozen=True)
class EncoderSettings(measurements.KeptResults):
    """Settings for the measurement."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    batch_sizes: tuple[str, ...] = setting(("8", "1", "8"), "Batch sizes, each with every value of --lengths.")
    lengths: tuple[str, ...] = setting(("128", "32", "384"), "Sequence lengths in tokens.")
    rounds: int = setting(5, "Number of turns; more for small batches.", lower=1)

    def check(self):
        """See Settings."""
        measurements.shapes(self.batch_sizes, self.lengths)

    @property
    def shapes(self):
        """Batch size and length of each forward pass."""
        return measurements.shapes(self.batch_sizes, self.lengths)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(EncoderSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(EncoderSettings()))


def measure(settings):
    """Prints the forward passes at each shape and stores the comparisons with the peer; settings: EncoderSettings."""
    config = read_config(settings.bert_config_file, max(length for _, length in settings.shapes))
    print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores")
    ours, peer = FastEncoder(config, Fast()), garden_encoder(config)
    forward_ours = tf.function(lambda features: ours(features)["sequence_output"], autograph=False)
    forward_peer = tf.function(lambda inputs: peer(inputs)["sequence_output"], autograph=False)
    print(f"{'forward, batch x length':<26}{'ours':>9}{'official':>10}{'ratio':>7}{'GFLOP/s':>9}{'share':>7}")
    comparisons = []
    for batch_size, length in settings.shapes:
        features = make_batch(config, batch_size, length, 1)
        times = time_calls({"ours": functools.partial(forward_ours, features),
                            "official": functools.partial(forward_peer, garden_inputs(features)),
                            "product": make_product(tf.float32)},
                           scale_rounds(settings.rounds, batch_size * length))
        rate = encoder_flops(config, batch_size, length) / times["ours"] / 1e9
        machine = 2 * PRODUCT_WIDTH**3 / times["product"] / 1e9
        print(f"{f'{batch_size} x {length}':<26}{times['ours']:>8.3f}s{times['official']:>9.3f}s"
              f"{times['official'] / times['ours']:>7.2f}{rate:>9.0f}{rate / machine:>7.0%}", flush=True)
        name = f"Forward pass, {batch_size} x {length} tokens"
        comparisons.append(
            Comparison(name, "tf-models-official BertEncoder", times["ours"], times["official"], "s", False))
        if len(comparisons) == 1:  # One row suffices.
            comparisons.append(Comparison(
                name, f"the machine's matmul of {PRODUCT_WIDTH} x {PRODUCT_WIDTH}", rate, machine, "GFLOP/s", True))
    measurements.keep("encoder", settings, comparisons)


def scale_rounds(rounds, tokens):
    """Returns the number of turns for a batch with this many tokens: more for a small one."""
    return rounds * (SMALL_BATCH_ROUNDS if tokens < SMALL_BATCH_TOKENS else 1)


def make_product(dtype):
    """Creates a function that multiplies two square matrices of a dtype and returns an entry of the product."""
    matrix = tf.cast(tf.random.stateless_normal([PRODUCT_WIDTH] * 2, (1, 2)), dtype)
    return tf.function(lambda: tf.matmul(matrix, matrix)[0, 0], autograph=False)


def our_step(encoder, features):
    """Creates a traced pre-training step of this project: forward, losses, backward, clipping, AdamW."""
    return model_step(BertPretrainer(encoder), features,
                      lambda outputs: losses.pretraining_loss(outputs, features)["loss"])


def model_step(model, features, loss_of):
    """Creates such a step for any model of this project; loss_of: callable of outputs that returns a scalar."""
    optimizer = optimization.create_optimizer(1e-4, 10_000, 100)
    optimizer.build(model.trainable_variables)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(model(features, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss
    return step


def garden_step(config, features):
    """Creates the same step with tf-models-official's model, heads, and AdamW, but this project's loss and clipping."""
    model = garden_models.BertPretrainerV2(
        garden_encoder(config), mlm_activation=lambda x: tf.nn.gelu(x, approximate=True),
        classification_heads=[garden_layers.ClassificationHead(config.hidden_size, 2, name="next_sentence")])
    inputs = {**garden_inputs(features), "masked_lm_positions": features["masked_lm_positions"]}
    return garden_model_step(model, inputs, lambda outputs: losses.pretraining_loss({
        "masked_lm_logits": outputs["mlm_logits"], "next_sentence_logits": outputs["next_sentence"]}, features)["loss"])


def garden_model_step(model, inputs, loss_of):
    """Creates a step of any model of tf-models-official, with its AdamW; loss_of: callable of outputs."""
    optimizer = legacy_adamw.AdamWeightDecay(
        1e-4, weight_decay_rate=0.01, epsilon=1e-6, gradient_clip_norm=0.0,
        exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"])

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(model(inputs, training=True))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss
    return step


def garden_encoder(config):
    """Creates tf-models-official's encoder of the same size."""
    return garden_networks.BertEncoder(
        config.vocab_size, config.hidden_size, config.num_hidden_layers, config.num_attention_heads,
        config.max_position_embeddings, config.type_vocab_size, inner_dim=config.intermediate_size,
        inner_activation=lambda x: tf.nn.gelu(x, approximate=True), output_dropout=config.hidden_dropout_prob,
        attention_dropout=config.attention_probs_dropout_prob, dict_outputs=True)


def garden_inputs(features):
    """Renames this project's features for tf-models-official."""
    return {"input_word_ids": features["input_ids"], "input_mask": features["input_mask"],
            "input_type_ids": features["segment_ids"]}


def get_sizes(config):
    """Returns the arguments of transformers.BertConfig for a model of the same size."""
    return {name: getattr(config, name) for name in (
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")}


def huggingface_inputs(features):
    """Renames features for Hugging Face, as arrays."""
    return {theirs: features[name].numpy() for theirs, name in (
        ("input_ids", "input_ids"), ("attention_mask", "input_mask"), ("token_type_ids", "segment_ids"))}


def make_batch(config, batch_size, length, predictions, real_tokens=1.0):
    """Creates random pre-training features with `predictions` per example.

    The batch has a fraction `real_tokens` of non-padding tokens. If it is below 1, the rows have several lengths.
    """
    generator = np.random.default_rng(1)
    spread = min(0.5, 1 / real_tokens - 1)  # Deviation of the lengths from their mean.
    lengths = np.round(length * real_tokens * np.linspace(1 - spread, 1 + spread, batch_size)).astype(int)
    arrays = {
        "input_ids": generator.integers(config.vocab_size, size=[batch_size, length]),
        "input_mask": np.arange(length) < lengths[:, np.newaxis],
        "segment_ids": np.broadcast_to(np.arange(length) > length // 2, [batch_size, length]),
        "masked_lm_positions": np.sort(generator.integers(0, max(1, int(lengths.min())), [batch_size, predictions])),
        "masked_lm_ids": generator.integers(config.vocab_size, size=[batch_size, predictions]),
        "next_sentence_labels": generator.integers(0, 2, [batch_size, 1]),
    }
    return {**{name: tf.constant(value, tf.int32) for name, value in arrays.items()},
            "masked_lm_weights": tf.ones([batch_size, predictions])}


def time_calls(functions, rounds):
    """Returns the median seconds per call for a dict of traced functions, which take turns, after two calls each."""
    def finish(function):
        function().numpy()

    turns = {name: functools.partial(finish, function) for name, function in functions.items()}
    return measurements.medians(measurements.time_turns(turns, rounds, warm_up=2))


if __name__ == "__main__":
    script.run(main, define_flags)
