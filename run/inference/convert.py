"""Conversion of checkpoints between formats."""

import sys

from bert_tf import checkpoints, model_folder
from bert_tf.errors import InputError
from bert_tf.model_folder import TASK_FILE, task_metadata
from bert_tf.model_folder.model_files import ModelFiles


def run(settings):
    """Converts a checkpoint and prints what it wrote. `settings`: ConversionSettings, resolved."""
    config = (
        model_folder.read_config(settings.bert_config_file) if settings.bert_config_file else None
    )
    model_folder.check_loadable(settings.input)
    vocab_file, tokenizer = _find_tokenizer(settings)
    metadata = task_metadata.read(settings.adapter or settings.input)
    for line in checkpoints.convert(
        settings.input,
        settings.output,
        settings.format,
        config,
        vocab_file,
        task=metadata,
        tokenizer=tokenizer,
        adapter=settings.adapter,
        max_position_embeddings=settings.max_position_embeddings,
    ):
        print(line)
    # Other formats and sources specify the task, or have no heads.
    if metadata and metadata.source == TASK_FILE and settings.format == "tf1":
        task_metadata.keep(settings.output, metadata)


def _find_tokenizer(settings):
    """Returns the path of the vocabulary of ConversionSettings, and TokenizerFiles with the casing.

    Both are next to the adapter or the checkpoint. If that tokenizer is unsupported, prints a note.
    """
    found = ModelFiles(
        {name: getattr(settings, name) for name in ("adapter", "input") if getattr(settings, name)}
    )
    try:
        return settings.vocab_file or found.vocab_file, found.casing[1]
    except InputError as error:
        print(f"note: {error}; converting only the weights", file=sys.stderr)
        return settings.vocab_file, None
