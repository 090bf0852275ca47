"""Directories in memory (ram://), which only TensorFlow can access."""

import uuid

import tensorflow as tf

from bert_tf import files


def new_folder():
    """Creates an empty directory in memory; returns its path."""
    path = f"ram://{uuid.uuid4().hex}"
    tf.io.gfile.makedirs(path)
    return path


def put(path, value):
    """Writes a str or bytes to a file, and creates its directory, with bert_tf.files."""
    files.at(path.rpartition("/")[0]).make_dirs()
    with files.new_file(path, "wb") as file:
        file.write(value if isinstance(value, bytes) else value.encode())
