"""Directories of Python's file system and of TensorFlow's: ram://, also as an object store."""

import pytest
import tensorflow as tf

from bert_tf.files import remote
from tests.remote_folders import new_folder


@pytest.fixture(params=["local", "remote"])
def folder_path(request, tmp_path):
    """The path, a str, of a new directory of each file system.

    They are "local", and "remote" and "store" of a file system that only TensorFlow has.
    """
    if request.param == "store":
        return request.getfixturevalue("store")
    return str(tmp_path) if request.param == "local" else new_folder()


@pytest.fixture
def store(monkeypatch):
    """Path of a new directory that is treated as one of an object store."""
    monkeypatch.setattr(remote, "OBJECT_STORES", ("ram",))
    copy = tf.io.gfile.copy

    def copy_over(source, target, overwrite=False):
        if overwrite and tf.io.gfile.exists(target):
            tf.io.gfile.remove(target)  # ram:// would append
        copy(source, target)

    monkeypatch.setattr(tf.io.gfile, "copy", copy_over)
    return new_folder()
