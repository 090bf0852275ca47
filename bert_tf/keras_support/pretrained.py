"""`from_pretrained` and `save_pretrained` of encoders and task models."""

import dataclasses
import inspect
import os
import warnings

from bert_tf.checkpoints import (
    ModelDirectory,
    TokenizerFiles,
    load_pretrained,
    model_tensors,
)
from bert_tf.checkpoints.directory import CONFIG_NAMES
from bert_tf.checkpoints.huggingface_task import generic_labels
from bert_tf.checkpoints.saving import write_model
from bert_tf.checkpoints.task_metadata import DEFAULTS
from bert_tf.errors import InputError
from bert_tf.saved_objects import set_untracked
from bert_tf.tasks import KINDS
from bert_tf.tasks.metadata import TaskMetadata

ENCODER = "bert/"  # Prefix of the names of its variables.


def load_keras_model(
    model_class, path, *, num_labels=None, config=None, fast=True, dtype=None, seed=0, **arguments
):
    """Creates a model and loads its weights, as `KerasModel.from_pretrained` explains."""
    directory = ModelDirectory.open(path, "path")
    path = directory.path
    kind = KINDS[model_class.kind]
    accepted = inspect.signature(model_class.__init__).parameters
    if num_labels is not None:
        arguments["num_labels"] = num_labels
    encoder_class = getattr(model_class, "encoder_class", None)
    if encoder_class is None:
        encoder = _create_encoder(model_class, directory, config, fast, dtype, seed, **arguments)
        report = load_pretrained(encoder, directory, adds_tokens=config is not None)
        _warn_about_missing(report, ())
        return encoder
    encoder = _create_encoder(encoder_class, directory, config, fast, dtype, seed)
    metadata = directory.task
    tensors = directory.checkpoint.tensors
    has_other_task = metadata is not None and metadata.kind != kind.name
    if "num_labels" in accepted and num_labels is None:
        if has_other_task or "output_bias" not in tensors:
            raise InputError(f"is required: {path} is not a fine-tuned {kind.name}", "num_labels")
        arguments["num_labels"] = tensors["output_bias"].shape[0]
    if "pooling" in accepted and metadata and metadata.window_pooling:
        arguments.setdefault("pooling", metadata.window_pooling)
    model = model_class(encoder, **arguments)
    head = {
        variable.name.removesuffix(":0"): variable.shape.as_list()
        for variable in model.variables
        if not variable.name.startswith(ENCODER)
    }
    leave = ()
    expected = ()
    if kind.is_fine_tuned:
        expected = (*head, *kind.unused_variables)
        if any(
            name in tensors and (has_other_task or tensors[name].shape[:1] != shape[:1])
            for name, shape in head.items()
        ):
            leave = tuple(head)
            other = "task" if has_other_task else "number of outputs"
            # Not a note: the program that calls the library can filter warnings.
            warnings.warn(
                f"{path}: the checkpoint has the head of another {other}; only its encoder is "
                "loaded",
                stacklevel=3,
            )
    report = load_pretrained(model, directory, leave=leave, adds_tokens=config is not None)
    _warn_about_missing(report, expected)
    if metadata and not has_other_task and not leave:
        set_untracked(model, task_metadata=metadata)
    return model


def _create_encoder(encoder_class, directory, config, fast, dtype, seed, **arguments):
    """Creates the encoder of a ModelDirectory with initial weights.

    See `KerasModel.from_pretrained`.
    """
    directory.check_loadable()
    directory.check_has_weights()
    config = config or directory.config
    if config is None:
        raise InputError(
            f"is required: there is no {CONFIG_NAMES} next to {directory.path}", "config"
        )
    if not fast or "create_fast" not in vars(encoder_class):
        return encoder_class(config, seed=seed, dtype=dtype, **arguments)
    if encoder_class.create_fast is None:
        raise InputError("requires `import bert_tf.fast`; bert_tf.models imports it", "fast", fast)
    return encoder_class.create_fast(config, seed=seed, dtype=dtype, **arguments)


def _warn_about_missing(report, expected):
    """Warns about variables that a checkpoint lacks.

    Args:
      report: LoadReport.
      expected: Tuple of str. Starts of the names of variables that may be missing.
    """
    missing = [name for name in report.missing if not name.startswith(expected)]
    if missing:
        warnings.warn(
            f"{report.path}: lacks {', '.join(missing)}, which keep their random initial values",
            stacklevel=4,
        )


def save_model(model, path, tokenizer, **options):
    """Writes the directory that `KerasModel.save_pretrained` describes.

    `options` are fields of TaskMetadata, None if not set.
    """
    kind = KINDS[model.kind]
    config = getattr(model, "encoder", model).config
    if tokenizer.vocab_size > config.vocab_size:
        raise InputError(
            f"has {tokenizer.vocab_size} vocabulary entries, but the model has {config.vocab_size}",
            "tokenizer",
        )
    metadata = _describe_task(model, kind, tokenizer, options) if kind.is_fine_tuned else None
    write_model(
        os.fspath(path),
        model_tensors(model),
        config,
        TokenizerFiles(
            tokenizer.vocab_file,
            tokenizer.lower_case,
            tokenizer.strip_accents,
            added_tokens=tokenizer.added_tokens,
        ),
        metadata,
    )


def _describe_task(model, kind, tokenizer, options):
    """Returns the TaskMetadata of a task model; see `save_model`."""
    options = {name: value for name, value in options.items() if value is not None}
    unknown = next((name for name in options if name not in {"max_seq_length", *kind.fields}), None)
    if unknown:
        raise InputError(
            f"cannot be used: a {kind.name} does not have it", unknown, options[unknown]
        )
    positions = model.encoder.config.max_position_embeddings
    metadata = getattr(model, "task_metadata", None) or TaskMetadata(
        kind.name, min(DEFAULTS["max_seq_length"], positions), tokenizer.lower_case
    )
    pooling = getattr(model, "pooling", None)
    values = {
        # A directory of Hugging Face does not contain it.
        "max_seq_length": metadata.max_seq_length or min(DEFAULTS["max_seq_length"], positions),
        "do_lower_case": tokenizer.lower_case,
        "strip_accents": tokenizer.strip_accents,
        "window_pooling": pooling,
    }
    if metadata.max_seq_length is None:  # Directories of Hugging Face do not contain it.
        values["max_seq_length"] = min(DEFAULTS["max_seq_length"], positions)
    if not pooling:
        values |= {"window_stride": None, "max_windows": None}
    if "pairs" in kind.fields and metadata.pairs is None:
        values["pairs"] = False
    if (
        kind.has_labels
        and not metadata.labels
        and not (kind.may_give_number and model.num_labels == 1)
    ):
        values["labels"] = generic_labels(model.num_labels)
    metadata = dataclasses.replace(metadata, **values | options)
    if kind.has_labels and kind.num_outputs(metadata) != model.num_labels:
        raise InputError(
            f"has {len(metadata.labels)} names, but the model has {model.num_labels} outputs",
            "labels",
        )
    if metadata.max_seq_length > positions:
        raise InputError(
            f"must be at most {positions}, max_position_embeddings of the model",
            "max_seq_length",
            metadata.max_seq_length,
        )
    sizes = metadata.window_stride, metadata.max_windows
    if not (all(sizes) if pooling else not any(sizes)):
        raise InputError(
            f"and `max_windows` are {'required by' if pooling else 'only for'} a "
            "BertLongTextClassifier",
            "window_stride",
        )
    return metadata
