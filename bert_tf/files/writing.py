"""Files and directories that appear under their names only when they are complete, local or remote.

If a file system can rename by moving, a file is written under another name (.partial) and renamed.
An object store (gs://) cannot, but shows an object only after its upload: there, a file is uploaded
under its name in one call. The old content exists until then.

Several files cannot appear at once. Old ones are removed first, and the file without which a model
is incomplete comes last: saved_model.pb, bert_model.ckpt.index, or model.safetensors.
"""

import contextlib
import io
import json
import os

from bert_tf.errors import InputError
from bert_tf.files.local import convert_write_errors
from bert_tf.files.locks import lock_output
from bert_tf.files.remote import at
from bert_tf.files.temporary import PARTIAL_SUFFIX


@contextlib.contextmanager
def new_file(path, mode="w", newline=None):
    """Opens a file that appears under `path` when the block ends without an error.

    It then replaces an old file of that name. After an error, such as Ctrl-C, the old file is
    unchanged. Two processes must not write to one path at a time.

    Args:
      path: Path of the file. Its directory must exist, except in an object store.
      mode: "w" for text in UTF-8, "wb" for bytes.
      newline: See Python's `open`. For text only.

    Raises:
      OSError: If `path` cannot be written, with the path. An error of the block itself is
        unchanged.
    """
    entry = at(path)
    with entry.new_file() as name:
        file = io.BufferedWriter(_UnfinishedFile(name, entry.path))
        if mode == "w":
            file = io.TextIOWrapper(file, encoding="utf-8", newline=newline)
        try:
            yield file
            file.close()
        except BaseException:
            with contextlib.suppress(OSError):  # this error is more informative than one of closing
                file.close()
            raise


def to_json(path, value, **options):
    """Formats a value as JSON, like json.dumps.

    Args:
      path: Path of the file that will contain the text, for errors.
      value: Value for json.dumps.
      **options: Options of json.dumps.

    Raises:
      InputError: If the value contains a number that is not finite, which JSON does not support.
    """
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError as error:
        raise InputError(
            f"{path}: cannot contain NaN or infinity; the model computes numbers that are not "
            "finite, so its weights are damaged or its precision is too low"
        ) from error


@contextlib.contextmanager
def new_folder(path):
    """Provides an empty local directory to fill in a context, then gives it the name `path`.

    After an error, nothing exists. A remote directory is uploaded file by file, subdirectories
    first: a reader must wait for the last file at its top, which is saved_model.pb in a SavedModel.

    Args:
      path: Path of the directory. It must not exist. For a local directory, the parent directory
        must exist.

    Raises:
      InputError: If another process writes to it.
      OSError: If `path` exists or cannot be written, with the path.
    """
    path = os.fsdecode(path).rstrip(os.sep) or os.sep
    entry = at(path)
    if entry.exists() or os.path.lexists(path):
        raise FileExistsError(f"{path}: already exists")
    with lock_output(None, path), entry.new_folder() as unfinished:
        yield unfinished


def new_files(folder):
    """Returns a context with an empty local directory for files that then move into `folder`.

    All of them move, or none. They overwrite files with the same names. After an error, `folder` is
    unchanged. Two processes must not write to one folder at a time. To a remote directory, files
    are uploaded in the order of their names, after all old ones are removed: the last one can
    describe the others. After an error in an upload, none of them exists.

    Args:
      folder: Path of the directory; created if it does not exist.

    Raises:
      OSError: If `folder` or a file in it cannot be written, with its path.
    """
    return at(os.fsdecode(folder).rstrip(os.sep) or os.sep).new_files()


def is_empty(folder):
    """Returns whether a directory has no files, except unfinished ones of a killed process.

    This includes a directory that does not exist.
    """
    return all(name.endswith(PARTIAL_SUFFIX) for name in at(folder).names_if_dir())


@contextlib.contextmanager
def folder_for(path):
    """Creates a directory for a context.

    After an error, removes the empty directories that it created.
    """
    created = at(path).make_dirs()
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for folder in created:
                os.rmdir(folder)
        raise


class _UnfinishedFile(io.FileIO):
    """A local file to write, unbuffered, with a subject in its errors."""

    def __init__(self, name, subject):
        self._subject = subject
        with convert_write_errors(subject):
            super().__init__(name, "w")

    def write(self, data):
        with convert_write_errors(self._subject):
            return super().write(data)

    def close(self):
        with convert_write_errors(self._subject):
            super().close()
