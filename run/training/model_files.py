"""Config and vocabulary next to the checkpoints of a run.

All directories are checked before anything is written.
"""

import os
import re

from bert_tf import files
from bert_tf.checkpoints.original import BERT_CONFIG_NAME
from bert_tf.checkpoints.tokenizers import is_same_vocabulary, save_tokenizer, to_saved_files
from bert_tf.checkpoints.training_run import RUN_FILE, has_run
from bert_tf.config import LATER_DEFAULTS, BertConfig
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_bytes
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME, get_source

# Left by a run that was killed while it saved its first checkpoint.
RUN_CHECKPOINT = re.compile(r"ckpt-\d+\.index")
WEIGHTS = re.compile(r"checkpoint|.*\.(index|safetensors|safetensors\.index\.json|bin)")


def has_started(output_dir):
    """Returns whether a run was started in a directory, even if it has no checkpoint yet."""
    return files.at(os.path.join(output_dir, RUN_FILE)).exists()


def check_directory(output_dir, config, tokenizer):
    """Raises InputError if training in a directory would damage a model.

    A run of these scripts may be resumed.

    Args:
      output_dir: Path of the run's directory, which need not exist.
      config, tokenizer: See `check_run_files`.
    """
    has_begun = has_started(output_dir)
    entry = files.at(output_dir)
    if not entry.is_dir() or (has_begun and has_run(output_dir)):
        return
    names = entry.names()
    weights = next(
        (
            name
            for name in names
            if WEIGHTS.fullmatch(name) and not (has_begun and RUN_CHECKPOINT.fullmatch(name))
        ),
        None,
    )
    if weights:
        raise InputError(
            f"contains a model, {weights}, that is not from a run of these scripts; choose "
            "another directory",
            "output_dir",
            output_dir,
        )
    run_files = {BERT_CONFIG_NAME: config.to_json().encode()} | to_saved_files(tokenizer)
    for name, content in () if has_begun else run_files.items():
        if name in names and read_bytes(os.path.join(output_dir, name)) != content:
            raise InputError(
                f"would overwrite another {name}; choose another directory",
                "output_dir",
                output_dir,
            )


def check_run_files(output_dir, config, tokenizer):
    """Raises InputError if the directory contains a run with a different config or vocabulary.

    Args:
      output_dir: Path of the directory.
      config: BertConfig.
      tokenizer: bert_tf.checkpoints.TokenizerFiles to save.
    """
    if has_run(output_dir):
        _check_config(output_dir, config)
        _check_vocabulary(output_dir, tokenizer.vocab_file)


def save_run_files(output_dir, config, tokenizer):
    """Writes config, vocabulary, and casing to a directory, unless its run has them.

    The directory is created if necessary.

    See `check_run_files` for the arguments.
    """
    files.at(output_dir).make_dirs()
    path = os.path.join(output_dir, BERT_CONFIG_NAME)
    if not (has_run(output_dir) and files.at(path).exists()):
        with new_file(path) as file:
            file.write(config.to_json())
    save_tokenizer(output_dir, tokenizer)


def _check_config(output_dir, config):
    path = os.path.join(output_dir, BERT_CONFIG_NAME)
    if not files.at(path).exists():
        return
    existing = BertConfig.from_json_file(path).to_dict()
    current = config.to_dict()
    for name in current | existing:
        old, new = (values.get(name, LATER_DEFAULTS.get(name)) for values in (existing, current))
        if old != new:
            raise InputError(
                f"contains a run of another model, with {name} {old}, but `bert_config_file` has "
                f"{new}; choose another directory",
                "output_dir",
                output_dir,
            )


def _check_vocabulary(output_dir, vocab_file):
    existing = os.path.join(output_dir, VOCABULARY_NAME)
    if vocab_file and files.at(existing).exists() and not is_same_vocabulary(existing, vocab_file):
        raise InputError(
            f"differs from the vocabulary of the run in `output_dir`, {existing}",
            "vocab_file",
            get_source(vocab_file),
        )
