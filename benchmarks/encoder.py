"""BERT-Base on a CPU beside tf-models-official's BertEncoder: forward and a whole pre-training step.

    python -m benchmarks.encoder

Both take turns in one process, on the same batches. GFLOP/s count the matrix products of the encoder (and of the
masked LM head in a step); the share is of what this machine reaches on a 2048 x 2048 x 2048 product.
"""

import dataclasses
import functools
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # when run as a file

from absl import flags

from bert_tf.cli import script

FLAGS = flags.FLAGS

PREDICTIONS = 20


def define_flags():
    """Defines the benchmark's flags."""
    flags.DEFINE_integer("rounds", 5, "How often each has its turn.", lower_bound=1)
    flags.DEFINE_list("parts", ["forward", "step", "padding"], "What to measure: forward, step, padding.")
    flags.DEFINE_integer("num_hidden_layers", 12, "Layers of the model; 12 is BERT-Base.", lower_bound=1)


def main(argv):
    """Prints a table for each part."""
    del argv
    import tensorflow as tf

    from bert_tf.config import BertConfig
    from run.training import utilisation

    config = BertConfig(30522, num_hidden_layers=FLAGS.num_hidden_layers, type_vocab_size=2)
    machine = utilisation.matmul_rate(tf.distribute.get_strategy(), tf.float32) / 1e9
    print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores, 2048^3 matmul {machine:.0f} GFLOP/s")
    if "forward" in FLAGS.parts:
        measure_forward(config, FLAGS.rounds, machine)
    if "step" in FLAGS.parts:
        measure_step(config, FLAGS.rounds, machine)
    if "padding" in FLAGS.parts:
        measure_padding(config, FLAGS.rounds)


