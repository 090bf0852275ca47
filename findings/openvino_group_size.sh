#!/bin/sh
# Versions: openvino 2026.4.1 with nncf 3.4.0, CPython 3.11 to 3.13, on a CPU with AVX-512 VNNI
#
# Behavior:
# A model with int8 weights also rounds the inputs of a multiplication to int8, in groups of
# DYNAMIC_QUANTIZATION_GROUP_SIZE inputs with one scale each. A size above the number of inputs, here 64, does not mean
# one group per row: the inputs are not rounded at all, and the multiplication is computed in float. There is no message,
# and the compiled model reports the requested size.
#
# Output:
#     group size 32, reported 32: largest difference from float 0.1333
#     group size 64, reported 64: largest difference from float 0.1484
#     group size 65, reported 65: largest difference from float 0.0000
#     group size 128, reported 128: largest difference from float 0.0000
#
# Why a good guess is wrong:
# A good guess is that larger groups only have coarser scales, and that a size above the number of inputs is the coarsest,
# one scale per row: groups of 32 and 64 behave like this. Instead, the outputs are those of size 0, which turns the
# rounding of inputs off. A size that is chosen for a wide layer thus turns int8 off in the narrower layers of the same
# model. The results become more exact, so a comparison of quality does not show it.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 nncf==3.4.0
cat > "$directory/sizes.py" <<'PYTHON_END'
import nncf
import numpy as np
import openvino as ov
from openvino import opset15 as ops

INPUTS, OUTPUTS = 64, 128
random = np.random.default_rng(0)
x = ops.parameter([-1, INPUTS], np.float32)
kernel = random.standard_normal((OUTPUTS, INPUTS)).astype(np.float32)
product = ops.matmul(x, ops.constant(kernel), False, True)
model = nncf.compress_weights(
    ov.Model([ops.result(product)], [x], "product"), mode=nncf.CompressWeightsMode.INT8_SYM
)
values = random.standard_normal((8, INPUTS)).astype(np.float32)
core = ov.Core()


def compute(size):
    settings = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": size}
    compiled = core.compile_model(model, "CPU", settings)
    return compiled([values])[0], compiled.get_property("DYNAMIC_QUANTIZATION_GROUP_SIZE")


exact, _ = compute(0)  # No rounding of inputs.
differences = {}
for size in (32, 64, 65, 128):
    outputs, reported = compute(size)
    assert reported == size
    differences[size] = float(np.abs(outputs - exact).max())
    print(f"group size {size}, reported {reported}: largest difference from float {differences[size]:.4f}")
assert min(differences[32], differences[64]) > 0.01
assert differences[65] == differences[128] == 0
PYTHON_END
"$directory/venv/bin/python" -W ignore "$directory/sizes.py" > "$directory/output" 2> "$directory/messages" ||
    { cat "$directory/output" "$directory/messages" >&2; exit 1; }
grep "^group size" "$directory/output"
