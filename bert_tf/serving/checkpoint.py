"""Loads a checkpoint as a model that takes raw text."""

import dataclasses
import functools
import threading

import tensorflow as tf

from bert_tf.checkpoints import ModelDirectory, load_pretrained
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.layers import zero_weights
from bert_tf.serving.model import Embeddings, LoadedModel
from bert_tf.serving.saved_model import call_signature
from bert_tf.tasks import KINDS, SERVABLES, Encoder, MaskedLM
from bert_tf.tasks.encoder.graph import embed
from bert_tf.tasks.metadata import POOLER_OUTPUT
from bert_tf.tokenization import read_tokenizer
from bert_tf.variables import POOLER

MAX_ANSWERS = 1000  # Per question. Answers are arrays with this many columns.
# The `objective` of a pre-training run with another label than the next sentence.
SENTENCE_ORDER = "sentence_order"


def load_model(path, **options):
    """Loads a checkpoint of any kind of task and any format as LoadedModel.

    Each of its two functions of texts is traced at its first call: tracing took 90% of the time to
    load a small model, and a model that only computes embeddings never needs the answer.

    `options` are keyword arguments of `load_servable`.
    """
    directory = ModelDirectory.open(path)
    servable = load_servable(directory, **options)
    lock = threading.Lock()  # Only one thread traces.

    @functools.cache
    def trace_answer():
        return servable.signatures("serving_default")["serving_default"]

    def answer(texts):
        with lock:
            signature = trace_answer()
        return call_signature(signature, texts, servable.metadata)

    encoder = getattr(servable.model, "encoder", servable.model)

    @tf.autograph.experimental.do_not_convert
    def embed_in_graph(texts):
        features, was_cut = servable.join_rows(servable.tokenizer.tokenize(texts))
        return Embeddings(
            embed(encoder(features), features["input_mask"], servable.metadata), was_cut
        )

    # A concrete function: others warn that they are traced again for the sixth model of a process.
    @functools.cache
    def trace_embedding():
        function = tf.function(embed_in_graph, [tf.TensorSpec([None], tf.string)], autograph=False)
        return function.get_concrete_function()

    def embed_texts(texts):
        with lock:
            function = trace_embedding()
        return Embeddings(*(value.numpy() for value in function(tf.constant(texts, tf.string))))

    return LoadedModel(servable.metadata, directory.path, answer, embed_texts)


def load_servable(
    path,
    metadata,
    config,
    vocab_file,
    *,
    static_length=False,
    layer="matrix",
    remove_padding=True,
    dtype="float32",
    argument="init_checkpoint",
):
    """Loads a checkpoint in any format as a Servable.

    Args:
      path: str. Path of the checkpoint; or its ModelDirectory.
      metadata: TaskMetadata.
      config: BertConfig.
      vocab_file: str. Path of the vocab.txt.
      static_length: bool. See Servable.
      layer: str. See Fast.
      remove_padding: bool. See Fast; without effect if lengths are static.
      dtype: str. Policy of Keras for the encoder.
      argument: str. Name of the argument with the path, for error messages.

    Raises:
      InputError: If the checkpoint lacks weights of the task, or if there are fewer candidates than
        `metadata.top_k`.
    """
    directory = ModelDirectory.open(path)
    path = directory.path
    kind = KINDS[metadata.kind]
    served_model = SERVABLES[metadata.kind]
    if kind.name == MaskedLM.name and config.is_causal:
        raise InputError(
            "is not a masked LM; attention is causal in its config, so it predicts the next token",
            argument,
            path,
        )
    tokenizer = read_tokenizer(
        vocab_file,
        metadata.do_lower_case,
        path,
        config,
        metadata.strip_accents,
        added_tokens=directory.added_tokens if vocab_file == directory.vocab_txt else None,
    )
    _check_top_k(metadata, tokenizer.vocab_size)
    remove_padding = remove_padding and not static_length
    fast = Fast(layer, remove_padding, last_where_read=True, float32_scores=True)
    model, report = _load_weights(
        lambda: served_model.create_model(FastEncoder(config, fast, dtype=dtype), metadata),
        directory,
    )
    _check_complete(metadata, report, path, argument)
    metadata = _describe_weights(metadata, report, directory)
    return served_model(model, tokenizer, metadata, static_length=static_length)


def _load_weights(create_model, directory):
    """Returns a created model with the weights of a ModelDirectory, and the LoadReport.

    Weights that the directory lacks are random.
    """
    with zero_weights():
        model = create_model()
    report = load_pretrained(model, directory)
    if report.missing:
        model = create_model()
        report = load_pretrained(model, directory)
    return model, report


def _describe_weights(metadata, report, directory):
    """Returns TaskMetadata that also name the heads whose weights a ModelDirectory has."""
    # The head for ALBERT's sentence order has the same variables; the run.json of its training
    # tells it apart.
    has_next_sentence = (
        metadata.pairs
        and not any(name.startswith(MaskedLM.unused_variables) for name in report.missing)
        and directory.run_settings.get("objective") != SENTENCE_ORDER
    )
    return dataclasses.replace(metadata, next_sentence=bool(has_next_sentence))


def _check_complete(metadata, report, path, argument):
    """Raises InputError if a checkpoint lacks weights on which predictions depend."""
    kind = KINDS[metadata.kind]
    missing = [name for name in report.missing if kind.needs(name)]
    if missing:
        needed = (
            f"fine-tuned {kind.name}" if kind.is_fine_tuned else "pre-trained model with its heads"
        )
        raise InputError(f"is not a {needed}; it lacks {', '.join(missing)}", argument, path)
    if metadata.sentence_pooling == POOLER_OUTPUT and any(
        name.startswith(POOLER) for name in report.missing
    ):
        raise InputError(
            f"requires a trained pooler, which `{argument}`={path} lacks; choose another pooling",
            "sentence_pooling",
            POOLER_OUTPUT,
        )


def detect_kind(directory, config):
    """Returns the kind of the model in a ModelDirectory without a task.

    It is "masked_lm" if the checkpoint has the weights of that head, otherwise "encoder". With
    causal attention in the BertConfig, that head predicts the next token.
    """
    has_head = not config.is_causal and any(
        name.startswith(MaskedLM.head_scope) for name in directory.checkpoint.tensors
    )
    return MaskedLM.name if has_head else Encoder.name


def _check_top_k(metadata, vocab_size):
    """Raises InputError if a model has fewer tokens or answers than `metadata.top_k`."""
    is_masked_lm = metadata.kind == MaskedLM.name
    max_top_k = vocab_size if is_masked_lm else MAX_ANSWERS
    if metadata.top_k and metadata.top_k > max_top_k:
        reason = ", the size of the vocabulary" if is_masked_lm else ""
        raise InputError(f"must be at most {max_top_k}{reason}", "top_k", metadata.top_k)
