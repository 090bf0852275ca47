"""Conversion of checkpoints between formats."""

from bert_tf import checkpoints, notes
from bert_tf.checkpoints import ModelDirectory, task_metadata
from bert_tf.cli.model_files import ModelFiles
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TASK_FILE


def run(settings):
    """Converts a checkpoint and prints what it wrote. `settings`: ConversionSettings, resolved."""
    config = (
        checkpoints.read_config_file(settings.bert_config_file)
        if settings.bert_config_file
        else None
    )
    directory = ModelDirectory.open(settings.input)
    directory.check_loadable()
    vocab_file, tokenizer = _find_tokenizer(settings)
    metadata = ModelDirectory.open(settings.adapter or directory).task
    for line in checkpoints.convert(
        directory,
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
        notes.tell(f"{error}; converting only the weights")
        return settings.vocab_file, None
