"""BERT-Base as a LiteRT model with int8 weights, compared with float32 and with ONNX Runtime's int8.

    python -m benchmarks.litert [--text_file=sentences.txt --vocab_file=vocab.txt]

First, from IDs to output, for several batch sizes and lengths: the LiteRT model, this project's float32 SavedModel,
tf-models-official's BertEncoder, and, if installed, ONNX Runtime with Hugging Face's BertModel after quantize_dynamic,
in its own process. The column "products" is a LiteRT file with little more than the encoder's matmuls, about the best
possible with LiteRT. Then, from raw text to output: the LiteRT model and tf-models-official's export with its
preprocessing. All have random weights, take turns on the same input, and use all cores.
"""

import contextlib
import dataclasses
import functools
import itertools
import os
import tempfile

import numpy as np
import tensorflow as tf

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements, model_cache, peer_process, serving
from benchmarks.measurements import Comparison
from bert_tf import models
from bert_tf.cli import flags, paths, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.export import litert
from bert_tf.fast import Fast, FastEncoder
from bert_tf.litert import LiteRTModel
from bert_tf.litert.buckets import LENGTHS, Buckets
from bert_tf.litert.compiled_graphs import CompiledGraphs
from bert_tf.served_models import ServedClassifier
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.rows import Row

ONNX, ONNX_PACKAGES = "ONNX Runtime", ("onnx", "onnxruntime", "torch", "transformers")
ONNX_FILE, PRODUCTS_FILE = "int8.onnx", "products.tflite"
PEERS = {"official": "tf-models-official, float32", "ONNX int8": "ONNX Runtime, int8"}


@dataclasses.dataclass(frozen=True)
class LiteRTSettings(model_cache.CachedModels):
    """Settings for the measurement."""

    text_file: str | None = setting(
        None, "File with one sentence per line. Defaults to sentences of CPython's documentation.")
    vocab_file: str = setting(measurements.VOCAB_FILE, "Lowercase vocabulary. Defaults to the vocabulary of the tests.")
    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    batch_sizes: tuple[int, ...] = setting(
        (1, 1, 8), "Numbers of rows in a request, each with every value of --lengths.", lower=1)
    lengths: tuple[int, ...] = setting((32, 128, 128), "Row lengths in tokens.", lower=8)
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
    path = find_litert(config, settings)
    print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores, {config.num_hidden_layers} layers; "
          f"a LiteRT file of {os.path.getsize(path) / 1e6:.1f} MB")
    with start_onnx(config, settings) as onnx:
        comparisons = measure_ids(config, settings, path, onnx)
    comparisons += measure_texts(config, settings, path, texts)
    measurements.keep("litert", settings, comparisons, left_out=[] if onnx else [ONNX])


def make_servable(config, settings, max_seq_length, **options):
    """Creates a servable classifier with random weights."""
    encoder = FastEncoder(config, Fast("litert" if options else "unpadded", last_where_read=True))
    model = models.BertClassifier(encoder, serving.NUM_LABELS)
    return ServedClassifier(model, BertTokenizer(settings.vocab_file),
                            TaskMetadata("classifier", max_seq_length, True, ("no", "yes")), **options)


def find_litert(config, settings):
    """Returns the path of the LiteRT model, with a graph for each measured shape; creates it if it does not exist."""
    longest = max(*settings.lengths, settings.max_seq_length)
    lengths = sorted({*settings.lengths, *filter(settings.max_seq_length.__ge__, LENGTHS)})
    sizes = sorted({1, 8, *settings.batch_sizes})

    def create(directory):
        servable = make_servable(config, settings, longest, static_length=True)
        with open(os.path.join(directory, "model.tflite"), "wb") as file:
            file.write(litert.convert(servable, "int8", tuple(lengths), tuple(sizes)))

    key = [*serving.get_key(config, settings), longest, lengths, sizes]
    return os.path.join(model_cache.find_or_create(settings.models_dir, "litert", key, create), "model.tflite")


@contextlib.contextmanager
def start_onnx(config, settings):
    """Yields ONNX Runtime's process with a model of the same size, or None after a note; see peer_process.start."""
    sizes, directory = encoder_benchmark.get_sizes(config), None

    def create(directory):
        exporter.call("write", sizes, os.path.join(directory, ONNX_FILE))

    with peer_process.start(ONNX, ONNX_PACKAGES, "benchmarks.peers.onnx_export") as exporter:
        if exporter:
            directory = model_cache.find_or_create(settings.models_dir, "onnx", sizes, create)
    if not directory:
        yield None
        return
    with peer_process.start(ONNX, ONNX_PACKAGES, "benchmarks.peers.onnx_session",
                            os.path.join(directory, ONNX_FILE)) as session:
        yield session


def measure_ids(config, settings, litert_path, onnx):
    """Prints the milliseconds from IDs to output of each model at each shape; returns the Comparisons."""
    products = Products(config)
    shapes = list(zip(settings.batch_sizes, settings.lengths, strict=True))
    graphs = find_products(products, config, settings)
    buckets = Buckets(litert_path)
    ours = make_servable(config, settings, max(*settings.lengths, settings.max_seq_length))
    answer = ours.signatures()["ids"]
    garden = encoder_benchmark.garden_encoder(config)
    official = tf.function(lambda features: garden(features)["pooled_output"], autograph=False)
    names = ["LiteRT int8", "ours float32", "official", *(["ONNX int8"] if onnx else [])]
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
        if onnx:
            onnx.call("prepare", encoder_benchmark.huggingface_inputs(features))
            turns["ONNX int8"] = functools.partial(onnx.time, "answer")
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


def find_products(products, config, settings):
    """Returns CompiledGraphs of Products for the measured shapes; see `write_products`."""
    sizes = sorted({batch_size * length for batch_size, length in zip(
        settings.batch_sizes, settings.lengths, strict=True)})
    directory = model_cache.find_or_create(settings.models_dir, "products", [config.to_json(), sizes],
                                           lambda directory: write_products(products, sizes, directory))
    return CompiledGraphs(os.path.join(directory, PRODUCTS_FILE), os.cpu_count())


def write_products(products, sizes, directory):
    """Writes PRODUCTS_FILE, with int8 weights and a signature per number of rows in `sizes`: its decimal digits."""
    with tempfile.TemporaryDirectory() as saved:
        tf.saved_model.save(products, saved, {f"{size}": products.__call__.get_concrete_function(tf.TensorSpec(
            [size, products.width], tf.float32, "rows")) for size in sizes})
        converter = tf.lite.TFLiteConverter.from_saved_model(saved, signature_keys=[f"{size}" for size in sizes])
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        with open(os.path.join(directory, PRODUCTS_FILE), "wb") as file:
            file.write(converter.convert())


def measure_texts(config, settings, path, texts):
    """Prints the milliseconds from raw text to output, with tf-models-official's export; returns the Comparisons."""
    model = LiteRTModel(path)
    official = serving.load_official(config, settings)
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
