"""Loads a checkpoint as a model that takes raw text."""

import dataclasses
import functools

import tensorflow as tf

from bert_tf.checkpoints import load_pretrained, open_checkpoint
from bert_tf.cli.model_settings import read_tokenizer
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.model_folder import task_metadata
from bert_tf.serving.model import LoadedModel
from bert_tf.serving.saved_model import call_signature
from bert_tf.tasks import KINDS, MaskedLM
from bert_tf.tasks.encoder import POOLER, average_tokens
from bert_tf.tasks.graphs import GRAPHS, ServingOptions

SENTENCE_ORDER = "sentence_order"  # The `objective` of a pre-training run with another label than the next sentence.


class LoadedCheckpoint(LoadedModel):
    """A checkpoint of any kind of task and any format."""

    def __init__(self, settings):
        """Loads a checkpoint.

        Args:
          settings: Resolved AnyModelSettings.

        Raises:
          InputError: See `load`.
        """
        settings = detect_kind(settings)
        settings.check_kind()
        self._servable, metadata = load(settings)
        super().__init__(metadata.kind, next(iter(settings.model_files.places.values())), pairs=metadata.pairs,
                         limit=metadata.max_seq_length)
        self.labels = metadata.labels or None
        self._signature = self._servable.signatures("serving_default")["serving_default"]

    def _answer(self, texts):
        return call_signature(self._signature, texts, self._ranks)

    def _encode(self, texts):
        *outputs, was_cut = (each.numpy() for each in self._sequence_output(tf.constant(texts, tf.string)))
        return average_tokens(*outputs), was_cut

    @functools.cached_property
    def _sequence_output(self):
        """Function of a batch of texts, string [B] -> float32 [B, S, H], input_mask int32 [B, S], was_cut bool [B]."""
        servable = self._servable
        encoder = getattr(servable.model, "encoder", servable.model)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
        def sequence_output(texts):
            features, was_cut = servable.pack(servable.tokenizer.tokenize(texts))
            return tf.cast(encoder(features)["sequence_output"], tf.float32), features["input_mask"], was_cut

        return tf.autograph.experimental.do_not_convert(sequence_output)


def load(settings, *, remove_padding=True, dtype="float32", **options):
    """Loads the Servable of a checkpoint.

    Args:
      settings: Resolved settings of a job that serves a model, with `served_task`; see bert_tf.cli.settings.
      remove_padding: bool. See Fast; not with static lengths.
      dtype: str. Policy of Keras for the encoder.
      **options: Fields of ServingOptions; the settings supply the others.

    Returns:
      (bert_tf.export.Servable, TaskMetadata).

    Raises:
      InputError: If the checkpoint lacks weights of the task.
    """
    place, checkpoint = next(iter(settings.model_files.places.items()))
    values, metadata = settings.values(), settings.served_task
    kind, graph = KINDS[metadata.kind], GRAPHS[metadata.kind]
    if kind.name == MaskedLM.name and settings.config.is_causal:
        raise InputError("is not a masked LM; attention is causal in its config, so it predicts the next token", place,
                         checkpoint)
    options = ServingOptions(**{field.name: values[field.name] for field in dataclasses.fields(ServingOptions)
                                if field.name in values} | options)
    tokenizer = read_tokenizer(values["vocab_file"], metadata.do_lower_case, checkpoint, settings.config,
                               metadata.strip_accents)
    fast = Fast(remove_padding=remove_padding and not options.static_length, last_where_read=True, float32_scores=True)
    model = graph.model(FastEncoder(settings.config, fast, dtype=dtype), metadata)
    try:
        report = load_pretrained(model, checkpoint)
    except InputError:
        if kind.has_labels:
            _check_labels(checkpoint, metadata, place)
        raise
    if metadata.pairs and kind.name == MaskedLM.name:
        options = dataclasses.replace(options, next_sentence=_has_next_sentence(checkpoint, report.missing))
    options = dataclasses.replace(options, has_pooler=not any(name.startswith(POOLER) for name in report.missing))
    missing = [name for name in report.missing if kind.needs(name)]
    if missing:
        needed = f"fine-tuned {kind.name}" if kind.is_fine_tuned else "pre-trained model"
        raise InputError(f"is not a {needed}; it lacks {', '.join(missing)}", place, checkpoint)
    return graph.servable(model, tokenizer, metadata, options), metadata


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
