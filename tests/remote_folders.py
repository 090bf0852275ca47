"""Folders that only TensorFlow knows (ram://), and files in them."""

import uuid

import tensorflow as tf

from bert_tf import files


def new_folder():
    """Makes an empty folder in memory; returns its path."""
    path = f"ram://{uuid.uuid4().hex}"
    tf.io.gfile.makedirs(path)
    return path


def put(path, value):
    """Writes a file, str or bytes, and the folders that it is in, through the project's own file layer."""
    files.make_dirs(path.rpartition("/")[0])
    with files.new_file(path, "wb") as file:
        file.write(value if isinstance(value, bytes) else value.encode())
