"""BERT-Base as a LiteRT model with int8 weights, compared with tf-models-official and ONNX Runtime.

    python -m benchmarks.litert [--text_file=sentences.txt --vocab_file=vocab.txt]

First, from IDs to output, compared with tf-models-official's BertEncoder and, if installed, ONNX
Runtime with Hugging Face's BertModel after quantize_dynamic, in its own process. Then, from raw
text to output, compared with tf-models-official's export. All have random weights, take turns on
the same input, and use all cores.
"""

import dataclasses
import functools
import os
import tempfile

import tensorflow as tf

from benchmarks import measurements, models
from benchmarks.measurements import Results, time_turns
from benchmarks.serving import RequestSettings, create_servable, measure_requests
from bert_tf.cli import script
from bert_tf.cli.resolution import read_model_config
from bert_tf.fast import Fast
from bert_tf.serving import litert
from bert_tf.serving.buckets import LENGTHS, Buckets
from bert_tf.serving.litert import LiteRTModel
from bert_tf.tokenization.plain import Row

ONNX_PACKAGES = ("onnx", "onnxruntime", "torch", "transformers")


@dataclasses.dataclass(frozen=True)
class LiteRTSettings(measurements.ShapeSettings):
    """Settings for the model and the shapes of IDs."""

    requests: RequestSettings = dataclasses.field(default_factory=RequestSettings)


COMMAND = script.Command(LiteRTSettings(batch_sizes=(1, 1, 8), lengths=(32, 128, 128)), __name__)


def run(settings):
    """Converts the model and measures IDs and raw text; settings: LiteRTSettings."""
    max_length = max(*settings.lengths, settings.requests.max_seq_length)
    config = read_model_config(settings.bert_config_file, max_length)
    with tempfile.TemporaryDirectory() as folder, Results("litert", settings) as results:
        path = os.path.join(folder, "model.tflite")
        with open(path, "wb") as file:
            file.write(convert_model(config, settings, max_length))
        measure_ids(Buckets(path), config, settings, results)
        model = LiteRTModel(path)
        measure_requests(
            "LiteRT int8 from text",
            lambda sentences: model(text=sentences),
            config,
            settings,
            results,
        )


def convert_model(config, settings, max_length):
    """Creates the LiteRT model for sequences of up to `max_length` tokens.

    It has a graph for each measured shape.
    """
    requests = dataclasses.replace(settings.requests, max_seq_length=max_length)
    servable = create_servable(
        config, requests, Fast(layer="litert", last_where_read=True), static_length=True
    )
    lengths = {*settings.lengths, *filter(settings.requests.max_seq_length.__ge__, LENGTHS)}
    return litert.convert_servable(
        servable, "int8", tuple(sorted(lengths)), tuple(sorted({1, 8, *settings.batch_sizes}))
    )


def measure_ids(buckets, config, settings, results):
    """Measures the latency from IDs to output of the model's Buckets and of the peers.

    Adds a comparison for each shape to the results.
    """
    garden = models.create_garden_encoder(config)
    official = tf.function(lambda features: garden(features)["pooled_output"], autograph=False)
    onnx = results.start_peer(
        "ONNX Runtime",
        ONNX_PACKAGES,
        "benchmarks.peers.onnx_encoder",
        models.get_huggingface_sizes(config),
    )
    for batch_size, length in settings.shapes:
        features = models.make_batch(config, batch_size, length)
        rows = [
            Row(ids, segments, False)
            for ids, segments in zip(
                features["input_ids"].numpy().tolist(),
                features["segment_ids"].numpy().tolist(),
                strict=True,
            )
        ]
        turns = {
            "ours": functools.partial(buckets.run, rows),
            "tf-models-official, float32": functools.partial(
                official, models.to_garden_inputs(features)
            ),
        }
        if onnx:
            turns["ONNX Runtime, int8"] = functools.partial(
                onnx.time, "answer", models.to_huggingface_inputs(features)
            )
        times = {
            name: 1000 * seconds
            for name, seconds in time_turns(turns, settings.rounds, calls_before=1).items()
        }
        results.add(f"LiteRT int8, {batch_size} x {length}", times.pop("ours"), times, "ms")


if __name__ == "__main__":
    COMMAND.run()
