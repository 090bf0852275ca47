#!/bin/sh
# Versions: tensorflow 2.20.0 with its LiteRT (TFLite) converter, CPython 3.11 to 3.13
#
# Behavior:
# A lookup in a table of embeddings, written as tf.gather(table, ids) and converted with tf.lite.Optimize.DEFAULT
# (weights in int8, float computation), gets one scale for the whole table: rows a hundred times smaller than the largest
# come back with an error of a quarter of their values. The product tf.matmul(tf.one_hot(ids, rows), table), which computes
# the same in float32, is converted to one lookup with a scale for each row: the error is 0.4% in all rows.
#
# Output:
#     gather: scales [1], largest relative error of rows [ 0 10 30 49]: [0.3951 0.1362 0.0217 0.0039]
#     one_hot: scales [50], largest relative error of rows [ 0 10 30 49]: [0.0039 0.0039 0.0039 0.0039]
#
# Why a good guess is wrong:
# A good guess is that the form of the lookup does not matter, or that the gather is the better one: it is what Keras'
# Embedding layer emits, the converter quantizes matrices of dense layers by channel, and a one-hot product looks like
# waste. But per-channel weights belong to the kernels of some operations, and GATHER is not one of them; the converter
# recognizes the one-hot product and replaces it by EMBEDDING_LOOKUP, which is one. Rare tokens, whose embeddings are short,
# lose the most.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check tensorflow==2.20.0 numpy==2.2.6
cat > "$directory/scales.py" <<'PYTHON_END'
import numpy as np
import tensorflow as tf

ROWS = 50
IDS = np.array([[0, 10, 30, ROWS - 1]], np.int32)
norms = np.logspace(-2, 0, ROWS, dtype=np.float32)[:, np.newaxis]
values = np.random.RandomState(0).randn(ROWS, 1024).astype(np.float32) * norms


class Lookup(tf.Module):
    def __init__(self):
        self.table = tf.Variable(values)

    @tf.function(input_signature=[tf.TensorSpec([1, 4], tf.int32)])
    def gather(self, ids):
        return tf.gather(self.table, ids)

    @tf.function(input_signature=[tf.TensorSpec([1, 4], tf.int32)])
    def one_hot(self, ids):
        return tf.matmul(tf.one_hot(ids, ROWS), self.table)


def convert(lookup, name):
    function = getattr(lookup, name).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], lookup)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], IDS)
    interpreter.invoke()
    output = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
    scales = [
        len(tensor["quantization_parameters"]["scales"])
        for tensor in interpreter.get_tensor_details()
        if tuple(tensor["shape"]) == values.shape
    ]
    expected = values[IDS[0]]
    errors = np.abs(output - expected).max(axis=1) / np.abs(expected).max(axis=1)
    print(f"{name}: scales {scales}, largest relative error of rows {IDS[0]}: {errors.round(4)}")
    return scales, errors


lookup = Lookup()
gather_scales, gather_errors = convert(lookup, "gather")
one_hot_scales, one_hot_errors = convert(lookup, "one_hot")
assert gather_scales == [1] and gather_errors[0] > 0.1
assert one_hot_scales == [ROWS] and one_hot_errors.max() < 0.005
PYTHON_END
"$directory/venv/bin/python" "$directory/scales.py" 2> "$directory/messages" || { cat "$directory/messages" >&2; exit 1; }
