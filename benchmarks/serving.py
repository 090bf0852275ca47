"""A served BERT-Base classifier, from raw text to output, compared with tf-models-official's and our Python model.

    python -m benchmarks.serving [--text_file=sentences.txt --vocab_file=vocab.txt]

Both are SavedModels with random weights, loaded like a Python client does. They take turns in one process on the same
sentences. The peer is exported like in tf-models-official's export scripts: TensorFlow Text's BertTokenizer,
BertPackInputs to 128 columns, networks.BertEncoder, and models.BertClassifier. The table shows the median (p50) and the
99th percentile (p99) of the latency. Without --text_file, the sentences are from CPython's documentation.
"""

import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import os
import time

import numpy as np
import tensorflow as tf
from official.nlp.modeling import layers as garden_layers
from official.nlp.modeling import models as garden_models

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements, model_cache
from bert_tf import export, models
from bert_tf.cli import flags, paths, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.files import read_text
from bert_tf.served_models import ServedClassifier
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from run.demo import topics

NUM_LABELS = 2
WORDS = range(4, 46)  # Words per sentence, as in movie reviews and news.
FEWEST_TURNS = 5  # With a large batch.


@dataclasses.dataclass(frozen=True)
class ServingSettings(model_cache.CachedModels):
    """Settings for the measurement."""

    text_file: str | None = setting(
        None, "File with one sentence per line. Defaults to sentences of CPython's documentation.")
    vocab_file: str = setting(measurements.VOCAB_FILE, "Lowercase vocabulary. Defaults to the vocabulary of the tests.")
    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    max_seq_length: int = setting(
        128, "Length in tokens to which texts are truncated, and to which the peer pads them.", lower=4)
    batch_sizes: tuple[str, ...] = setting(("1", "32"), "Number of sentences in a request.")
    rounds: int = setting(
        20, "Number of requests with one sentence; batches have as many sentences in total, and at least "
            f"{FEWEST_TURNS} requests.", lower=1)
    threads: int = setting(8, "Numbers of concurrent callers.", lower=1)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(ServingSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(ServingSettings()))


def measure(settings):
    """Exports both models, prints the tables, and stores the comparisons with the peer; settings: ServingSettings."""
    batch_sizes = measurements.whole_numbers("batch_sizes", settings.batch_sizes)
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    paths.check_file("vocab_file", settings.vocab_file)
    texts = read_sentences(settings.text_file, max(batch_sizes))
    directory, callers = make_callers(config, settings)
    print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores, {config.num_hidden_layers} layers; "
          f"{len(texts)} sentences of {np.mean([len(text.split()) for text in texts]):.1f} words on average")
    comparisons = measure_latency(callers, texts, batch_sizes, settings.rounds)
    measure_concurrency(callers["ours"], texts, settings.threads, settings.rounds)
    print_fused_operations(directory, texts[:1])
    measurements.keep("serving", settings, comparisons)


