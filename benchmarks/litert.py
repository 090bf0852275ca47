"""BERT-Base as a LiteRT model with int8 weights, compared with float32 and with ONNX Runtime's int8.

    python -m benchmarks.litert [--text_file=sentences.txt --vocab_file=vocab.txt]

First, from IDs to output, for several batch sizes and lengths: the LiteRT model, this project's float32 SavedModel,
tf-models-official's BertEncoder, and, if installed, ONNX Runtime with Hugging Face's BertModel after quantize_dynamic.
The column "products" is a LiteRT file with little more than the encoder's matmuls, about the best possible with LiteRT.
Then, from raw text to output: the LiteRT model and tf-models-official's export with its preprocessing. All have random
weights, take turns in one process on the same input, and use all cores.
"""

import dataclasses
import functools
import importlib.util
import itertools
import os
import tempfile

import numpy as np
import tensorflow as tf

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements, serving
from benchmarks.measurements import Comparison
from bert_tf import models
from bert_tf.cli import flags, paths, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.export import litert
from bert_tf.fast import Fast, FastEncoder
from bert_tf.litert import LiteRTModel, signatures
from bert_tf.litert.buckets import Buckets
from bert_tf.litert.compiled_graphs import CompiledGraphs
from bert_tf.tasks import graphs
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.rows import Row

ONNX_PACKAGES = ("onnx", "onnxruntime", "torch", "transformers")
PEERS = {"official": "tf-models-official, float32", "ONNX int8": "ONNX Runtime, int8"}


@dataclasses.dataclass(frozen=True)
class LiteRTSettings(measurements.KeptResults):
    """Settings for the measurement."""

    text_file: str | None = setting(
        None, "File with one sentence per line. Defaults to sentences of CPython's documentation.")
    vocab_file: str = setting(measurements.VOCAB_FILE, "Lowercase vocabulary. Defaults to the vocabulary of the tests.")
    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    batch_sizes: tuple[int, ...] = setting(
        (1, 1, 8, 8), "Numbers of rows in a request, each with every value of --lengths.", lower=1)
    lengths: tuple[int, ...] = setting((32, 128, 128, 384), "Row lengths in tokens.", lower=8)
    max_seq_length: int = setting(
        128, "Length in tokens to which texts are truncated, and to which the peer pads them.", lower=4)
    sentences: tuple[int, ...] = setting((1, 32), "Number of sentences in a request.", lower=1)
    rounds: int = setting(20, "Number of turns; fewer for large batches.", lower=1)

    def check(self):
        """See Settings."""
        if len(self.batch_sizes) != len(self.lengths):
            raise InputError(f"`batch_sizes` has {len(self.batch_sizes)} numbers, `lengths` {len(self.lengths)}: they "
                             "go together")


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(LiteRTSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(LiteRTSettings()))


def measure(settings):
    """Prints both tables and stores the comparisons with the peers; settings: LiteRTSettings."""
    config = read_config(settings.bert_config_file, max(*settings.lengths, settings.max_seq_length))
    paths.check_file("vocab_file", settings.vocab_file)
    texts = serving.read_sentences(settings.text_file, max(settings.sentences))
    missing = [name for name in ONNX_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        print(f"ONNX Runtime is skipped, since {', '.join(missing)} cannot be imported: pip install -e '.[peers]'")
    with tempfile.TemporaryDirectory() as folder:
        path = write_litert(config, settings, folder)
        print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores, {config.num_hidden_layers} layers; "
              f"a LiteRT file of {os.path.getsize(path) / 1e6:.1f} MB")
        comparisons = measure_ids(config, settings, path, None if missing else write_onnx(config, folder), folder)
        comparisons += measure_texts(config, settings, path, texts, folder)
    measurements.keep("litert", settings, comparisons, left_out=["ONNX Runtime"] if missing else [])


def make_servable(config, settings, max_seq_length, **options):
    """Creates a servable classifier with random weights."""
    encoder = FastEncoder(config, Fast(remove_padding=not options, last_where_read=True))
    model = models.BertClassifier(encoder, serving.NUM_LABELS)
    return graphs.ServedClassifier(model, BertTokenizer(settings.vocab_file), ["no", "yes"],
                                   max_seq_length=max_seq_length, **options)