def measure_forward(config, rounds, machine):
    """Forward at four shapes, ours and the peer's."""
    import tensorflow as tf

    from bert_tf.models import BertEncoder
    from run.training.utilisation import encoder_flops

    ours, peer = BertEncoder(config), garden_encoder(config)
    forward_ours = tf.function(lambda features: ours(features)["sequence_output"], reduce_retracing=False)
    forward_peer = tf.function(lambda inputs: peer(inputs)["sequence_output"], reduce_retracing=False)
    print(f"\n{'forward, batch x length':<26}{'ours':>9}{'official':>10}{'ratio':>7}{'GFLOP/s':>9}{'share':>7}")
    for batch_size, length in ((8, 128), (1, 128), (1, 32), (8, 384)):
        features = make_batch(config, batch_size, length)
        inputs = garden_inputs(features)
        turns = {"ours": functools.partial(forward_ours, features), "official": functools.partial(forward_peer, inputs)}
        times = {name: statistics.median(each) for name, each in
                 time_turns(turns, rounds * max(1, 1024 // (batch_size * length))).items()}
        print_row(f"{batch_size} x {length}", times, encoder_flops(config, batch_size, length), machine)


def measure_step(config, rounds, machine):
    """A training step at 8 x 128 with 20 predictions: forward, backward, clip, AdamW; with dropout and without."""
    from run.training import utilisation

    print(f"\n{'step, 8 x 128':<26}{'ours':>9}{'official':>10}{'ratio':>7}{'GFLOP/s':>9}{'share':>7}")
    features = make_batch(config, 8, 128)
    flops = 8 * utilisation.pretraining_flops(config, 128, PREDICTIONS)
    medians = {}
    for dropout in (0.1, 0.0):
        sized = dataclasses.replace(config, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
        turns = {"ours": our_step(sized, features), "official": garden_step(sized, features)}
        medians[dropout] = {name: statistics.median(each) for name, each in time_turns(turns, rounds).items()}
        print_row(f"dropout {dropout}", medians[dropout], flops, machine)
    print(f"dropout costs ours {medians[0.1]['ours'] / medians[0.0]['ours'] - 1:.1%} of a step")


def measure_padding(config, rounds):
    """Forward and backward at 8 x 128 of which 42 % are real tokens, MRPC's share: padding removed or not."""
    import tensorflow as tf

    from bert_tf.models import BertEncoder

    features = make_batch(config, 8, 128, real_tokens=0.42)
    turns = {}
    for name, remove in (("removed", True), ("kept", False)):
        encoder = BertEncoder(config, remove_padding=remove)
        turns[f"forward, {name}"] = tf.function(lambda encoder=encoder: encoder(features)["pooled_output"])
        turns[f"forward + backward, {name}"] = gradient_step(encoder, features)
    times = {name: statistics.median(each) for name, each in time_turns(turns, rounds).items()}
    print(f"\n{'padding, 8 x 128, 42 % real':<30}{'removed':>9}{'kept':>9}{'ratio':>7}")
    for part in ("forward", "forward + backward"):
        removed, kept = times[f"{part}, removed"], times[f"{part}, kept"]
        print(f"{part:<30}{removed:>8.3f}s{kept:>8.3f}s{kept / removed:>7.2f}")


def gradient_step(encoder, features):
    """A traced function: the gradients of a scalar of the pooled output, all of them computed."""
    import tensorflow as tf

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(encoder(features, training=True)["pooled_output"]))
        gradients = tape.gradient(loss, encoder.trainable_variables)
        return tf.add_n([tf.reduce_sum(tf.convert_to_tensor(gradient)) for gradient in gradients])
    return step


def our_step(encoder, features):
    """A traced training step of this project; `encoder`: BertEncoder or BertConfig."""
    import tensorflow as tf

    from bert_tf import losses, models, optimization

    model = models.BertPretrainer(encoder)
    optimizer = optimization.create_optimizer(1e-4, 10_000, 100)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = losses.pretraining_loss(model(features, training=True), features)["loss"]
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss
    return step


def garden_step(config, features):
    """The same step with tf-models-official's model and AdamW, its own loss on its own heads."""
    import tensorflow as tf
    from official.modeling.optimization import legacy_adamw
    from official.nlp.modeling import layers, models

    from bert_tf import losses

    model = models.BertPretrainerV2(
        garden_encoder(config), mlm_activation=lambda x: tf.nn.gelu(x, approximate=True),
        classification_heads=[layers.ClassificationHead(config.hidden_size, 2, name="next_sentence")])
    optimizer = legacy_adamw.AdamWeightDecay(
        1e-4, weight_decay_rate=0.01, epsilon=1e-6, gradient_clip_norm=0.0,
        exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"])
    inputs = {**garden_inputs(features), "masked_lm_positions": features["masked_lm_positions"]}

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            loss = losses.pretraining_loss({"masked_lm_logits": outputs["mlm_logits"],
                                            "next_sentence_logits": outputs["next_sentence"]}, features)["loss"]
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss
    return step


def garden_encoder(config):
    """tf-models-official's encoder of the same size."""
    import tensorflow as tf
    from official.nlp.modeling import networks

    return networks.BertEncoder(
        config.vocab_size, config.hidden_size, config.num_hidden_layers, config.num_attention_heads,
        config.max_position_embeddings, config.type_vocab_size, inner_dim=config.intermediate_size,
        inner_activation=lambda x: tf.nn.gelu(x, approximate=True), output_dropout=config.hidden_dropout_prob,
        attention_dropout=config.attention_probs_dropout_prob, dict_outputs=True)


def garden_inputs(features):
    """Our features by tf-models-official's names."""
    return {"input_word_ids": features["input_ids"], "input_mask": features["input_mask"],
            "input_type_ids": features["segment_ids"]}


def make_batch(config, batch_size, length, real_tokens=1.0):
    """Random pre-training features; the last 1 - real_tokens of all tokens are padding, rows of several lengths."""
    import numpy as np
    import tensorflow as tf

    generator = np.random.default_rng(1)
    spread = np.linspace(0.5, 1.5, batch_size) if real_tokens < 1 else np.ones(batch_size)
    lengths = np.round(length * real_tokens * spread).astype(int)
    arrays = {
        "input_ids": generator.integers(1000, config.vocab_size, [batch_size, length]),
        "input_mask": np.arange(length) < lengths[:, np.newaxis],
        "segment_ids": np.broadcast_to(np.arange(length) > length // 2, [batch_size, length]),
        "masked_lm_positions": np.sort(generator.integers(0, int(lengths.min()), [batch_size, PREDICTIONS])),
        "masked_lm_ids": generator.integers(1000, config.vocab_size, [batch_size, PREDICTIONS]),
        "next_sentence_labels": generator.integers(0, 2, [batch_size, 1]),
    }
    return {**{name: tf.constant(value, tf.int32) for name, value in arrays.items()},
            "masked_lm_weights": tf.ones([batch_size, PREDICTIONS])}


def time_turns(turns, rounds):
    """Seconds of each call: {name: list}; all have their turn in each round, after one to warm up."""
    for function in turns.values():
        function(), function()
    times = {name: [] for name in turns}
    for _ in range(rounds):
        for name, function in turns.items():
            start = time.perf_counter()
            function().numpy()
            times[name].append(time.perf_counter() - start)
    return times


def print_row(name, times, flops, machine):
    """One line of a table: seconds, ratio, and what ours makes of the machine."""
    rate = flops / times["ours"] / 1e9
    print(f"{name:<26}{times['ours']:>8.3f}s{times['official']:>9.3f}s{times['official'] / times['ours']:>7.2f}"
          f"{rate:>9.0f}{rate / machine:>7.0%}", flush=True)


if __name__ == "__main__":
    script.run(main, define_flags)
