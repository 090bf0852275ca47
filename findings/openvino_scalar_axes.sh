#!/bin/sh
# Versions: openvino 2026.4.1, CPython 3.11 to 3.13
#
# Behavior:
# A layer normalization whose means have the axis -1 as a scalar, as `tf.reduce_mean(x, axis=-1)` exports it, cannot be
# compiled. Reading and validation succeed, and `compile_model` raises an error of MVNFusionWithoutConstants. With the
# axes [-1], or with a multiplication by the inverse root instead of the division, the same numbers are computed.
#
# Output:
#     axes [-1], division: compiled
#     axes [-1], inverse root: compiled
#     axis -1, division: Expected 1D tensor for the 'axes' input. Got: []
#     axis -1, inverse root: compiled
#
# Why a good guess is wrong:
# The specification of ReduceMean allows a scalar for its axes, OpenVINO infers the shape of the result from it, and each
# operation alone is compiled and computed. A good guess is that optimizations do not change which models are valid. The
# fusion of the operations into one, MVN, passes the scalar on to MVN, which requires a vector. The error names an
# operation that is not in the model, so a search for it in the file finds nothing.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1
cat > "$directory/axes.py" <<'PYTHON_END'
import numpy as np
import openvino as ov
from openvino import opset13 as ops

values = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
expected = (values - values.mean(-1, keepdims=True)) / np.sqrt(values.var(-1, keepdims=True) + 1e-6)


def create_model(axes, form):
    x = ops.parameter([-1, 8], np.float32)
    axes = ops.constant(np.int32(axes))
    centered = ops.subtract(x, ops.reduce_mean(x, axes, True))
    variance = ops.reduce_mean(ops.multiply(centered, centered), axes, True)
    variance = ops.add(variance, ops.constant(np.float32(1e-6)))
    if form == "division":
        normalized = ops.divide(centered, ops.sqrt(variance))
    else:
        normalized = ops.multiply(centered, ops.power(variance, ops.constant(np.float32(-0.5))))
    model = ov.Model([ops.result(normalized)], [x], "normalization")
    model.validate_nodes_and_infer_types()
    assert model.outputs[0].get_partial_shape().get_min_shape() == ov.Shape([0, 8])
    return model


failed = []
for name, axes in (("axes [-1]", [-1]), ("axis -1", -1)):
    for form in ("division", "inverse root"):
        try:
            compiled = ov.Core().compile_model(create_model(axes, form), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        except RuntimeError as error:
            failed.append((name, form))
            print(f"{name}, {form}: {[line for line in str(error).splitlines() if line][-1]}")
        else:
            assert np.abs(compiled([values])[0] - expected).max() < 1e-5
            print(f"{name}, {form}: compiled")
assert failed == [("axis -1", "division")]
PYTHON_END
"$directory/venv/bin/python" -W ignore "$directory/axes.py" > "$directory/output" 2> "$directory/messages" ||
    { cat "$directory/output" "$directory/messages" >&2; exit 1; }
grep "^ax[ei]s" "$directory/output"
