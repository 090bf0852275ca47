"""Export of a trained model that accepts raw text, with a summary of the result."""

import os
import random

import tensorflow as tf

from bert_tf import files, notes
from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.files import new_file
from bert_tf.serving import (
    checkpoint,
    exports,
    litert,
    mediapipe,
    onnx,
    openvino,
    openvino_ranges,
    saved_model,
)
from bert_tf.tasks import KINDS
from bert_tf.tasks.kind import add_article
from bert_tf.tasks.masked_lm.task import MASK, MaskedLM
from run.inference import request_files
from run.training import strategies
from run.training.settings import DTYPE_POLICIES


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Exports a checkpoint.

    `settings`: ExportSettings, resolved. Raises InputError like checkpoint.load_servable.
    """
    if settings.format != "saved_model":
        (export_litert if settings.format == "litert" else export_graph)(settings)
        return
    content = (
        convert_with_weights(settings, settings.with_litert)[1] if settings.with_litert else None
    )
    strategies.warn_about_slow_precision(settings.compute.mixed_precision, "CPU")
    servable = checkpoint.load_servable(
        **settings.servable_options,
        dtype=DTYPE_POLICIES[settings.compute.mixed_precision],
        remove_padding=settings.signatures == saved_model.ALL_SIGNATURES,
    )
    export_saved_model(servable, settings, content)


def export_saved_model(servable, settings, litert_content):
    """Writes the SavedModel of a Servable, including the bytes of a LiteRT model."""
    path, has_warmup = saved_model.save(
        servable,
        settings.export_dir,
        version=settings.version,
        weights=settings.weights,
        litert=litert_content,
        signatures=settings.signatures,
    )
    labels = servable.metadata.labels
    note = f"; labels {', '.join(labels)}" if labels else ""
    size = sum(files.at(each).size() for each in files.at(path).files_below())
    inputs = ", ".join(servable.text_inputs)
    signatures = f"signatures serving_default ({inputs}), ids, and tf_example"
    if settings.signatures == saved_model.IDS_ONLY:
        signatures = f"signature serving_default ({', '.join(FEATURES)})"
    print(
        f"{path}: SavedModel of {add_article(servable.kind)}, {size / 1e6:.1f} MB, with the "
        f"{signatures}{note}"
    )
    if litert_content:
        litert_file = os.path.join(path, saved_model.LITERT_FILE)
        print(
            f"{litert_file}: LiteRT model with {settings.with_litert} "
            f"weights, {len(litert_content) / 1e6:.1f} MB"
        )
    if not has_warmup:
        notes.tell(
            "warm-up requests are omitted; they require: pip install --no-deps "
            "tensorflow-serving-api==2.20.0"
        )


def export_litert(settings):
    """Writes the LiteRT model.

    Prints its size and its largest difference from the original model.
    """
    servable, content = convert_with_weights(settings, settings.weights)
    files.at(settings.export_dir).make_dirs()
    path = os.path.join(settings.export_dir, f"model_{settings.weights}.tflite")
    with new_file(path, "wb") as file:
        file.write(content)
    with files.at(path).local_copy() as local:
        differences = litert.largest_differences(servable, local)
    print(
        f"{path}: LiteRT model of {add_article(servable.kind)} with {settings.weights} weights, "
        f"{len(content) / 1e6:.1f} MB; inputs {', '.join(servable.text_inputs)}, up to "
        f"{servable.max_seq_length} tokens; largest difference from the original model: "
        f"{list_differences(differences)}"
    )
    if settings.metadata:
        texts = mediapipe.describe_differences(servable.metadata, servable.tokenizer.added_tokens)
        notes.tell(f"MediaPipe's tokenizer reads these parts of texts differently: {texts}")


def export_graph(settings):
    """Writes the ONNX or the OpenVINO model; prints its size and, after a calibration, the error.

    Raises InputError if the file of texts for a calibration is empty or invalid, or if a package is
    not installed.
    """
    if settings.format == "openvino":
        openvino.check_runtime(settings.calibration.calibration_file is not None)
    texts = sample_texts(settings)
    notes.write_line(f"converting to {settings.format}")
    layer = "openvino" if settings.format == "openvino" else "matrix"
    servable = checkpoint.load_servable(
        **settings.servable_options, layer=layer, remove_padding=False
    )
    files.at(settings.export_dir).make_dirs()
    note = ""
    if settings.format == "onnx":
        path = os.path.join(settings.export_dir, f"model{onnx.SUFFIX}")
        onnx.write(servable, path)
    else:
        path = os.path.join(settings.export_dir, f"model{openvino.SUFFIX}")
        strategies.warn_about_slow_precision(settings.compute.mixed_precision, "CPU")
        differences = openvino.write(
            servable, path, settings.weights, settings.compute.mixed_precision, texts
        )
        if differences:
            note = f"; largest difference from the original model: {list_differences(differences)}"
    size = sum(files.at(each).size() for each in exports.list_model_paths(path))
    print(
        f"{path}: {settings.format} model of {add_article(servable.kind)} with {settings.weights} "
        f"weights, {size / 1e6:.1f} MB; inputs {', '.join(servable.text_inputs)}, up to "
        f"{servable.max_seq_length} tokens{note}"
    )


def sample_texts(settings):
    """Reads the texts of a calibration.

    They are a random sample of the rows, the same in each run, because files can be sorted.

    Returns:
      Dict of input name -> list of texts; None without a file.

    Raises:
      InputError: If the file is empty; see also request_files.read.
    """
    path = settings.calibration.calibration_file
    if path is None:
        return None
    task = settings.served_task
    inputs = tuple(KINDS[task.kind].inputs(task.pairs))
    generator = random.Random(0)
    sample = []
    for number, request in enumerate(
        request_files.read(path, inputs, settings.calibration.options)
    ):
        if number < openvino_ranges.MAX_EXAMPLES:
            sample.append(request.inputs)
            continue
        index = generator.randint(0, number)
        if index < len(sample):
            sample[index] = request.inputs
    if not sample:
        raise InputError("contains no rows", "calibration_file", path)
    if task.kind == MaskedLM.name and not any(
        MASK in text for row in sample for text in row.values()
    ):
        raise InputError(
            f"contains no {MASK}, which the texts of a masked LM require", "calibration_file", path
        )
    return {name: [texts[name] for texts in sample] for name in inputs}


def list_differences(differences):
    """Returns a dict of output name -> largest difference as a text."""
    return ", ".join(f"{value:.1e} ({name})" for name, value in differences.items())


def convert_with_weights(settings, weights):
    """Returns a Servable and the bytes of its LiteRT model.

    `weights`: Storage format of the weights.
    """
    notes.write_line("converting to LiteRT, which takes a minute or two")
    servable = checkpoint.load_servable(
        **settings.servable_options | {"static_length": True, "layer": "litert"}
    )
    return servable, litert.convert_servable(
        servable,
        weights,
        settings.lengths,
        settings.batch_sizes,
        for_mediapipe=settings.metadata is not None,
    )
