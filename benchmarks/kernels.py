"""A profile of the encoder's SavedModel: the time in kernels, and the time between them.

    python -m benchmarks.kernels

Each request is traced in TensorFlow's session, which slows it down. The table shows milliseconds:
the request without and with the trace, its matrix multiplications with weights, all other kernels,
and the rest, which is TensorFlow's own. The last column is the time of the same multiplications at
the rate of a large one on this machine: no runtime with these kernels can be faster. With the
environment variable TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1, TensorFlow arranges weights only once.
"""

import collections
import os
import statistics
import tempfile
import time

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401, registers the kernels of the tokenizer

from benchmarks import exports, measurements
from bert_tf.cli import script
from bert_tf.cli.tables import format_table
from bert_tf.features import FEATURES
from bert_tf.serving.exports import find_latest_version
from run.pruning.job import count_encoder_flops

TYPES = ("float32", "bfloat16")
MATRIX_SIZE = 2048
NUM_WARM_UP = 4
NUM_REQUESTS = 20
# TensorFlow's names of a matrix multiplication with a bias, and of one without.
MATMULS = ("_MklNativeFusedMatMul", "_FusedMatMul", "_MklMatMul", "MatMul")
COMMAND = script.Command(
    measurements.ShapeSettings(batch_sizes=(1, 1, 8), lengths=(32, 128, 128)), __name__
)


def run(settings):
    """Exports the model, and prints a row for each type and shape; settings: ShapeSettings."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model_path = os.path.join(folder, "model")
        config = exports.write_encoder(settings, model_path)
        for dtype in TYPES:
            path = exports.export_encoder(
                model_path, os.path.join(folder, dtype), "saved_model", mixed_precision=dtype
            )
            rate = measure_rate(dtype)
            for batch_size, length in settings.shapes:
                ids = np.random.default_rng(0).integers(
                    config.vocab_size, size=[batch_size, length], dtype=np.int32
                )
                milliseconds = profile(find_latest_version(path), ids)
                flops = batch_size * count_encoder_flops(config, length)
                milliseconds.append(1000 * flops / rate)
                rows.append(
                    [f"{dtype}, {batch_size} x {length}", *(f"{each:.1f}" for each in milliseconds)]
                )
    header = [
        "request",
        "time",
        "with the trace",
        "matmuls",
        "other kernels",
        "between kernels",
        "ideal matmuls",
    ]
    print(format_table(header, rows))


def measure_rate(dtype):
    """Returns the floating-point operations per second of a large matrix multiplication."""
    matrix = tf.cast(tf.random.stateless_normal([MATRIX_SIZE] * 2, (1, 2)), dtype)
    multiply = tf.function(lambda: tf.matmul(matrix, matrix)[0, 0], autograph=False)
    times = []
    for _ in range(NUM_REQUESTS):
        start = time.perf_counter()
        multiply().numpy()
        times.append(time.perf_counter() - start)
    return 2 * MATRIX_SIZE**3 / statistics.median(times)


def profile(path, ids):
    """Profiles a SavedModel.

    Args:
      path: str. Directory of the SavedModel.
      ids: int32 [B, S].

    Returns:
      List of float. Milliseconds: the median of requests, and means of traced ones and their parts.
    """
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = meta.signature_def["ids"]
        values = (ids, np.ones_like(ids), np.zeros_like(ids))
        feed = {
            signature.inputs[name].name: value for name, value in zip(FEATURES, values, strict=True)
        }
        outputs = [output.name for output in signature.outputs.values()]
        for _ in range(NUM_WARM_UP):
            session.run(outputs, feed)
        times = []
        for _ in range(NUM_REQUESTS):
            start = time.perf_counter()
            session.run(outputs, feed)
            times.append(time.perf_counter() - start)
        traced = 0
        kernels = collections.Counter()
        for _ in range(NUM_REQUESTS):
            metadata = tf.compat.v1.RunMetadata()
            start = time.perf_counter()
            session.run(
                outputs,
                feed,
                options=tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE),
                run_metadata=metadata,
            )
            traced += (time.perf_counter() - start) / NUM_REQUESTS
            add_kernels(metadata, kernels)
    matmuls = sum(kernels[name] for name in MATMULS) / NUM_REQUESTS / 1000
    others = sum(kernels.values()) / NUM_REQUESTS / 1000 - matmuls
    traced *= 1000
    return [1000 * statistics.median(times), traced, matmuls, others, traced - matmuls - others]


def add_kernels(metadata, kernels):
    """Adds the microseconds of each type of kernel in a RunMetadata to a Counter."""
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            # For example "name = _MklNativeFusedMatMul(a, b)".
            name = node.timeline_label.partition(" = ")[2].partition("(")[0]
            kernels[name] += node.op_end_rel_micros - node.op_start_rel_micros


if __name__ == "__main__":
    COMMAND.run()
