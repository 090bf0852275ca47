"""A served BERT-Base classifier, from raw text to output, compared with tf-models-official's.

    python -m benchmarks.serving [--text_file=sentences.txt --vocab_file=vocab.txt]

Both are SavedModels with random weights, loaded like a Python client does. They take turns in one
process on the same sentences. The peer is exported like in tf-models-official's export scripts:
TensorFlow Text's BertTokenizer, BertPackInputs to 128 columns, networks.BertEncoder, and
models.BertClassifier.
"""

import dataclasses
import functools
import itertools
import os
import tempfile

import tensorflow as tf
from official.nlp.modeling import layers as garden_layers
from official.nlp.modeling import models as garden_models

from benchmarks import measurements, models, texts
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import roles, script
from bert_tf.cli.resolution import read_model_config
from bert_tf.cli.settings import Settings, setting
from bert_tf.fast import Fast, FastEncoder
from bert_tf.models import BertClassifier
from bert_tf.serving import saved_model
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer

PEER = "tf-models-official's export"


@dataclasses.dataclass(frozen=True)
class RequestSettings(Settings):
    """Settings for requests with raw text."""

    text_file: str | None = setting(
        None,
        "File with one sentence per line. Defaults to sentences of CPython's documentation.",
        role=roles.INPUT_FILE,
    )
    vocab_file: str = setting(
        measurements.VOCAB_FILE,
        "Lowercase vocabulary. Defaults to the vocabulary of the tests.",
        role=roles.INPUT_FILE,
    )
    max_seq_length: int = setting(
        128,
        "Length in tokens to which texts are truncated, and to which the peer pads them.",
        min_value=4,
    )
    sentences: tuple[int, ...] = setting((1, 32), "Number of sentences in a request.", min_value=1)


@dataclasses.dataclass(frozen=True)
class ServingSettings(measurements.BenchmarkSettings):
    """Settings for the model."""

    bert_config_file: str = setting(
        "base", "bert_config.json of the model, or the name of a published size."
    )
    requests: RequestSettings = dataclasses.field(default_factory=RequestSettings)


COMMAND = script.Command(ServingSettings(), __name__)


def run(settings):
    """Exports both models and measures requests; settings: ServingSettings."""
    config = read_model_config(settings.bert_config_file, settings.requests.max_seq_length)
    servable = create_servable(
        config, settings.requests, Fast(remove_padding=True, last_where_read=True)
    )
    with tempfile.TemporaryDirectory() as folder:
        path, _ = saved_model.save(servable, os.path.join(folder, "ours"))
        signature = tf.saved_model.load(path).signatures["serving_default"]
    with Results("serving", settings) as results:
        measure_requests(
            "Served classifier",
            lambda sentences: signature(text=tf.constant(sentences)),
            config,
            settings,
            results,
        )


def create_servable(config, requests, fast, **options):
    """Creates a servable classifier with random weights.

    `options` are further arguments of ServedClassifier.
    """
    model = BertClassifier(FastEncoder(config, fast), models.NUM_LABELS)
    metadata = TaskMetadata("classifier", requests.max_seq_length, True, ("no", "yes"))
    return ServedClassifier(model, BertTokenizer(requests.vocab_file), metadata, **options)


def measure_requests(title, model, config, settings, results):
    """Measures the latency of requests, compared with tf-models-official's export.

    Args:
      title: str. Name of the model in the results.
      model: Callable of a list of sentences.
      config: BertConfig of both models.
      settings: Settings with a group `requests`, RequestSettings.
      results: Results to add the comparisons to.
    """
    requests = settings.requests
    sentences = texts.read_sentences(requests.text_file, max(requests.sentences))
    official = load_official(config, requests)
    callers = {"ours": model, "official": lambda batch: official(text=tf.constant(batch))}
    for count in requests.sentences:
        batches = [
            sentences[start : start + count]
            for start in range(0, len(sentences) - count + 1, count)
        ]
        turns = {
            name: functools.partial(next, map(call, itertools.cycle(batches)))
            for name, call in callers.items()
        }
        # With two calls before each turn, all sentences are measured.
        times = time_turns(turns, settings.rounds, calls_before=2 if count == 1 else 0)
        results.add(
            f"{title}, {count} {'sentence' if count == 1 else 'sentences'}",
            1000 * times["ours"],
            {PEER: 1000 * times["official"]},
            "ms",
        )


def load_official(config, requests):
    """Exports tf-models-official's classifier, and loads the signature of the SavedModel.

    The preprocessing is TensorFlow Text's.
    """
    classifier = garden_models.BertClassifier(
        models.create_garden_encoder(config), models.NUM_LABELS
    )
    tokenize = garden_layers.BertTokenizer(vocab_file=requests.vocab_file, lower_case=True)
    joiner = garden_layers.BertPackInputs(
        requests.max_seq_length, special_tokens_dict=tokenize.get_special_tokens_dict()
    )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")], autograph=False)
    def serve(text):
        return {
            "probabilities": tf.nn.softmax(classifier(joiner([tokenize(text)]), training=False))
        }

    module = tf.Module()
    # The module has the weights, not the model: Keras would trace each layer of a model again,
    # without any use for serving.
    module.weights = classifier.variables
    module.tokenize = tokenize
    module.serve = serve
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=serve)
        return tf.saved_model.load(folder).signatures["serving_default"]


if __name__ == "__main__":
    COMMAND.run()
