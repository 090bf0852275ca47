"""Files that appear under their final names only when they are whole, and TensorFlow's readers of them."""

import contextlib
import functools
import os
import shutil
import tempfile

import tensorflow as tf

from bert_tf.checkpoints.tensors import StoredTensor

CHECKPOINT_NAME = "bert_model.ckpt"  # the prefix in the original's published archives
CONFIG_NAME = "bert_config.json"


@contextlib.contextmanager
def new_files(folder):
    """A context that gives an empty folder to write into; at its end the files move into `folder`.

    Files of the same names there are replaced; `folder` is made if missing. After an error nothing has changed.
    """
    os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
    beside = tempfile.mkdtemp(prefix=".unfinished-", dir=os.path.dirname(os.path.abspath(folder)))
    try:
        yield beside
        os.makedirs(folder, exist_ok=True)
        names = sorted(os.listdir(beside))
        # First all old files go, so that none is ever read together with a new one.
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(folder, name))
        for name in names:
            os.replace(os.path.join(beside, name), os.path.join(folder, name))
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_config(folder, config):
    """Writes `bert_config.json` into a folder."""
    with open(os.path.join(folder, CONFIG_NAME), "w", encoding="utf-8") as file:
        file.write(config.to_json())


class TensorFlowFile:
    """The tensors of a TensorFlow checkpoint, whichever way they are named.

    Args:
      prefix: the common beginning of its files' names.

    Raises:
      ValueError: naming the prefix, here or when a tensor is read, for a damaged or incomplete file.
    """

    def __init__(self, prefix):
        self.prefix = prefix
        with self._explained():
            self._reader = tf.train.load_checkpoint(prefix)
        self._shapes = self._reader.get_variable_to_shape_map()

    def __contains__(self, key):
        return key in self._shapes

    def __iter__(self):
        return iter(self._shapes)

    def read(self, key):
        """The value of a tensor as a NumPy array, or bytes."""
        with self._explained():
            return self._reader.get_tensor(key)

    def tensor(self, key):
        """A tensor as StoredTensor."""
        return StoredTensor(list(self._shapes[key]), functools.partial(self.read, key))

    @contextlib.contextmanager
    def _explained(self):
        try:
            yield
        except (tf.errors.OpError, IndexError) as error:  # IndexError is what a truncated file gives
            reason = getattr(error, "message", str(error))
            raise ValueError(f"{self.prefix}: the checkpoint cannot be read: {reason}") from error
