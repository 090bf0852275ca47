"""The forward pass of BERT-Base on a CPU, compared with tf-models-official's BertEncoder.

    python -m benchmarks.encoder

The first shape is also compared with a 2048 x 2048 x 2048 matmul on this machine. GFLOP/s count the
encoder's matmuls.
"""

import functools

import tensorflow as tf

from benchmarks import models
from benchmarks.measurements import Results, ShapeSettings, time_turns
from bert_tf.cli import script
from bert_tf.cli.resolution import read_model_config
from bert_tf.fast import Fast, FastEncoder
from run.pruning.job import count_encoder_flops

MATRIX_SIZE = 2048
COMMAND = script.Command(ShapeSettings(batch_sizes=(8, 1, 8), lengths=(128, 32, 384)), __name__)


def run(settings):
    """Measures each shape; settings: ShapeSettings."""
    config = read_model_config(settings.bert_config_file, max(settings.lengths))
    ours = FastEncoder(config, Fast())
    peer = models.create_garden_encoder(config)
    forward_ours = tf.function(lambda features: ours(features)["sequence_output"], autograph=False)
    forward_peer = tf.function(lambda inputs: peer(inputs)["sequence_output"], autograph=False)
    matrix = tf.random.stateless_normal([MATRIX_SIZE] * 2, (1, 2))
    multiply = tf.function(lambda: tf.matmul(matrix, matrix)[0, 0], autograph=False)
    with Results("encoder", settings) as results:
        for number, (batch_size, length) in enumerate(settings.shapes):
            features = models.make_batch(config, batch_size, length)
            times = time_turns(
                {
                    "ours": functools.partial(forward_ours, features),
                    "peer": functools.partial(forward_peer, models.to_garden_inputs(features)),
                    "matmul": multiply,
                },
                settings.rounds,
            )
            name = f"Forward pass, {batch_size} x {length} tokens"
            results.add(name, times["ours"], {"tf-models-official BertEncoder": times["peer"]}, "s")
            if number == 0:
                rate = batch_size * count_encoder_flops(config, length) / times["ours"] / 1e9
                peak = 2 * MATRIX_SIZE**3 / times["matmul"] / 1e9
                results.add(
                    name,
                    rate,
                    {f"the machine's matmul of {MATRIX_SIZE} x {MATRIX_SIZE}": peak},
                    "GFLOP/s",
                )


if __name__ == "__main__":
    COMMAND.run()
