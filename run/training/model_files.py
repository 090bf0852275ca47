"""What lies beside the checkpoints of a run: the model's config and vocabulary, checked before it is written."""

import os
import shutil

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.files import new_file

CONFIG_FILE = "bert_config.json"
VOCAB_FILE = "vocab.txt"
BEST_FOLDER = "best"


def holds_run(folder):
    """Whether a folder holds checkpoints of a run."""
    return os.path.exists(os.path.join(folder, "checkpoint"))


def own_folder(checkpoint):
    """The folder of a checkpoint, a folder or a prefix; of OUTPUT_DIR/best, which holds weights alone, OUTPUT_DIR."""
    folder = os.path.abspath(checkpoint if os.path.isdir(checkpoint) else os.path.dirname(checkpoint))
    return os.path.dirname(folder) if os.path.basename(folder) == BEST_FOLDER else folder


def check_config(output_dir, config):
    """Raises InputError if `output_dir` holds the run of another model than `config`'s."""
    path = os.path.join(output_dir, CONFIG_FILE)
    if not (holds_run(output_dir) and os.path.exists(path)):
        return
    there = BertConfig.from_json_file(path).to_dict()
    for name, value in config.to_dict().items():
        if there[name] != value:
            raise InputError(f"`output_dir`={output_dir}: holds the run of another model, with {name} {there[name]}, "
                             f"and `bert_config_file` says {value}; choose another folder")


def keep_config(output_dir, config):
    """Writes the config into `output_dir`, unless a run there has it."""
    path = os.path.join(output_dir, CONFIG_FILE)
    if not (holds_run(output_dir) and os.path.exists(path)):
        with new_file(path) as file:
            file.write(config.to_json())


def check_vocabulary(output_dir, vocab_file):
    """Raises InputError if `output_dir` holds a run with another vocabulary."""
    kept = os.path.join(output_dir, VOCAB_FILE)
    if holds_run(output_dir) and os.path.exists(kept) and not _same_bytes(kept, vocab_file):
        raise InputError(f"`vocab_file`={vocab_file}: is not the vocabulary of the run in `output_dir`, {kept}")


def keep_vocabulary(output_dir, vocab_file):
    """Copies the vocabulary into `output_dir`, unless it is there."""
    kept = os.path.join(output_dir, VOCAB_FILE)
    if os.path.exists(kept) and _same_bytes(kept, vocab_file):
        return
    with open(vocab_file, "rb") as source, new_file(kept, "wb") as file:
        shutil.copyfileobj(source, file)


def _same_bytes(first, second):
    with open(first, "rb") as one, open(second, "rb") as other:
        return one.read() == other.read()