def read_sentences(path, count):
    """Returns the first non-empty lines of a file, or held-out sentences from all parts of the demo's text."""
    if path:
        paths.check_file("text_file", path)
        sentences = [line for line in read_text(path).splitlines() if line.strip()]
    else:
        _, held_out = topics.read_sections()
        sentences = [sentence for _, section in held_out for sentence in section if len(sentence.split()) in WORDS]
        sentences = sentences[:: max(1, len(sentences) // count)]
    if len(sentences) < count:
        raise InputError(f"`text_file`={path}: has {len(sentences)} sentences, but a batch requires {count}")
    return sentences[:count]


def make_callers(config, settings):
    """Returns the directory of our SavedModel, and {"ours", "official", "Python"} -> function of texts."""
    tokenizer = BertTokenizer(settings.vocab_file)
    encoder = FastEncoder(config, Fast("unpadded", last_where_read=True))
    model = models.BertClassifier(encoder, NUM_LABELS)

    def create(directory):
        metadata = TaskMetadata("classifier", settings.max_seq_length, True, ("no", "yes"))
        export.save(ServedClassifier(model, tokenizer, metadata), directory)

    directory = os.path.join(model_cache.find_or_create(
        settings.models_dir, "classifier", get_key(config, settings), create), "1")

    @tf.function(reduce_retracing=True, autograph=False)
    def predict(features):
        return tf.nn.softmax(model(features)["logits"])

    return directory, {
        "ours": tf.saved_model.load(directory).signatures["serving_default"],
        "official": load_official(config, settings),
        "Python": lambda text: {"probabilities": predict(tokenizer.encode(
            text, max_seq_length=settings.max_seq_length))}}


def get_key(config, settings):
    """Returns the key of an exported classifier in the cache."""
    return [config.to_json(), settings.max_seq_length, model_cache.fingerprint_file(settings.vocab_file)]


def load_official(config, settings):
    """Returns the signature of tf-models-official's exported classifier with TensorFlow Text's preprocessing."""
    return tf.saved_model.load(model_cache.find_or_create(
        settings.models_dir, "official", get_key(config, settings),
        lambda directory: export_official(config, settings, directory))).signatures["serving_default"]


def export_official(config, settings, directory):
    """Exports tf-models-official's classifier with TensorFlow Text's preprocessing."""
    classifier = garden_models.BertClassifier(encoder_benchmark.garden_encoder(config), NUM_LABELS)
    tokenize = garden_layers.BertTokenizer(vocab_file=settings.vocab_file, lower_case=True)
    packer = garden_layers.BertPackInputs(
        settings.max_seq_length, special_tokens_dict=tokenize.get_special_tokens_dict())

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")], autograph=False)
    def serve(text):
        return {"probabilities": tf.nn.softmax(classifier(packer([tokenize(text)]), training=False))}

    module = tf.Module()
    # The weights, not the model: Keras would trace each of its layers again, without any use for serving.
    module.weights, module.tokenize, module.serve = classifier.variables, tokenize, serve
    tf.saved_model.save(module, directory, signatures=serve)


def measure_latency(callers, texts, batch_sizes, rounds):
    """Prints p50 and p99 in milliseconds of each caller at each batch size, and the ratio; returns the Comparisons."""
    print(f"\n{'raw text to answer, ms':<26}" + "".join(f"{name + ' p50':>18}{'p99':>9}" for name in callers)
          + f"{'official/ours':>15}")
    comparisons = []
    for batch_size in batch_sizes:
        # With batch size 1, the sentences take turns.
        batches = [tf.constant(texts[start : start + batch_size])
                   for start in range(0, len(texts) - batch_size + 1, batch_size)]
        turns = {name: functools.partial(answer_next, call, itertools.cycle(batches))
                 for name, call in callers.items()}
        times = measurements.time_turns(turns, max(min(FEWEST_TURNS, rounds), rounds // batch_size),
                                        calls_before=calls_before(batch_size))
        middle = {name: 1000 * seconds for name, seconds in measurements.medians(times).items()}
        print(f"{f'{batch_size} sentences':<26}" + "".join(
            f"{middle[name]:>18.1f}{1000 * np.percentile(each, 99):>9.1f}" for name, each in times.items())
            + f"{middle['official'] / middle['ours']:>15.2f}", flush=True)
        comparisons.append(measurements.Comparison(
            f"Served classifier, {batch_size} sentence{'s'[:batch_size - 1]}", "tf-models-official's export",
            middle["ours"], middle["official"], "ms", False))
    return comparisons


def calls_before(batch_size):
    """Returns `calls_before` of measurements.time_turns: 2 for one sentence, so the measured ones vary; otherwise 0."""
    return 2 if batch_size == 1 else 0


def answer_next(call, batches):
    """Calls a function with the next batch of an iterator."""
    call(text=next(batches))["probabilities"].numpy()


def measure_concurrency(call, texts, threads, rounds):
    """Prints sentences per second for one caller and for concurrent callers; compares all outputs."""
    sentences = [tf.constant([text]) for text in texts] * max(1, rounds // len(texts) + 1)

    def answer(sentence):
        return call(text=sentence)["probabilities"].numpy()

    rates, answers = {}, {}
    for callers in (1, threads):
        with concurrent.futures.ThreadPoolExecutor(callers) as pool:
            start = time.perf_counter()
            answers[callers] = list(pool.map(answer, sentences))
            rates[callers] = len(sentences) / (time.perf_counter() - start)
    difference = np.abs(np.array(answers[1]) - np.array(answers[threads])).max()
    print(f"\n{threads} callers at a time: {rates[threads]:.1f} sentences per second, one caller {rates[1]:.1f} "
          f"({rates[threads] / rates[1]:.2f} times); their answers differ by at most {difference:.1e}")


def print_fused_operations(path, texts):
    """Prints the matmuls that TensorFlow fused with bias and activation, in a session like that of the server."""
    metadata = tf.compat.v1.RunMetadata()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signature = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
        session.run(signature.outputs["probabilities"].name, {signature.inputs["text"].name: texts},
                    tf.compat.v1.RunOptions(output_partition_graphs=True), metadata)
    kinds = collections.Counter()
    for node in (node for graph in metadata.partition_graphs for node in graph.node):
        if node.op.endswith("FusedMatMul") and "Batch" not in node.op:  # oneDNN's operation has a prefix.
            kinds["with " + "+".join(name.decode() for name in node.attr["fused_ops"].list.s)] += 1
        elif node.op in ("MatMul", "_MklMatMul"):
            kinds["alone"] += 1
    print("matrix multiplications with weights in the optimized graph: "
          + ", ".join(f"{count} {kind}" for kind, count in kinds.items()))


if __name__ == "__main__":
    script.run(main, define_flags)
