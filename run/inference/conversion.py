"""Conversion of checkpoints between formats."""

import sys

from bert_tf import checkpoints, model_folder
from bert_tf.errors import InputError
from bert_tf.model_folder import TASK_FILE, task_metadata
from bert_tf.model_folder.model_files import to_vocab_txt


def run(settings):
    """Converts a checkpoint and prints what it wrote. `settings`: ConversionSettings, resolved."""
    config = model_folder.read_config(settings.bert_config_file) if settings.bert_config_file else None
    model_folder.check_loadable(settings.input)
    tokenizer = _find_tokenizer(settings.input)
    vocab = settings.vocab_file or tokenizer.vocab_file
    metadata = task_metadata.read(settings.adapter or settings.input)
    for line in checkpoints.convert(
            settings.input, settings.output, settings.format, config, vocab and to_vocab_txt(vocab),
            task=metadata and metadata.task, tokenizer=tokenizer, adapter=settings.adapter,
            max_position_embeddings=settings.max_position_embeddings, position_extension=settings.position_extension):
        print(line)
    # Other formats and sources specify the task, or have no heads.
    if metadata and metadata.source == TASK_FILE and settings.format == "tf1":
        task_metadata.keep(settings.output, metadata)


def _find_tokenizer(source):
    """Finds the TokenizerFiles of a checkpoint; prints a note and returns none if the tokenizer is unsupported."""
    try:
        return model_folder.find_tokenizer(source)
    except InputError as error:
        print(f"note: {error}; converting only the weights", file=sys.stderr)
        return model_folder.TokenizerFiles()
