"""Directories of the original BERT: bert_config.json, vocab.txt, and bert_model.ckpt.

TensorFlow is imported when weights are read or written.
"""

import os
import re

from bert_tf import files
from bert_tf.checkpoints.origin import Casing, Origin, open_tensorflow_file
from bert_tf.checkpoints.tensors import Checkpoint
from bert_tf.checkpoints.training_run import find_latest_checkpoint
from bert_tf.config import BertConfig
from bert_tf.files import new_files
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME, find_published_casing

FORMAT_NAME = "TF1 checkpoint"
BERT_CONFIG_NAME = "bert_config.json"
CHECKPOINT_NAME = "bert_model.ckpt"  # The prefix in the original's published archives.
OPTIMIZER_SUFFIXES = ("/adam_m", "/adam_v")  # Slots of the original's AdamWeightDecayOptimizer.
GLOBAL_STEP = "global_step"
# The ends of the files of a TensorFlow checkpoint.
_FILE_ENDING = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")


class Original(Origin):
    """The original BERT, whose file names this project's scripts use too."""

    vocabulary_names = (VOCABULARY_NAME,)

    def find_config(self, directory, folder):
        """Returns the path of bert_config.json."""
        return folder.join(BERT_CONFIG_NAME) if folder.exists(BERT_CONFIG_NAME) else None

    def read_config(self, directory, path):
        """Reads a JSON file that no other origin, all of which come first, has recognized."""
        return BertConfig.from_json_file(path)

    def read_casings(self, directory):
        """Yields the casing in the name of a published directory."""
        name, do_lower_case = find_published_casing(directory.path)
        yield Casing(do_lower_case, None, name)

    def find_weights(self, directory):
        """Returns the prefix of any TensorFlow checkpoint; in a training run, the latest one."""
        folder = directory.folder
        if directory.name is not None:
            path = _FILE_ENDING.sub("", directory.path)
            return path if folder.exists(f"{os.path.basename(path)}.index") else None
        return find_tensorflow_checkpoint(folder)

    def list_weight_files(self, directory, path):
        """Returns the index and the data files of the checkpoint."""
        return list_tensorflow_files(path)

    def read_weights(self, directory, path):
        """Opens a checkpoint of the original or of `write`, without optimizer slots."""
        file = directory.read(open_tensorflow_file, path)
        if file.variable_names:
            return None
        tensors = {
            name: file.tensor(name)
            for name in file
            if name != GLOBAL_STEP and not name.endswith(OPTIMIZER_SUFFIXES)
        }
        return Checkpoint(file.prefix, FORMAT_NAME, tensors)

    def describe_weights(self, directory, path):
        """Returns the name of the first variable."""
        names = directory.read(open_tensorflow_file, path).variable_names.values()
        return f"its first variable is {min(names)}"


ORIGINAL = Original()


def find_tensorflow_checkpoint(folder):
    """Returns the prefix of the TensorFlow checkpoint in a Folder; None if there is none.

    Raises InputError if the file `checkpoint` is corrupted.
    """
    latest = find_latest_checkpoint(folder)
    if latest is None and folder.exists(f"{CHECKPOINT_NAME}.index"):
        return folder.join(CHECKPOINT_NAME)
    return latest


def list_tensorflow_files(prefix):
    """Returns the files of a TensorFlow checkpoint, a list of str."""
    folder, name = os.path.split(prefix)
    names = files.at(folder or os.curdir).names()
    return [os.path.join(folder, each) for each in names if each.startswith(f"{name}.")]


def write(folder, tensors, config):
    """Writes `bert_model.ckpt` and `bert_config.json`, as in the original's archives.

    The checkpoint has no optimizer slots.

    `tf.train.load_checkpoint` and the Saver of TensorFlow 1 can read it.

    Args:
      folder: Output directory; created if it does not exist. Existing files with these names are
        overwritten.
      tensors: Dict of canonical name to StoredTensor. All are in memory at the same time, once.
      config: BertConfig of the model.

    Returns:
      Tuple of str. Sorted names of tensors that the format does not support: empty.
    """
    from bert_tf.checkpoints.tensorflow_file import write_tensors

    with new_files(folder) as unfinished:
        write_tensors(os.path.join(unfinished, CHECKPOINT_NAME), tensors)
        write_config(unfinished, config)
    return ()


def write_config(folder, config):
    """Writes `bert_config.json` to a directory."""
    with open(os.path.join(folder, BERT_CONFIG_NAME), "w", encoding="utf-8") as file:
        file.write(config.to_json())
