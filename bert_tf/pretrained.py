"""Functions for `from_pretrained` and `save_pretrained`.

They create models and tokenizers from directories, and write models to directories. The classes
import this module late, since it constructs them.
"""

import dataclasses
import inspect
import os
import re
import warnings

from bert_tf import files
from bert_tf.checkpoints import (
    FORMATS,
    ModelDirectory,
    TokenizerFiles,
    load_pretrained,
    model_tensors,
    task_metadata,
)
from bert_tf.checkpoints.directory import CONFIG_NAMES
from bert_tf.checkpoints.huggingface_task import generic_labels
from bert_tf.checkpoints.original import CHECKPOINT_NAME
from bert_tf.checkpoints.task_metadata import DEFAULTS
from bert_tf.checkpoints.tokenizers import save_tokenizer
from bert_tf.encoder import BertEncoder
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.saved_objects import set_untracked
from bert_tf.tasks import KINDS
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.vocabulary import check_casing

ENCODER = "bert/"  # Prefix of the names of its variables.
# Weights that a reader of a directory could find instead of those of `write_model`.
_OTHER_WEIGHTS = re.compile(
    rf"checkpoint|(?!{re.escape(CHECKPOINT_NAME)}\.).*\.index|.*\.(safetensors|bin)"
)


def load_tokenizer(path, lower_case=None, strip_accents=None):
    """See `BertTokenizer.from_pretrained`."""
    directory = ModelDirectory.open(path, "path")
    path = directory.path
    found = directory.tokenizer
    if found.vocab_file is None:
        raise InputError(f"{path}: there is no vocab.txt or tokenizer.json next to this path")
    if lower_case is None:
        lower_case = (
            DEFAULTS["do_lower_case"] if found.do_lower_case is None else found.do_lower_case
        )
    if strip_accents is None and lower_case == found.do_lower_case:
        strip_accents = found.strip_accents
    check_casing(lower_case, path)
    return BertTokenizer(directory.vocab_txt, lower_case, strip_accents)


def load_model(
    model_class, path, *, num_labels=None, config=None, fast=True, dtype=None, seed=0, **arguments
):
    """See `KerasModel.from_pretrained`."""
    directory = ModelDirectory.open(path, "path")
    path = directory.path
    kind = KINDS[model_class.kind]
    accepted = inspect.signature(model_class.__init__).parameters
    if num_labels is not None:
        arguments["num_labels"] = num_labels
    if issubclass(model_class, BertEncoder):
        encoder = _create_encoder(model_class, directory, config, fast, dtype, seed, **arguments)
        _warn_about_missing(load_pretrained(encoder, directory), ())
        return encoder
    encoder = _create_encoder(BertEncoder, directory, config, fast, dtype, seed)
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
            warnings.warn(
                f"{path}: the checkpoint has the head of another {other}; only its encoder is "
                "loaded",
                stacklevel=3,
            )
    report = load_pretrained(model, directory, leave=leave)
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
    if fast and encoder_class is BertEncoder:
        return FastEncoder(
            config,
            Fast(remove_padding=True, last_where_read=True),
            seed=seed,
            dtype=dtype,
            **arguments,
        )
    return encoder_class(config, seed=seed, dtype=dtype, **arguments)


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
    """See `KerasModel.save_pretrained`; `options` are fields of TaskMetadata, None if not set."""
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
        TokenizerFiles(tokenizer.vocab_file, tokenizer.lower_case, tokenizer.strip_accents),
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


def write_model(path, tensors, config, tokenizer, metadata=None):
    """Writes a directory that `bert_tf.load`, `from_pretrained`, and all scripts read.

    All files appear together.

    Args:
      path: Path of the directory; created if it does not exist. Files of an earlier call are
        overwritten.
      tensors: Dict of canonical name to StoredTensor.
      config: BertConfig.
      tokenizer: TokenizerFiles.
      metadata: TaskMetadata of a fine-tuned model, or None.

    Raises:
      InputError: If the directory contains a model that these files would not replace.
    """
    for name in files.at(path).names_if_dir():
        if _OTHER_WEIGHTS.fullmatch(name) or (name == TASK_FILE and metadata is None):
            raise InputError(f"{path}: contains another model ({name}); choose another directory")
    with files.new_files(path) as unfinished:
        FORMATS["tf1"].write(unfinished, tensors, config)
        save_tokenizer(unfinished, tokenizer)
        if metadata:
            task_metadata.keep(unfinished, metadata)
