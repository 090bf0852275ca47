"""BERT-Base on a CPU compared with tf-models-official's BertEncoder: forward pass and pre-training step.

    python -m benchmarks.encoder

Both take turns in one process, on the same batches. GFLOP/s count the matmuls of the encoder (and of the masked LM head
in a step). The share is the fraction of the rate of a 2048 x 2048 x 2048 matmul on this machine.
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
from benchmarks.measurements import Comparison
from bert_tf import losses, optimization
from bert_tf.cli import flags, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.models import BertPretrainer
from run.training import strategies, utilization

PARTS = ("forward", "step", "padding")
REAL_TOKENS = 0.42  # Fraction in MRPC, padded to 128.


@dataclasses.dataclass(frozen=True)
class EncoderSettings(measurements.KeptResults):
    """Settings for the measurement."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    parts: tuple[str, ...] = setting(PARTS, f"Parts to measure: {', '.join(PARTS)}.")
    batch_sizes: tuple[str, ...] = setting(
        ("8", "1", "1", "8"), "Batch sizes of the forward pass, each with every value of --lengths.")
    lengths: tuple[str, ...] = setting(("128", "128", "32", "384"), "Sequence lengths of the forward pass in tokens.")
    train_batch_size: int = setting(8, "Batch size of a training step, and of a batch with padding.", lower=1)
    max_seq_length: int = setting(128, "Sequence length of a training step in tokens.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per example.", lower=1)
    rounds: int = setting(5, "Number of turns; more for small batches.", lower=1)

    def check(self):
        """See Settings."""
        for part in self.parts:
            if part not in PARTS:
                raise InputError(f"`parts`={part}: must be one of {', '.join(PARTS)}")
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
    """Prints a table for each part and stores the comparisons with the peer; settings: EncoderSettings."""
    longest = max([settings.max_seq_length, *(length for _, length in settings.shapes)])
    config = read_config(settings.bert_config_file, longest)
    machine = utilization.measure_matmul_rate(tf.distribute.get_strategy(), tf.float32) / 1e9
    print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores, 2048^3 matmul {machine:.0f} GFLOP/s")
    comparisons = []
    if "forward" in settings.parts:
        comparisons += measure_forward(config, settings, machine)
    if "step" in settings.parts:
        comparisons += measure_step(config, settings, machine)
    if "padding" in settings.parts:
        measure_padding(config, settings)
    measurements.keep("encoder", settings, comparisons)


def measure_forward(config, settings, machine):
    """Prints the forward passes of this project and the peer at each shape; returns the Comparisons."""
    ours, peer = FastEncoder(config, Fast()), garden_encoder(config)
    forward_ours = tf.function(lambda features: ours(features)["sequence_output"], autograph=False)
    forward_peer = tf.function(lambda inputs: peer(inputs)["sequence_output"], autograph=False)
    print(f"\n{'forward, batch x length':<26}{'ours':>9}{'official':>10}{'ratio':>7}{'GFLOP/s':>9}{'share':>7}")
    comparisons = []
    for batch_size, length in settings.shapes:
        features = make_batch(config, batch_size, length, settings.max_predictions_per_seq)
        times = time_calls({"ours": functools.partial(forward_ours, features),
                            "official": functools.partial(forward_peer, garden_inputs(features))},
                           settings.rounds * max(1, 1024 // (batch_size * length)))
        flops = utilization.encoder_flops(config, batch_size, length)
        print_row(f"{batch_size} x {length}", times, flops, machine)
        comparisons.append(Comparison(f"Forward pass, {batch_size} x {length} tokens", "tf-models-official BertEncoder",
                                      times["ours"], times["official"], "s", False))
    return comparisons


def measure_step(config, settings, machine):
    """Prints training steps (forward, backward, clipping, AdamW) with and without dropout; returns the Comparison."""
    batch_size, length = settings.train_batch_size, settings.max_seq_length
    predictions = settings.max_predictions_per_seq
    shape = f"{batch_size} x {length}"
    print(f"\n{f'step, {shape}':<26}{'ours':>9}{'official':>10}{'ratio':>7}{'GFLOP/s':>9}{'share':>7}")
    features = make_batch(config, batch_size, length, predictions)
    flops = batch_size * utilization.pretraining_flops(config, length, predictions)
    times = {}
    for dropout in (0.1, 0.0):
        sized = dataclasses.replace(config, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
        encoder = FastEncoder(sized, strategies.choose_fast(tf.distribute.get_strategy(), sized))
        turns = {"ours": our_step(encoder, features), "official": garden_step(sized, features)}
        times[dropout] = time_calls(turns, settings.rounds)
        print_row(f"dropout {dropout}", times[dropout], flops, machine)
    print(f"dropout costs ours {times[0.1]['ours'] / times[0.0]['ours'] - 1:.1%} of a step")
    return [Comparison(f"Pre-training step, {shape} tokens", "tf-models-official BertPretrainerV2, AdamWeightDecay",
                       times[0.1]["ours"], times[0.1]["official"], "s", False)]


def measure_padding(config, settings):
    """Prints forward and backward on a batch with a fraction REAL_TOKENS of tokens, with and without padding."""
    batch_size, length = settings.train_batch_size, settings.max_seq_length
    features = make_batch(config, batch_size, length, settings.max_predictions_per_seq, REAL_TOKENS)
    turns = {}
    for name, remove in (("removed", True), ("kept", False)):
        encoder = FastEncoder(config, Fast(remove_padding=remove))
        turns[f"forward, {name}"] = tf.function(lambda encoder=encoder: encoder(features)["pooled_output"],
                                                autograph=False)
        turns[f"forward + backward, {name}"] = gradient_step(encoder, features)
    times = time_calls(turns, settings.rounds)
    title = f"padding, {batch_size} x {length}, {REAL_TOKENS:.0%} real"
    print(f"\n{title:<30}{'removed':>9}{'kept':>9}{'ratio':>7}")
    for part in ("forward", "forward + backward"):
        removed, kept = times[f"{part}, removed"], times[f"{part}, kept"]
        print(f"{part:<30}{removed:>8.3f}s{kept:>8.3f}s{kept / removed:>7.2f}")


def gradient_step(encoder, features):
    """Creates a traced function that computes all gradients of a scalar of the pooled output."""
    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(encoder(features, training=True)["pooled_output"]))
        gradients = tape.gradient(loss, encoder.trainable_variables)
        return tf.add_n([tf.reduce_sum(tf.convert_to_tensor(gradient)) for gradient in gradients])
    return step


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


def print_row(name, times, flops, machine):
    """Prints one line of a table: seconds, ratio, and the utilization of the machine by this project."""
    rate = flops / times["ours"] / 1e9
    print(f"{name:<26}{times['ours']:>8.3f}s{times['official']:>9.3f}s{times['official'] / times['ours']:>7.2f}"
          f"{rate:>9.0f}{rate / machine:>7.0%}", flush=True)


if __name__ == "__main__":
    script.run(main, define_flags)
