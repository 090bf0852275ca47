"""OpenVINO models that take raw text, each two files, .xml and .bin: writes and opens them.

    openvino.write(servable, "served/model.xml")
    model = openvino.open_model("served/model.xml")

Both require only openvino at run time. The graph takes input_ids, input_mask, and segment_ids,
int32 [B, S] of any size, and returns the outputs of `Servable.compute_numbers`. The description of
the model is in the .xml file.

With int8 weights, kernels and word embeddings have the values of the int8 LiteRT file. OpenVINO
quantizes the other operand of a multiplication at run time, in groups of a row, each over its own
symmetric range. The multiplication runs in int8 on CPUs with instructions for it, and in float32 on
others. With examples of texts, the ranges are fixed (`openvino_ranges`).
"""

import math
import os
import shutil
import tempfile

import numpy as np

from bert_tf import files, processor
from bert_tf.errors import InputError
from bert_tf.files import new_file
from bert_tf.serving import openvino_ranges
from bert_tf.serving.description import ModelDescription
from bert_tf.serving.plain_model import PlainModel, RowBatches, check_can_be_plain

SUFFIX = ".xml"
WEIGHTS_SUFFIX = ".bin"
# Paths in the "rt_info".
DESCRIPTION = ["bert_tf", "description"]
PRECISION = ["bert_tf", "precision"]
PRECISIONS = {"float32": "f32", "bfloat16": "bf16"}  # OpenVINO's names of the types.
# Options in the file with which OpenVINO compiles the model, whoever opens it.
GROUP_SIZE = ["runtime_options", "DYNAMIC_QUANTIZATION_GROUP_SIZE"]
INSTALL = "pip install 'bert-tf[openvino]'"
MIN_GROUP_SIZE = 32


def write(servable, path, weights="float32", precision="float32", texts=None):
    """Writes a Servable, whose encoder does not remove padding, as an OpenVINO model.

    Args:
      servable: Servable. The model is fastest if the FastEncoder has the layer "openvino".
      path: str. Path of the .xml file; the weights are next to it.
      weights: str. Storage type, float32, float16, or int8. float16 does not change the type of
        computations.
      precision: str. Type of the computations, float32 or bfloat16. With bfloat16, OpenVINO also
        computes normalization and softmax in it, where the CPU has instructions for it.
      texts: Dict of input name -> list of texts, for static ranges of int8; see
        LoadedModel.predict. None for ranges that are computed at run time.

    Returns:
      Dict of output name -> float with `texts`: maximum absolute difference from the float32 model
      on them. None without them.

    Raises:
      InputError: If openvino or nncf is not installed, or if the model reads windows of long texts.
    """
    from bert_tf.serving import saved_model

    check_can_be_plain(servable, "OpenVINO")
    openvino = _import("`format`=openvino")
    nncf = openvino_ranges.import_nncf() if texts else None
    from openvino import passes

    described = ModelDescription.from_servable(servable)
    differences = None
    with tempfile.TemporaryDirectory() as folder:
        source, _ = saved_model.save(servable, folder, signatures=saved_model.IDS_ONLY)
        # Not openvino.convert_model, which took minutes on a machine without internet.
        model = openvino.Core().read_model(source)
        manager = passes.Manager()
        manager.register_pass(passes.ConstantFolding())  # Parts of kernels.
        manager.run_passes(model)
        if texts:
            model, differences = _set_ranges(
                openvino, nncf, model, described, texts, PRECISIONS[precision]
            )
        model.set_rt_info(described.to_json(), DESCRIPTION)
        model.set_rt_info(PRECISIONS[precision], PRECISION)
        if weights == "int8" and not texts:
            num_inputs = _quantize_matrices(openvino, model)
            size = _choose_group_size(num_inputs, servable.config.hidden_size)
            model.set_rt_info(size, GROUP_SIZE)
        written = os.path.join(folder, f"model{SUFFIX}")
        openvino.save_model(model, written, compress_to_fp16=weights == "float16")
        existing = files.at(path)
        if existing.is_file():  # Otherwise, it could be opened with the new weights.
            existing.remove()
        for suffix in (WEIGHTS_SUFFIX, SUFFIX):  # The .xml file, which is opened, is last.
            with (
                open(written.removesuffix(SUFFIX) + suffix, "rb") as part,
                new_file(path.removesuffix(SUFFIX) + suffix, "wb") as file,
            ):
                shutil.copyfileobj(part, file)
    return differences


def check_runtime(has_texts):
    """Raises InputError if a package that `write` requires is not installed.

    `has_texts`: bool. Whether `write` gets texts.
    """
    _import("`format`=openvino")
    if has_texts:
        openvino_ranges.import_nncf()


