#!/bin/sh
# Versions: tensorflow 2.20.0, CPython 3.11 to 3.13, x86-64 with AVX-512
#
# Behavior:
# With the environment variable TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1, a tf.function with a matrix multiplication and a bias
# continues to use the first values of a tf.Variable after the variable has been assigned. There is no message. Without
# a bias, the new values are used.
#
# Output:
#     frozen=0, with a bias: new values; without a bias: new values
#     frozen=1, with a bias: first values; without a bias: new values
#
# Why a good guess is wrong:
# Guides for inference on Intel CPUs recommend the variable for SavedModels. A good guess is that it concerns constants of
# a frozen graph, since a variable is known to be variable, or that an assignment invalidates the copies. But the kernel
# of the fused operation looks neither at the type of its input nor at its version: its first call arranges the weights
# for the CPU and keeps the copy. A container image that sets the variable for serving and is also used for training
# trains without an error, while each forward pass uses the first weights, and the loss hardly decreases.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check tensorflow==2.20.0
cat > "$directory/frozen.py" <<'PYTHON_END'
import os

import numpy as np
import tensorflow as tf

frozen = os.environ["TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"]
kernel = tf.Variable(tf.random.stateless_normal([256, 256], (1, 2)))
bias = tf.zeros([256])
rows = tf.random.stateless_normal([32, 256], (3, 4))
functions = {
    "with a bias": tf.function(lambda: tf.nn.bias_add(tf.matmul(rows, kernel), bias)),
    "without a bias": tf.function(lambda: tf.matmul(rows, kernel)),
}
used = {}
for name, function in functions.items():
    kernel.assign(tf.random.stateless_normal([256, 256], (1, 2)))
    first = function().numpy()
    kernel.assign(2 * kernel)
    second = function().numpy()
    assert np.array_equal(second, first) != np.allclose(second, 2 * first, rtol=1e-4, atol=1e-3)
    used[name] = "first values" if np.array_equal(second, first) else "new values"
print(f"frozen={frozen}, " + "; ".join(f"{name}: {values}" for name, values in used.items()))
expected = "first values" if frozen == "1" else "new values"
assert used == {"with a bias": expected, "without a bias": "new values"}
PYTHON_END
for frozen in 0 1; do
    TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=$frozen "$directory/venv/bin/python" "$directory/frozen.py" 2> "$directory/messages" \
        || { cat "$directory/messages" >&2; exit 1; }
done
