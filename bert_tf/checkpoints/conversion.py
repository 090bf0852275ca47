"""Converts the weights of a checkpoint from any format to another.

Adds position embeddings for longer texts if requested.
"""

import dataclasses
import math

import numpy as np

from bert_tf.checkpoints import huggingface, model_garden, original, peft
from bert_tf.checkpoints.directory import ModelDirectory
from bert_tf.checkpoints.tensors import check_config
from bert_tf.checkpoints.tokenizers import (
    TokenizerFiles,
    read_full_vocabulary,
    save_tokenizer,
    to_vocab_txt,
)
from bert_tf.errors import InputError
from bert_tf.tokenization.vocabulary import count_ids
from bert_tf.variables import POSITION_EMBEDDINGS

FORMATS = {"tf1": original, "model_garden": model_garden, "huggingface": huggingface}


def convert(
    source,
    output,
    output_format,
    config=None,
    vocab_file=None,
    *,
    task=None,
    tokenizer=None,
    adapter=None,
    max_position_embeddings=None,
):
    """Converts a checkpoint.

    Args:
      source: Path for `ModelDirectory.open`, or a ModelDirectory.
      output: Directory. Existing files with the same names are overwritten.
      output_format: Key of FORMATS.
      config: BertConfig; None for the one next to the checkpoint.
      vocab_file: Path of a vocab.txt or tokenizer.json, whose vocabulary is written to `output`, or
        None.
      task: TaskMetadata of the fine-tuned model, for Hugging Face's format, or None.
      tokenizer: TokenizerFiles with the casing to write to `output`; None if unknown.
      adapter: Directory of a PEFT adapter that was trained on this checkpoint, to merge into it, or
        None.
      max_position_embeddings: int. Larger number of position embeddings; None to keep the
        checkpoint's.

    Returns:
      List of str. Lines that describe the conversion to a user.

    Raises:
      InputError: If the format is unknown, the checkpoint or the config does not exist, the config,
        the vocabulary, or the adapters belong to another model, or the number of labels of the task
        does not match the model.
    """
    if output_format not in FORMATS:
        raise InputError(f"must be one of {', '.join(FORMATS)}", "format", output_format)
    directory = ModelDirectory.open(source)
    checkpoint = directory.checkpoint
    if config is None:
        config = directory.config
    if config is None:
        raise InputError(
            f"is required: there is no config next to {checkpoint.path}", "bert_config_file"
        )
    check_config(checkpoint, config)
    if adapter:
        checkpoint = _merge_adapter(checkpoint, adapter)
    if max_position_embeddings:
        checkpoint, config = extend_positions(checkpoint, config, max_position_embeddings)
    if vocab_file:
        _check_vocabulary(vocab_file, config)
    writer = FORMATS[output_format]
    options = {"task": task} if writer is huggingface else {}
    left_out = writer.write(output, checkpoint.tensors, config, **options)
    tokenizer = dataclasses.replace(tokenizer or TokenizerFiles(), vocab_file=vocab_file)
    save_tokenizer(output, tokenizer, **_get_tokenizer_settings(writer, tokenizer, config))
    return _describe_conversion(checkpoint, config, output, writer, left_out)


def _merge_adapter(checkpoint, path):
    """Returns a Checkpoint without its heads, with a PEFT adapter and its head merged into it."""
    adapter = peft.read(path)
    encoder = {
        name: tensor for name, tensor in checkpoint.tensors.items() if name.startswith("bert/")
    }
    return dataclasses.replace(
        checkpoint,
        format=f"{checkpoint.format} and {path}",
        tensors=adapter.apply(encoder, checkpoint.path),
    )


def _check_vocabulary(path, config):
    """Raises InputError if a vocabulary has more entries than the model with this BertConfig."""
    entries = count_ids(read_full_vocabulary(to_vocab_txt(path)))
    if entries > config.vocab_size:
        raise InputError(
            f"has {entries} entries, but the model has {config.vocab_size}; set the vocabulary "
            "of the model",
            "vocab_file",
            path,
        )


def _get_tokenizer_settings(writer, tokenizer, config):
    """Returns the further settings of tokenizer_config.json in a format, a dict."""
    if writer is not huggingface or not tokenizer.vocab_file:
        return {}
    return {
        "model_max_length": config.max_position_embeddings,
        "tokenizer_class": "BertTokenizer",
    }


def _describe_conversion(checkpoint, config, output, writer, left_out):
    """Returns the lines of `convert`.

    Args:
      checkpoint, config: Checkpoint that was converted, and its BertConfig.
      output: Directory of the result.
      writer: Module of the format, one of FORMATS.
      left_out: Names of tensors of the checkpoint that were not written.
    """
    shapes = [tensor.shape for name, tensor in checkpoint.tensors.items() if name not in left_out]
    lines = [
        f"{checkpoint.path} ({checkpoint.format}) -> {output} ({writer.FORMAT_NAME}): "
        f"{len(shapes)} tensors, {sum(map(math.prod, shapes)):,} parameters"
    ]
    if left_out:
        lines.append(
            f"  not written, since the format does not support them: {', '.join(left_out)}"
        )
    if config.hidden_act == "gelu_exact" and writer is not huggingface:
        lines.append(
            "  hidden_act is gelu_exact (the erf form): programs that read bert_config.json like "
            "the original BERT compute the tanh form"
        )
    return lines


def extend_positions(checkpoint, config, length):
    """Repeats the position embeddings, starting with the first.

    Longformer is initialized in this way (Beltagy et al. 2020, section 5). Existing positions are
    unchanged.

    Args:
      checkpoint, config: Checkpoint, and the BertConfig that describes it.
      length: int. New number of position embeddings.

    Returns:
      Tuple `(checkpoint, config)` with this number of position embeddings.

    Raises:
      InputError: If there are already as many position embeddings.
    """
    rows = config.max_position_embeddings
    if length <= rows:
        raise InputError(
            f"must be greater than {rows}, the number of position embeddings of the model",
            "max_position_embeddings",
            length,
        )
    config = dataclasses.replace(config, max_position_embeddings=length)
    table = checkpoint.tensors[POSITION_EMBEDDINGS]
    longer = table.map([length, table.shape[1]], lambda values: values[np.arange(length) % rows])
    tensors = {**checkpoint.tensors, POSITION_EMBEDDINGS: longer}
    return dataclasses.replace(checkpoint, tensors=tensors), config
