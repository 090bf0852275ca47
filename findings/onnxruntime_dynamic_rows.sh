#!/bin/sh
# Versions: onnxruntime 1.32.0 with onnx 1.23.2, CPython 3.11 to 3.13
#
# Behavior:
# After quantize_dynamic, the result of a row depends on the other rows of its batch. Here, a row is multiplied by a
# matrix, alone and with a second row of larger numbers: the result changes by up to 0.5. The float model returns the
# same numbers in both cases.
#
# Output:
#     float: alone [-8.78 -4.25  0.48 -3.  ], with a larger row [-8.78 -4.25  0.48 -3.  ]
#     int8:  alone [-8.75 -4.26  0.46 -2.99], with a larger row [-9.24 -4.32  0.38 -3.11]
#
# Why a good guess is wrong:
# A good guess is that the rows of a batch are independent, as in the float model: "dynamic" means that the scale of the
# inputs is computed from the inputs of each request. The operation that computes it, DynamicQuantizeLinear, has one scale
# for the complete tensor, so texts that a server collects into a batch change each other's answers. Other kernels that
# quantize dynamically, such as LiteRT's, have one scale per row.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2
cat > "$directory/rows.py" <<'PYTHON_END'
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

os.chdir(sys.argv[1])
random = np.random.default_rng(0)
kernel = random.standard_normal((16, 4)).astype(np.float32)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "kernel"], ["y"])],
    "product",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 16])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 4])],
    [numpy_helper.from_array(kernel, "kernel")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save(model, "float.onnx")
quantize_dynamic("float.onnx", "int8.onnx", weight_type=QuantType.QInt8)
row = random.standard_normal((1, 16)).astype(np.float32)
larger = 20 * random.standard_normal((1, 16)).astype(np.float32)


def compare(path):
    """Returns the difference of the results of a row, alone and in a batch."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (alone,) = session.run(None, {"x": row})[0]
    (with_larger, _) = session.run(None, {"x": np.concatenate([row, larger])})[0]
    name = f"{path.removesuffix('.onnx')}:"
    print(f"{name:6} alone {alone.round(2)}, with a larger row {with_larger.round(2)}")
    return np.abs(alone - with_larger).max()


assert compare("float.onnx") < 1e-5
assert compare("int8.onnx") > 0.1
PYTHON_END
"$directory/venv/bin/python" "$directory/rows.py" "$directory" 2> "$directory/messages" || { cat "$directory/messages" >&2; exit 1; }