def open_model(path, num_threads=None):
    """Opens a local .xml file, with the .bin file next to it, as PlainModel.

    Computes in the type that `write` wrote into it; OpenVINO's default differs between CPUs.

    Args:
      path: str.
      num_threads: int. Threads; None for one per core.

    Raises:
      InputError: If openvino is not installed, or if a file is missing, another one, or corrupted.
    """
    openvino = _import(path)
    weights = path.removesuffix(SUFFIX) + WEIGHTS_SUFFIX
    if not files.at(weights).is_file():
        raise InputError(f"{path}: its weights, {weights}, do not exist; copy them too")
    try:
        model = openvino.Core().read_model(path, weights)
        text = model.get_rt_info(DESCRIPTION).value if model.has_rt_info(DESCRIPTION) else None
        is_set = model.has_rt_info(PRECISION)
        precision = model.get_rt_info(PRECISION).value if is_set else PRECISIONS["float32"]
        compute = _compile(openvino, model, precision, num_threads)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: is not an OpenVINO model, or is corrupted: {reason:.120}"
        ) from error
    described = ModelDescription.from_json(text, path)
    return PlainModel(described, RowBatches(compute, described.task.max_seq_length))


def _compile(openvino, model, precision, num_threads=None):
    """Returns the function of features that RowBatches call, for an openvino.Model."""
    options = {
        "INFERENCE_NUM_THREADS": num_threads or processor.count_cores(),
        "INFERENCE_PRECISION_HINT": precision,
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = openvino.Core().compile_model(model, "CPU", options)
    names = [output.get_any_name() for output in compiled.outputs]

    def compute(features):
        outputs = compiled(features)
        return {name: outputs[number] for number, name in enumerate(names)}

    return compute


def _set_ranges(openvino, nncf, model, described, texts, precision):
    """Returns an int8 openvino.Model with static ranges, and the differences of `write`."""
    compute = _compile(openvino, model, PRECISIONS["float32"])
    rows = openvino_ranges.list_rows(compute, described, texts)
    quantized = openvino_ranges.set_static_ranges(nncf, model, rows, MIN_GROUP_SIZE)
    computes = (compute, _compile(openvino, quantized, precision))
    return quantized, openvino_ranges.find_largest_differences(computes, described, rows)


def _quantize_matrices(openvino, model):
    """Replaces the float32 matrices of an openvino.Model by int8 values times their scales.

    A kernel has a scale per output, and an embedding matrix one per row. OpenVINO recognizes this
    form of the weights, and does not convert them to float32 again.

    Returns:
      Set of int. Numbers of inputs of the kernels.
    """
    from bert_tf.techniques import int8

    ops = openvino.opset13
    replaced = {}
    num_inputs = set()
    for node in model.get_ordered_ops():
        operation = node.get_type_name()
        if operation not in ("MatMul", "Gather"):
            continue
        operand = node.input(1 if operation == "MatMul" else 0)
        constant = operand.get_source_output().get_node()
        name = constant.get_friendly_name()
        has_rows = operation == "Gather" or node.get_attributes()["transpose_b"]
        axis = 1 if has_rows else 0
        if name not in replaced:
            if not _is_matrix(constant) or constant.data.size < int8.MIN_ELEMENTS:
                continue
            if constant.data.shape[axis] < MIN_GROUP_SIZE:  # Such as the token types, by one-hot.
                continue
            values, scales = int8.split_weights(constant.data, axis)
            stored = ops.convert(ops.constant(values.numpy().astype(np.int8)), "f32")
            replaced[name] = ops.multiply(stored, ops.constant(scales.numpy()))
        operand.replace_source_output(replaced[name].output(0))
        if operation == "MatMul":
            num_inputs.add(constant.data.shape[axis])
    model.validate_nodes_and_infer_types()
    return num_inputs


def _is_matrix(node):
    """Returns whether a node of an openvino.Model is a constant float32 matrix."""
    if node.get_type_name() != "Constant":
        return False
    return node.data.dtype == np.float32 and node.data.ndim == 2


def _choose_group_size(num_inputs, hidden_size):
    """Returns how many inputs of a multiplication share a scale at run time.

    OpenVINO multiplies in float32 if the number does not divide the inputs of a kernel. Sizes below
    MIN_GROUP_SIZE, which pruned models can have, would be slower.

    Args:
      num_inputs: Numbers of inputs of the int8 kernels.
      hidden_size: int.
    """
    size = math.gcd(*num_inputs)
    return size if size >= MIN_GROUP_SIZE else hidden_size


def _import(subject):
    """Imports openvino; raises InputError about `subject` if it is not installed."""
    try:
        import openvino
    except ImportError as error:
        raise InputError(f"{subject}: requires openvino; run {INSTALL}") from error
    return openvino
