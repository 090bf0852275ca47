"""OpenVINO models that take raw text, each two files, .xml and .bin: writes and opens them.

    openvino.write(servable, "served/model.xml")
    model = openvino.open_model("served/model.xml")

Both require only openvino at run time. The graph takes input_ids, input_mask, and segment_ids,
int32 [B, S] of any size, and returns the outputs of `Servable.compute_numbers`. The description of
the model is in the .xml file.
"""

import os
import shutil
import tempfile

from bert_tf import files, processor
from bert_tf.errors import InputError
from bert_tf.files import new_file
from bert_tf.serving.description import ModelDescription
from bert_tf.serving.plain_model import PlainModel, RowBatches, check_can_be_plain

SUFFIX = ".xml"
WEIGHTS_SUFFIX = ".bin"
# Paths in the "rt_info".
DESCRIPTION = ["bert_tf", "description"]
PRECISION = ["bert_tf", "precision"]
PRECISIONS = {"float32": "f32", "bfloat16": "bf16"}  # OpenVINO's names of the types.
INSTALL = "pip install 'bert-tf[openvino]'"


def write(servable, path, weights="float32", precision="float32"):
    """Writes a Servable, whose encoder does not remove padding, as an OpenVINO model.

    Args:
      servable: Servable.
      path: str. Path of the .xml file; the weights are next to it.
      weights: str. Storage type, float32 or float16; it does not change the type of computations.
      precision: str. Type of the computations, float32 or bfloat16. With bfloat16, OpenVINO also
        computes normalization and softmax in it, where the CPU has instructions for it.

    Raises:
      InputError: If openvino is not installed, or if the model reads windows of long texts.
    """
    from bert_tf.serving import saved_model

    check_can_be_plain(servable, "OpenVINO")
    openvino = _import("`format`=openvino")
    with tempfile.TemporaryDirectory() as folder:
        source, _ = saved_model.save(servable, folder, signatures=saved_model.IDS_ONLY)
        # Not openvino.convert_model, which took minutes on a machine without internet.
        model = openvino.Core().read_model(source)
        model.set_rt_info(ModelDescription.from_servable(servable).to_json(), DESCRIPTION)
        model.set_rt_info(PRECISIONS[precision], PRECISION)
        written = os.path.join(folder, f"model{SUFFIX}")
        openvino.save_model(model, written, compress_to_fp16=weights == "float16")
        for suffix in (WEIGHTS_SUFFIX, SUFFIX):  # The .xml file, which is opened, is last.
            with (
                open(written.removesuffix(SUFFIX) + suffix, "rb") as part,
                new_file(path.removesuffix(SUFFIX) + suffix, "wb") as file,
            ):
                shutil.copyfileobj(part, file)


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
    options = {
        "INFERENCE_NUM_THREADS": num_threads or processor.count_cores(),
        "PERFORMANCE_HINT": "LATENCY",
    }
    try:
        model = openvino.Core().read_model(path, weights)
        text = model.get_rt_info(DESCRIPTION).value if model.has_rt_info(DESCRIPTION) else None
        is_set = model.has_rt_info(PRECISION)
        precision = model.get_rt_info(PRECISION).value if is_set else PRECISIONS["float32"]
        options["INFERENCE_PRECISION_HINT"] = precision
        compiled = openvino.Core().compile_model(model, "CPU", options)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: is not an OpenVINO model, or is corrupted: {reason:.120}"
        ) from error
    described = ModelDescription.from_json(text, path)
    names = [output.get_any_name() for output in compiled.outputs]

    def compute(features):
        outputs = compiled(features)
        return {name: outputs[number] for number, name in enumerate(names)}

    return PlainModel(described, RowBatches(compute, described.task.max_seq_length))


def _import(subject):
    """Imports openvino; raises InputError about `subject` if it is not installed."""
    try:
        import openvino
    except ImportError as error:
        raise InputError(f"{subject}: requires openvino; run {INSTALL}") from error
    return openvino
