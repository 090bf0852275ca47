"""Writes the directory of a model that this project trained."""

import re

from bert_tf import files
from bert_tf.checkpoints import original, task_metadata
from bert_tf.checkpoints.original import CHECKPOINT_NAME
from bert_tf.checkpoints.tokenizers import save_tokenizer
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TASK_FILE

# Weights that a reader of a directory could find instead of those of `write_model`.
_OTHER_WEIGHTS = re.compile(
    rf"checkpoint|(?!{re.escape(CHECKPOINT_NAME)}\.).*\.index|.*\.(safetensors|bin)"
)


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
        original.write(unfinished, tensors, config)
        save_tokenizer(unfinished, tokenizer)
        if metadata:
            task_metadata.keep(unfinished, metadata)
