"""Config and vocabulary next to the checkpoints of a run. All directories are checked before anything is written."""

import os
import re

from bert_tf import files
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_bytes
from bert_tf.model_folder.configs import ORIGINAL_NAME as CONFIG_FILE
from bert_tf.model_folder.tokenizers import VOCABULARY_NAME as VOCAB_FILE
from bert_tf.run_state import RUN_FILE, has_run

OF_A_RUN = re.compile(r"ckpt-\d+\.index")  # Files of a run that was killed before its first checkpoint was complete.
WEIGHTS = re.compile(r"checkpoint|.*\.(index|safetensors|safetensors\.index\.json|bin)")


def began(output_dir):
    """Returns whether a run was started in a directory, even if it has no checkpoint yet."""
    return files.exists(os.path.join(output_dir, RUN_FILE))


def check_place(output_dir, config, vocab_file=None):
    """Raises InputError if training in a directory would damage a model that is not a run of these scripts.

    Args:
      output_dir: Path of the run's directory, which need not exist.
      config, vocab_file: See `check`.
    """
    has_begun = began(output_dir)
    if not files.is_dir(output_dir) or (has_begun and has_run(output_dir)):
        return
    names = files.names_in(output_dir)
    weights = next((name for name in names if WEIGHTS.fullmatch(name)
                    and not (has_begun and OF_A_RUN.fullmatch(name))), None)
    if weights:
        raise InputError(f"`output_dir`={output_dir}: holds a model, {weights}, that no run of these scripts left "
                         "there; choose another directory")
    kept = {CONFIG_FILE: config.to_json().encode()} | ({VOCAB_FILE: read_bytes(vocab_file)} if vocab_file else {})
    for name, content in () if has_begun else kept.items():
        if name in names and read_bytes(os.path.join(output_dir, name)) != content:
            raise InputError(f"`output_dir`={output_dir}: holds another {name}, which would be replaced; choose "
                             "another folder")


def check(output_dir, config, vocab_file=None):
    """Raises InputError if the directory contains a run with a different config or vocabulary.

    Args:
      output_dir: Path of the directory.
      config: BertConfig.
      vocab_file: Path of the vocabulary, or None if none is saved.
    """
    if has_run(output_dir):
        _check_config(output_dir, config)
        _check_vocabulary(output_dir, vocab_file)


def keep(output_dir, config, vocab_file=None):
    """Writes config and vocabulary to `output_dir`, created if necessary, unless its run has them. See `check`."""
    files.make_dirs(output_dir)
    path = os.path.join(output_dir, CONFIG_FILE)
    if not (has_run(output_dir) and files.exists(path)):
        with new_file(path) as file:
            file.write(config.to_json())
    path = os.path.join(output_dir, VOCAB_FILE)
    if vocab_file and not (files.exists(path) and _same_bytes(path, vocab_file)):
        with new_file(path, "wb") as file:
            file.write(read_bytes(vocab_file))


def _check_config(output_dir, config):
    path = os.path.join(output_dir, CONFIG_FILE)
    if not files.exists(path):
        return
    there, now = BertConfig.from_json_file(path).to_dict(), config.to_dict()
    for name in now | there:
        if there.get(name) != now.get(name):
            raise InputError(f"`output_dir`={output_dir}: holds the run of another model, with {name} "
                             f"{there.get(name)}, and `bert_config_file` says {now.get(name)}; choose another "
                             "directory")


def _check_vocabulary(output_dir, vocab_file):
    kept = os.path.join(output_dir, VOCAB_FILE)
    if vocab_file and files.exists(kept) and not _same_bytes(kept, vocab_file):
        raise InputError(f"`vocab_file`={vocab_file}: is not the vocabulary of the run in `output_dir`, {kept}")


def _same_bytes(first, second):
    return read_bytes(first) == read_bytes(second)
