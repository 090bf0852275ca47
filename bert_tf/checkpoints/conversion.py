"""Converts a checkpoint of any origin into another format, weights only."""

import math
import os

from bert_tf.checkpoints import huggingface, model_garden, tf1
from bert_tf.checkpoints.detection import open_checkpoint
from bert_tf.checkpoints.tensors import check_config
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_bytes
from bert_tf.tokenization.vocabulary import read_vocabulary

FORMATS = {"tf1": tf1, "model_garden": model_garden, "huggingface": huggingface}
VOCABULARY_NAME = "vocab.txt"


def convert(source, output, output_format, config=None, vocab_file=None):
    """Converts a checkpoint.

    Args:
      source: path, as `open_checkpoint` takes it.
      output: folder; files there of the names that are written are replaced.
      output_format: a key of FORMATS.
      config: BertConfig; None takes the one that lies with the checkpoint.
      vocab_file: vocab.txt to copy into `output`, or None.

    Returns:
      What was converted, in lines for a user to read.

    Raises:
      InputError: no such format or checkpoint, no config, or one of the three files is of another
        model.
    """
    if output_format not in FORMATS:
        raise InputError(f"`format`={output_format}: it must be one of {', '.join(FORMATS)}")
    checkpoint = open_checkpoint(source)
    config = config or checkpoint.config
    if config is None:
        raise InputError(f"`bert_config_file` is needed: there is no config beside {checkpoint.path}")
    check_config(checkpoint, config)
    if vocab_file:
        _check_vocabulary(vocab_file, config)

    writer = FORMATS[output_format]
    left_out = writer.write(output, checkpoint.tensors, config)
    if vocab_file:
        with new_file(os.path.join(output, VOCABULARY_NAME), "wb") as file:
            file.write(read_bytes(vocab_file))
    shapes = [tensor.shape for name, tensor in checkpoint.tensors.items() if name not in left_out]
    return [f"{checkpoint.path} ({checkpoint.kind}) -> {output} ({writer.KIND}): {len(shapes)} tensors, "
            f"{sum(map(math.prod, shapes)):,} parameters",
            *(f"  {note}" for note in _notes(output_format, config, left_out))]


def _check_vocabulary(vocab_file, config):
    """Raises InputError if a vocabulary has more entries than the model."""
    entries = len(read_vocabulary(vocab_file))
    if entries > config.vocab_size:
        raise InputError(f"`vocab_file`={vocab_file}: has {entries} entries, the model has {config.vocab_size}: it is "
                         "another model's vocabulary")


def _notes(output_format, config, left_out):
    """What a user should know about the files beyond their being there; one sentence each."""
    if left_out:
        yield f"not written, the format has no place for them: {', '.join(left_out)}"
    if config.hidden_act == "gelu_exact" and output_format != "huggingface":
        yield ("hidden_act is gelu_exact, the erf form: programs that read bert_config.json as the original does "
               "compute the tanh form")
