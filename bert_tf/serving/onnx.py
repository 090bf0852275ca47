"""ONNX models that take raw text, each a single file: writes and opens them.

    onnx.write(servable, "served/model.onnx")      requires tf2onnx
    model = onnx.open_model("served/model.onnx")   requires only onnxruntime

The graph takes input_ids, input_mask, and segment_ids, int32 [B, S] of any size, and returns the
outputs of `Servable.compute_numbers`. The description of the model is in the file's metadata.
"""

import numpy as np

from bert_tf import processor
from bert_tf.errors import InputError
from bert_tf.files import new_file
from bert_tf.serving.description import ModelDescription
from bert_tf.serving.plain_model import PlainModel, RowBatches, check_can_be_plain

SUFFIX = ".onnx"
DESCRIPTION = "bert_tf"  # Key of the description in the metadata.
OPSET = 17  # In ONNX 1.12, which all current runtimes read.
INSTALL = "pip install 'bert-tf[onnx]'"
FATAL = 4  # Level of ONNX Runtime's messages.


def write(servable, path):
    """Writes a Servable, whose encoder does not remove padding, as an ONNX model.

    Raises InputError if tf2onnx is not installed, or if the model reads windows of long texts.
    """
    check_can_be_plain(servable, "ONNX")
    try:
        import onnx
        import tf2onnx
    except ImportError as error:
        raise InputError(f"requires tf2onnx; run {INSTALL}", "format", "onnx") from error
    import tensorflow as tf

    compute = servable.trace_numbers()
    specs = compute.structured_input_signature[0]
    function = tf.function(lambda *tensors: compute(*tensors), autograph=False)
    model, _ = tf2onnx.convert.from_function(
        function, specs, opset=OPSET, custom_op_handlers={"Erfc": (_convert_erfc, [])}
    )
    described = ModelDescription.from_servable(servable)
    onnx.helper.set_model_props(model, {DESCRIPTION: described.to_json()})
    with new_file(path, "wb") as file:
        file.write(model.SerializeToString())


def _convert_erfc(context, node, name, arguments):
    """Converts the Erfc of the exact GELU, which tf2onnx does not know, to 1 - Erf."""
    del arguments
    one = context.make_const(f"{name}_one", np.array(1, np.float32))
    erf = context.make_node("Erf", node.input, name=f"{name}_erf")
    node_outputs = list(node.output)
    shapes = node.output_shapes
    dtypes = node.output_dtypes
    context.remove_node(name)
    context.make_node(
        "Sub",
        [one.output[0], erf.output[0]],
        name=name,
        outputs=node_outputs,
        shapes=shapes,
        dtypes=dtypes,
    )


def open_model(path, num_threads=None):
    """Opens a local .onnx file as PlainModel.

    Args:
      path: str.
      num_threads: int. Threads per operation; None for one per core.

    Raises:
      InputError: If onnxruntime is not installed, or if the file is another one, or is corrupted.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise InputError(f"{path}: requires onnxruntime; run {INSTALL}") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads or processor.count_cores()
    options.log_severity_level = FATAL
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # Its exceptions have no common class.
        raise InputError(
            f"{path}: is not an ONNX model, or is corrupted: {str(error).splitlines()[0]:.120}"
        ) from error
    properties = session.get_modelmeta().custom_metadata_map
    described = ModelDescription.from_json(properties.get(DESCRIPTION), path)
    names = [output.name for output in session.get_outputs()]

    def compute(features):
        return dict(zip(names, session.run(names, features), strict=True))

    return PlainModel(described, RowBatches(compute, described.task.max_seq_length))
