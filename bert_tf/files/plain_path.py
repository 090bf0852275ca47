"""Paths that TensorFlow does not interpret as patterns when it reads a checkpoint."""

import os
import re
import shutil
import tempfile
import weakref

from bert_tf.files.remote import is_remote

PATTERN = re.compile(r"[\[\]\\*?]")  # TensorFlow cannot escape these characters.


class PlainPath:
    """A path without the characters of patterns.

    Attributes:
      path: str. The path itself, or a symbolic link to it, which exists as long as this object.
    """

    def __init__(self, path):
        """Args: path: str. Path of a directory, or prefix of the files of a checkpoint."""
        self.path = path
        if is_remote(path) or not PATTERN.search(path):
            return
        folder, name = os.path.split(os.path.abspath(path))
        links = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, links, ignore_errors=True)
        self.path = os.path.join(links, "model")
        for each in os.listdir(folder) if os.path.isdir(folder) else ():
            if each == name or each.startswith(f"{name}."):
                os.symlink(os.path.join(folder, each), self.path + each.removeprefix(name))
