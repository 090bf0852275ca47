"""Files that appear under their name only when they are whole: written under another one, then renamed.

Paths may be any that TensorFlow knows (gs://...); it is imported for remote ones only.
"""

import contextlib
import os

from data_prep.command_line import PARTIAL_SUFFIX, is_remote


@contextlib.contextmanager
def written(path, mode="w", newline=None):
    """Opens a local file, text in UTF-8, that appears under `path` when the block ends; an error leaves none."""
    try:
        with open(path + PARTIAL_SUFFIX, mode, encoding=None if "b" in mode else "utf-8", newline=newline) as file:
            yield file
    except BaseException:
        remove(path)
        raise
    finish(path)


def open_to_write(path):
    """Opens the partial file of `path`, for bytes."""
    if is_remote(path):
        import tensorflow as tf

        return tf.io.gfile.GFile(path + PARTIAL_SUFFIX, "wb")
    return open(path + PARTIAL_SUFFIX, "wb")


def finish(path):
    """Gives the partial file of `path` its name."""
    if is_remote(path):
        import tensorflow as tf

        tf.io.gfile.rename(path + PARTIAL_SUFFIX, path, overwrite=True)
    else:
        os.replace(path + PARTIAL_SUFFIX, path)


def remove(path):
    """Removes the partial file of `path`, if there is one."""
    if is_remote(path):
        import tensorflow as tf

        if tf.io.gfile.exists(path + PARTIAL_SUFFIX):
            tf.io.gfile.remove(path + PARTIAL_SUFFIX)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path + PARTIAL_SUFFIX)