def write_litert(config, settings, folder):
    """Writes the LiteRT model, with a graph for each measured shape; returns its path."""
    servable = make_servable(config, settings, max(*settings.lengths, settings.max_seq_length), static_length=True)
    lengths = {*settings.lengths, *(length for length in signatures.LENGTHS if length <= settings.max_seq_length)}
    path = os.path.join(folder, "model.tflite")
    with open(path, "wb") as file:
        file.write(litert.convert(servable, "int8", tuple(lengths), tuple({1, 8, *settings.batch_sizes})))
    return path


def write_onnx(config, folder):
    """Writes Hugging Face's BertModel of the same size in int8, for ONNX Runtime; returns its path."""
    import onnxruntime.quantization
    import torch
    import transformers

    model = transformers.BertModel(transformers.BertConfig(
        vocab_size=config.vocab_size, hidden_size=config.hidden_size, num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads, intermediate_size=config.intermediate_size,
        attn_implementation="eager")).eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = torch.ones([2, 16], dtype=torch.long)
    whole, small = (os.path.join(folder, name) for name in ("whole.onnx", "int8.onnx"))

    class Outputs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model  # As a submodule, so that its weights are parameters.

        def forward(self, *features):
            return self.model(**dict(zip(names, features, strict=True))).pooler_output

    torch.onnx.export(Outputs(), (example,) * 3, whole, input_names=names, output_names=["pooled"], dynamo=False,
                      opset_version=17,
                      dynamic_axes={"pooled": {0: "batch"}} | {name: {0: "batch", 1: "length"} for name in names})
    onnxruntime.quantization.quantize_dynamic(
        whole, small, weight_type=onnxruntime.quantization.QuantType.QInt8)
    return small


def measure_ids(config, settings, litert_path, onnx_path, folder):
    """Prints the milliseconds from IDs to output of each model at each shape; returns the Comparisons."""
    products = Products(config)
    shapes = list(zip(settings.batch_sizes, settings.lengths, strict=True))
    graphs = write_products(products, {batch_size * length for batch_size, length in shapes}, folder)
    buckets = Buckets(litert_path)
    ours = make_servable(config, settings, max(*settings.lengths, settings.max_seq_length))
    answer = ours.signatures()["ids"]
    garden = encoder_benchmark.garden_encoder(config)
    official = tf.function(lambda features: garden(features)["pooled_output"], autograph=False)
    session = onnx_session(onnx_path) if onnx_path else None
    names = ["LiteRT int8", "ours float32", "official", *(["ONNX int8"] if session else [])]
    print(f"\n{'ids to answer, ms':<18}" + "".join(f"{name:>14}" for name in names)
          + "".join(f"{name + '/LiteRT':>22}" for name in names[1:]) + f"{'products':>14}{'of LiteRT':>11}{'GOP/s':>8}")
    comparisons = []
    for batch_size, length in shapes:
        batch = encoder_benchmark.make_batch(config, batch_size, length, 1)
        features = {name: batch[name] for name in ("input_ids", "input_mask", "segment_ids")}
        rows = [Row(ids, segments, False) for ids, segments in zip(
            features["input_ids"].numpy().tolist(), features["segment_ids"].numpy().tolist(), strict=True)]
        inputs = encoder_benchmark.garden_inputs(features)
        turns = {"LiteRT int8": functools.partial(buckets.run, rows),
                 "ours float32": lambda features=features: answer(**features)["probabilities"].numpy(),
                 "official": lambda inputs=inputs: official(inputs).numpy(),
                 "products": functools.partial(graphs.run, f"{batch_size * length}", {
                     "rows": np.ones([batch_size * length, products.width], np.float32)})}
        if session:
            turns["ONNX int8"] = functools.partial(session.run, None, {
                name: value.numpy().astype(np.int64) for name, value in zip(
                    ("attention_mask", "input_ids", "token_type_ids"),
                    (features["input_mask"], features["input_ids"], features["segment_ids"]), strict=True)})
        times = measurements.medians(measurements.time_turns(
            turns, rounds_of(settings, batch_size * length), calls_before=1))
        print(f"{f'{batch_size} x {length}':<18}" + "".join(f"{1000 * times[name]:>14.2f}" for name in names)
              + "".join(f"{times[name] / times['LiteRT int8']:>22.2f}" for name in names[1:])
              + f"{1000 * times['products']:>14.2f}{times['products'] / times['LiteRT int8']:>11.0%}"
              f"{products.operations * batch_size * length / times['products'] / 1e9:>8.3g}", flush=True)
        comparisons += [Comparison(f"LiteRT int8, {batch_size} x {length}", PEERS[name], 1000 * times["LiteRT int8"],
                                   1000 * times[name], "ms", False) for name in PEERS if name in times]
    return comparisons


