"""Loads a checkpoint as a model that takes raw text."""

import dataclasses

import tensorflow as tf

from bert_tf.checkpoints import load_pretrained, open_checkpoint
from bert_tf.cli.model_settings import read_tokenizer
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.model_folder import task_metadata
from bert_tf.served_models import SERVED_MODELS
from bert_tf.serving.model import LoadedModel
from bert_tf.serving.saved_model import call_signature
from bert_tf.tasks import KINDS, MaskedLM
from bert_tf.tasks.encoder import POOLER, average_tokens

SENTENCE_ORDER = "sentence_order"  # The `objective` of a pre-training run with another label than the next sentence.


def open_checkpoint_model(settings):
    """Loads a checkpoint of any kind of task and any format.

    Args:
      settings: Resolved AnyModelSettings.

    Returns:
      LoadedModel.

    Raises:
      InputError: See `load`.
    """
    settings = detect_kind(settings)
    settings.check_kind()
    servable = load(settings)
    signature = servable.signatures("serving_default")["serving_default"]
    ranks = KINDS[servable.kind].inputs(servable.metadata.pairs)
    encoder = getattr(servable.model, "encoder", servable.model)

    @tf.autograph.experimental.do_not_convert
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def encode(texts):
        features, was_cut = servable.pack(servable.tokenizer.tokenize(texts))
        return tf.cast(encoder(features)["sequence_output"], tf.float32), features["input_mask"], was_cut

    def answer(texts):
        return call_signature(signature, texts, ranks)

    def embed(texts):
        *outputs, was_cut = (value.numpy() for value in encode(tf.constant(texts, tf.string)))
        return average_tokens(*outputs), was_cut

    return LoadedModel(servable.metadata, next(iter(settings.model_files.places.values())), answer, embed)


def load(settings, *, remove_padding=True, dtype="float32", static_length=None):
    """Loads the served model of a checkpoint.

    Args:
      settings: Resolved settings of a job that serves a model, with `served_task`; see bert_tf.cli.settings.
      remove_padding: bool. See Fast; not with static lengths.
      dtype: str. Policy of Keras for the encoder.
      static_length: bool. See Servable; None for the setting of this name.

    Returns:
      bert_tf.served_models.Servable.

    Raises:
      InputError: If the checkpoint lacks weights of the task.
    """
    place, checkpoint = next(iter(settings.model_files.places.items()))
    values, metadata = settings.values(), settings.served_task
    kind, served_model = KINDS[metadata.kind], SERVED_MODELS[metadata.kind]
    if static_length is None:
        static_length = values.get("static_length", False)
    if kind.name == MaskedLM.name and settings.config.is_causal:
        raise InputError("is not a masked LM; attention is causal in its config, so it predicts the next token", place,
                         checkpoint)
    tokenizer = read_tokenizer(values["vocab_file"], metadata.do_lower_case, checkpoint, settings.config,
                               metadata.strip_accents)
    fast = Fast(remove_padding=remove_padding and not static_length, last_where_read=True, float32_scores=True)
    model = served_model.create_model(FastEncoder(settings.config, fast, dtype=dtype), metadata)
    try:
        report = load_pretrained(model, checkpoint)
    except InputError:
        if kind.has_labels:
            _check_labels(checkpoint, metadata, place)
        raise
    missing = [name for name in report.missing if kind.needs(name)]
    if missing:
        needed = f"fine-tuned {kind.name}" if kind.is_fine_tuned else "pre-trained model"
        raise InputError(f"is not a {needed}; it lacks {', '.join(missing)}", place, checkpoint)
    metadata = dataclasses.replace(
        metadata, has_pooler=not any(name.startswith(POOLER) for name in report.missing),
        next_sentence=bool(metadata.pairs) and _has_next_sentence(checkpoint, report.missing))
    return served_model(model, tokenizer, metadata, static_length=static_length)


def _has_next_sentence(checkpoint, missing):
    """Returns whether a checkpoint, without the variables `missing`, has a trained head for the next sentence.

    The head for ALBERT's sentence order has the same variables; the run.json of its training tells it apart.
    """
    return not (any(name.startswith(MaskedLM.unused_variables) for name in missing)
                or task_metadata.read_run(checkpoint).get("objective") == SENTENCE_ORDER)


def _check_labels(checkpoint, metadata, place):
    """Raises InputError if the number of outputs of a checkpoint differs from the number of a TaskMetadata's labels."""
    kernel = open_checkpoint(checkpoint).tensors.get("output_weights")
    if kernel and kernel.shape[0] != KINDS[metadata.kind].num_outputs(metadata):
        raise InputError(f"the model has {kernel.shape[0]} outputs, but there are {len(metadata.labels)} label names; "
                         "set `labels_file`", place, checkpoint)


def detect_kind(settings):
    """Sets the kind of a checkpoint if neither the settings nor its directory state one.

    Args:
      settings: See `load`, with the kind "encoder" of `default_kind`.

    Returns:
      The settings, of the kind "masked_lm" if nothing states a kind and the checkpoint has the weights of that head.
    """
    checkpoint = next(iter(settings.model_files.places.values()))
    if settings.task or settings.model_files.task_metadata or not settings.default_kind:
        return settings
    if settings.config.is_causal:  # Its head predicts the next token.
        return settings
    if not any(name.startswith(MaskedLM.head_scope) for name in open_checkpoint(checkpoint).tensors):
        return settings
    return settings.replace_values({"served_task": dataclasses.replace(settings.served_task, kind=MaskedLM.name)})
