"""Folders of Python's file system and of TensorFlow's: ram://, which renames, and ram:// taken for an object store."""

import pytest
import tensorflow as tf

from bert_tf.files import remote
from tests.remote_folders import new_folder


@pytest.fixture(params=["local", "remote"])
def folder(request, tmp_path):
    """A new folder of Python's file system, or of one that only TensorFlow knows: its path as str."""
    return str(tmp_path) if request.param == "local" else new_folder()


@pytest.fixture
def store(monkeypatch):
    """A new folder of what is taken for an object store."""
    monkeypatch.setattr(remote, "OBJECT_STORES", ("ram",))
    copy = tf.io.gfile.copy

    def copy_over(source, target, overwrite=False):
        if overwrite and tf.io.gfile.exists(target):
            tf.io.gfile.remove(target)  # ram:// would append
        copy(source, target)

    monkeypatch.setattr(tf.io.gfile, "copy", copy_over)
    return new_folder()
