"""The encoder's exports in float32 and bfloat16, compared with other runtimes.

    python -m benchmarks.runtimes

From IDs to the pooled output, without padding, with random weights. The programs run in separate
processes, and take turns on the same IDs. The peers compute Hugging Face's BertModel: PyTorch; ONNX
Runtime, with the graph that its optimizer for BERT fuses; and OpenVINO. benchmarks.litert compares
int8.
"""

import dataclasses
import functools
import os
import tempfile

from benchmarks import exports, measurements, models
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import script
from bert_tf.cli.resolution import read_model_config
from bert_tf.features import FEATURES
from bert_tf.models import BertEncoder
from bert_tf.tokenization import BertTokenizer

TYPES = ("float32", "bfloat16")
OUR_MODULE = "benchmarks.peers.own_export"
# Format of an export -> its name, and the packages that it requires.
OURS = {"saved_model": ("SavedModel", ()), "openvino": ("OpenVINO model", ("openvino",))}
# Module in benchmarks.peers -> its name, the packages that it requires, and its types.
PEERS = {
    "torch_encoder": ("PyTorch", ("torch", "transformers"), TYPES),
    "onnx_float_encoder": (
        "ONNX Runtime",
        ("onnx", "onnxruntime", "torch", "transformers"),
        ("float32",),
    ),
    "openvino_encoder": ("OpenVINO", ("onnx", "openvino", "torch", "transformers"), TYPES),
}

COMMAND = script.Command(
    measurements.ShapeSettings(batch_sizes=(1, 1, 8), lengths=(32, 128, 128)), __name__
)


def run(settings):
    """Exports the model and measures each type and shape; settings: ShapeSettings."""
    tokenizer = BertTokenizer(measurements.VOCAB_FILE)
    config = dataclasses.replace(
        read_model_config(settings.bert_config_file, max(settings.lengths)),
        vocab_size=tokenizer.vocab_size,
    )
    with tempfile.TemporaryDirectory() as folder, Results("runtimes", settings) as results:
        model_path = os.path.join(folder, "checkpoint")
        BertEncoder(config).save_pretrained(model_path, tokenizer)
        for dtype in TYPES:
            measure(dtype, model_path, config, settings, results)


def measure(dtype, model_path, config, settings, results):
    """Adds the comparisons in a type of TYPES."""
    sizes = models.get_huggingface_sizes(config)
    with tempfile.TemporaryDirectory() as folder:
        ours = {}
        for name, (title, packages) in OURS.items():
            path = exports.export_encoder(
                model_path, os.path.join(folder, name), name, mixed_precision=dtype
            )
            ours[title] = results.start_peer(title, packages, OUR_MODULE, path)
        peers = {
            title: results.start_peer(title, packages, f"benchmarks.peers.{name}", sizes, dtype)
            for name, (title, packages, types) in PEERS.items()
            if dtype in types
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


if __name__ == "__main__":
    COMMAND.run()
