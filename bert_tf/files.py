"""Files that appear under their names only when they are whole, and reading them; local or remote.

A path may be of any file system that TensorFlow knows, such as gs://. TensorFlow is imported for remote paths alone:
processes that make records start in a moment without it.
"""

import contextlib
import json
import os
import shutil
import tempfile

from bert_tf.errors import InputError

PARTIAL_SUFFIX = ".partial"  # of a file or folder that is being written


def is_remote(path):
    """Whether a path is of a file system that TensorFlow knows, such as gs://, and Python does not."""
    return "://" in str(path)


@contextlib.contextmanager
def new_file(path, mode="w", newline=None):
    """Opens a file, text in UTF-8, that appears under `path` when the block ends; after an error there is none.

    Raises:
      OSError: naming `path`, when it cannot be written.
    """
    path = os.fspath(path)
    with write_errors_named(path):
        file = open_partial(path, mode, newline)
    try:
        with write_errors_named(path):
            with file:
                yield file
            finish(path)
    except BaseException:
        discard(path)
        raise


def open_partial(path, mode="wb", newline=None):
    """Opens the partial file of `path`, which `finish` gives its name, or `discard` removes."""
    if is_remote(path):
        import tensorflow as tf

        return tf.io.gfile.GFile(path + PARTIAL_SUFFIX, mode)
    return open(path + PARTIAL_SUFFIX, mode, encoding=None if "b" in mode else "utf-8", newline=newline)


def finish(path):
    """Gives the partial file or folder of `path` its name, in place of a file that has it."""
    if is_remote(path):
        import tensorflow as tf

        tf.io.gfile.rename(path + PARTIAL_SUFFIX, path, overwrite=True)
    else:
        os.replace(path + PARTIAL_SUFFIX, path)


def discard(path):
    """Removes the partial file of `path`, if there is one."""
    if is_remote(path):
        import tensorflow as tf

        if tf.io.gfile.exists(path + PARTIAL_SUFFIX):
            tf.io.gfile.remove(path + PARTIAL_SUFFIX)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path + PARTIAL_SUFFIX)


@contextlib.contextmanager
def write_errors_named(path):
    """Gives errors of writing `path`, by Python or by TensorFlow, its name: OSError. Others pass."""
    try:
        yield
    except Exception as error:
        # What the system said: Python's error has it in `strerror`, TensorFlow's, of a remote file, in `message`.
        reason = getattr(error, "message" if is_remote(path) else "strerror", None)
        of_another = getattr(error, "filename", None) not in (None, path, path + PARTIAL_SUFFIX)
        if reason is None or of_another:
            raise
        raise OSError(f"{path}: cannot be written: {reason}") from error


@contextlib.contextmanager
def new_folder(path):
    """A context that gives the name of a folder to make and fill; at its end it gets the name `path`, which is free.

    What a run that was killed left under that name is removed first; after an error there is nothing.
    """
    partial = path + PARTIAL_SUFFIX
    shutil.rmtree(partial, ignore_errors=True)
    try:
        yield partial
        os.rename(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextlib.contextmanager
def new_files(folder):
    """A context that gives an empty folder to write into; at its end the files move into `folder`, all or none.

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


def read_bytes(path):
    """The content of a file; OSError names it when it cannot be read."""
    if not is_remote(path):
        with open(path, "rb") as file:
            return file.read()
    import tensorflow as tf

    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            return file.read()
    except tf.errors.OpError as error:
        raise OSError(f"{path}: cannot be read: {error.message}") from error


def read_text(path):
    """The text of a UTF-8 file, a byte-order mark left out; InputError names a file that is none."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start + 1:,} is 0x{error.object[error.start]:02x}, which is not UTF-8: "
                         "save the file as UTF-8") from error


def read_json(path):
    """The value of a JSON file; InputError names a file that is none, or is nested too deeply to be read."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: its JSON is nested too deeply") from error


def read_json_object(path):
    """The dict of a JSON file that holds an object; InputError names a file that is none."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value
