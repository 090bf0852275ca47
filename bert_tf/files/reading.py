"""Reading whole files, streams and JSON, local or remote."""

import contextlib
import io
import json
import os
import tempfile

from bert_tf.errors import InputError
from bert_tf.files import remote
from bert_tf.files.remote import is_remote

_BUFFER_BYTES = 1 << 20  # each read of a remote file is a call into TensorFlow


def open_bytes(path):
    """Opens a file to read bytes: a file object with seek and tell. Its errors are OSErrors that name it."""
    path = os.fsdecode(path)
    return io.BufferedReader(remote.Reader(path), _BUFFER_BYTES) if is_remote(path) else open(path, "rb")


@contextlib.contextmanager
def local_copy(path):
    """A context that gives the path of a local file of the same name and content: of a local file itself.

    For what can read local files alone, such as memory maps, which outlive the copy. Its disk space is that of
    temporary files (the environment variable TMPDIR).
    """
    path = os.fsdecode(path)
    if not is_remote(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, os.path.basename(path))
        remote.copy_in(path, local)
        yield local


def read_bytes(path):
    """The content of a file; OSError names it when it cannot be read."""
    with open_bytes(path) as file:
        content = file.read()
    if not content and is_remote(path):
        found = remote.stat(os.fsdecode(path))
        if found and found.is_directory:  # which the gs:// client reads as an empty file
            raise IsADirectoryError(f"{os.fsdecode(path)}: cannot be read: is a directory")
    return content


def read_text(path):
    """The text of a UTF-8 file, a byte-order mark left out; InputError names a file that is none."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = len(content) - len(error.object) + error.start + 1  # the decoder takes the mark away first
        raise InputError(f"{os.fsdecode(path)}: byte {number:,} is 0x{error.object[error.start]:02x}, which is not "
                         "UTF-8: save the file as UTF-8") from error


def read_json(path):
    """The value of a JSON file; InputError names a file that is none, or is nested too deeply to be read."""
    text = read_text(path)
    try:
        return json.loads(text)
    except ValueError as error:  # a JSONDecodeError, or that of an integer of more digits than Python converts
        raise InputError(f"{os.fsdecode(path)}: is not JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{os.fsdecode(path)}: its JSON is nested too deeply") from error


def read_json_object(path):
    """The dict of a JSON file that holds an object; InputError names a file that is none."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"{os.fsdecode(path)}: expected a JSON object, found {type(value).__name__}")
    return value