class Products(tf.Module):
    """The matmuls of an encoder's layers in sequence. Slices the output of one in four between them."""

    def __init__(self, config):
        """Creates the weights. `config`: BertConfig."""
        super().__init__()
        hidden, middle = config.hidden_size, config.intermediate_size
        generator = np.random.default_rng(1)
        self.width = hidden
        self._kernels = [tf.Variable(generator.normal(0, shape[0]**-0.5, shape).astype(np.float32))
                         for _ in range(config.num_hidden_layers)
                         for shape in ((hidden, 3 * hidden), (hidden, hidden), (hidden, middle), (middle, hidden))]
        self.operations = 2 * sum(kernel.shape.num_elements() for kernel in self._kernels)  # Per row.

    @tf.function(autograph=False)
    def __call__(self, rows):
        """Maps float32 [n, hidden_size] to the same shape."""
        for kernel in self._kernels:
            rows = tf.matmul(rows[:, : kernel.shape[0]], kernel)
        return {"rows": rows}


def write_products(products, sizes, folder):
    """Creates CompiledGraphs with int8 weights and a signature per number of rows in `sizes`: its decimal digits."""
    saved, path = (os.path.join(folder, name) for name in ("products", "products.tflite"))
    tf.saved_model.save(products, saved, {f"{size}": products.__call__.get_concrete_function(tf.TensorSpec(
        [size, products.width], tf.float32, "rows")) for size in sizes})
    converter = tf.lite.TFLiteConverter.from_saved_model(saved, signature_keys=[f"{size}" for size in sizes])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    with open(path, "wb") as file:
        file.write(converter.convert())
    return CompiledGraphs(path, os.cpu_count())


def onnx_session(path):
    """Creates an ONNX Runtime session for a file, on all cores."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count()
    return onnxruntime.InferenceSession(path, options)


def measure_texts(config, settings, path, texts, folder):
    """Prints the milliseconds from raw text to output, with tf-models-official's export; returns the Comparisons."""
    model = LiteRTModel(path)
    official = serving.export_official(config, settings, os.path.join(folder, "official"))
    print(f"\n{'raw text to answer, ms':<26}{'LiteRT p50':>12}{'p99':>9}{'official p50':>14}{'p99':>9}"
          f"{'official/LiteRT':>17}")
    comparisons = []
    for count in settings.sentences:
        batches = [texts[start : start + count] for start in range(0, len(texts) - count + 1, count)]
        turns = {"LiteRT": functools.partial(_answer_next, model, itertools.cycle(batches)),
                 "official": functools.partial(serving.answer_next, official,
                                               itertools.cycle(map(tf.constant, batches)))}
        times = measurements.time_turns(turns, rounds_of(settings, 32 * count),
                                        calls_before=serving.calls_before(count))
        middle = {name: 1000 * seconds for name, seconds in measurements.medians(times).items()}
        late = {name: 1000 * np.percentile(each, 99) for name, each in times.items()}
        print(f"{f'{count} sentences':<26}{middle['LiteRT']:>12.2f}{late['LiteRT']:>9.2f}{middle['official']:>14.1f}"
              f"{late['official']:>9.1f}{middle['official'] / middle['LiteRT']:>17.2f}", flush=True)
        comparisons.append(Comparison(f"LiteRT int8 from text, {count} sentence{'s'[:count - 1]}",
                                      "tf-models-official's export", middle["LiteRT"], middle["official"], "ms", False))
    return comparisons


def _answer_next(model, batches):
    model(text=next(batches))


def rounds_of(settings, tokens):
    """Returns the number of turns for a request with this many tokens: `rounds` for a small one, at least 3."""
    return max(min(3, settings.rounds), min(settings.rounds, settings.rounds * 512 // tokens))


if __name__ == "__main__":
    script.run(main, define_flags)
