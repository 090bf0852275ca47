"""The encoder's exports in float32, bfloat16, and int8, compared with other runtimes.

    python -m benchmarks.runtimes

From IDs to the pooled output, without padding, with random weights. The programs run in separate
processes, and take turns on the same IDs. The peers compute Hugging Face's BertModel: PyTorch; ONNX
Runtime, with the graph that its optimizer for BERT fuses, or in int8; OpenVINO, in int8 with static
ranges by NNCF; and CTranslate2.
"""

import functools
import os
import tempfile
from typing import NamedTuple

from benchmarks import exports, measurements, models
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import script
from bert_tf.features import FEATURES
from run.training import strategies

TYPES = ("float32", "bfloat16", "int8")
OUR_MODULE = "benchmarks.peers.own_export"
# Examples for static ranges.
TEXTS = os.path.join(os.path.dirname(measurements.VOCAB_FILE), "corpus.txt")
HUGGING_FACE = ("torch", "transformers")


class Export(NamedTuple):
    """An export of this project.

    Attributes:
      name: str.
      format: str. `--format` of the export.
      packages: Tuple of str. Packages that it requires.
      flags: Dict of type -> dict of other flags of the export.
      environment: Dict of variables in the environment of the process that serves it.
    """

    name: str
    format: str
    packages: tuple[str, ...]
    flags: dict
    environment: dict = {}  # noqa: RUF012, is not changed


class Runtime(NamedTuple):
    """A peer.

    Attributes:
      name: str.
      module: str. Name of its module in benchmarks.peers.
      packages: Tuple of str. Packages that it requires.
      types: Tuple of str. Those of TYPES that it computes in.
    """

    name: str
    module: str
    packages: tuple[str, ...]
    types: tuple[str, ...]


SAVED_MODELS = {"float32": {}, "bfloat16": {"mixed_precision": "bfloat16"}}
EXPORTS = (
    Export("SavedModel", "saved_model", (), SAVED_MODELS),
    # It keeps copies of the weights in the layout of the CPU's kernels.
    Export(
        "SavedModel with frozen weights",
        "saved_model",
        (),
        SAVED_MODELS,
        {strategies.FROZEN_WEIGHTS: "1"},
    ),
    Export(
        "OpenVINO model",
        "openvino",
        ("openvino",),
        {
            "float32": {},
            "bfloat16": {"mixed_precision": "bfloat16"},
            "int8": {"weights": "int8"},
        },
    ),
    Export(
        "OpenVINO model with static ranges",
        "openvino",
        ("openvino", "nncf"),
        {"int8": {"weights": "int8", "calibration_file": TEXTS}},
    ),
    Export("LiteRT", "litert", (), {"int8": {"weights": "int8"}}),
)
PEERS = (
    Runtime("PyTorch", "torch_encoder", HUGGING_FACE, ("float32", "bfloat16")),
    Runtime(
        "ONNX Runtime",
        "onnx_encoder",
        ("onnx", "onnxruntime", *HUGGING_FACE),
        ("float32", "int8"),
    ),
    Runtime("OpenVINO", "openvino_encoder", ("onnx", "openvino", "nncf", *HUGGING_FACE), TYPES),
    Runtime(
        "CTranslate2", "ctranslate2_encoder", ("ctranslate2", *HUGGING_FACE), ("float32", "int8")
    ),
)

COMMAND = script.Command(
    measurements.ShapeSettings(batch_sizes=(1, 1, 8), lengths=(32, 128, 128)), __name__
)


def run(settings):
    """Exports the model and measures each type and shape; settings: ShapeSettings."""
    with tempfile.TemporaryDirectory() as folder, Results("runtimes", settings) as results:
        model_path = os.path.join(folder, "checkpoint")
        if not strategies.has_bfloat16_instructions():
            print("note: this CPU has no instructions for bfloat16")
        config = exports.write_encoder(settings, model_path)
        for dtype in TYPES:
            measure(dtype, model_path, config, settings, results)


def measure(dtype, model_path, config, settings, results):
    """Adds the comparisons in a type of TYPES."""
    sizes = models.get_huggingface_sizes(config)
    with tempfile.TemporaryDirectory() as folder:
        ours = {}
        for export in EXPORTS:
            if dtype not in export.flags:
                continue
            flags = dict(export.flags[dtype])
            if export.format == "litert":
                flags["lengths"] = join_numbers(settings.lengths)
                flags["batch_sizes"] = join_numbers(settings.batch_sizes)
            path = exports.export_encoder(
                model_path, os.path.join(folder, export.name), export.format, **flags
            )
            ours[export.name] = results.start_peer(
                export.name, export.packages, OUR_MODULE, path, environment=export.environment
            )
        peers = {
            peer.name: results.start_peer(
                peer.name, peer.packages, f"benchmarks.peers.{peer.module}", sizes, dtype
            )
            for peer in PEERS
            if dtype in peer.types
        }
        for batch_size, length in settings.shapes:
            features = models.make_batch(config, batch_size, length)
            arrays = {name: features[name].numpy() for name in FEATURES}
            inputs = models.to_huggingface_inputs(features)
            turns = {
                name: functools.partial(process.time, "answer", batch)
                for group, batch in ((ours, arrays), (peers, inputs))
                for name, process in group.items()
                if process
            }
            times = {
                name: 1000 * seconds
                for name, seconds in time_turns(turns, settings.rounds, calls_before=1).items()
            }
            theirs = {name: times[name] for name in peers if name in times}
            for name in [name for name in ours if name in times]:
                title = f"{name}, {dtype}, {batch_size} x {length}"
                results.add(title, times[name], theirs, "ms")
                theirs = theirs | {f"this project's {name}": times[name]}


def join_numbers(numbers):
    """Returns the value of a flag for numbers, each once."""
    return ",".join(map(str, sorted({*numbers})))


if __name__ == "__main__":
    COMMAND.run()
