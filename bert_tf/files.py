"""Files that appear under their names only when they are whole, and reading them; local or remote.

A path is a str, bytes or os.PathLike. It may be of any file system that TensorFlow knows, such as gs://, where a
function does not say that it must be local. TensorFlow is imported for remote paths alone: processes that make
records start in a moment without it.
"""

import contextlib
import io
import json
import os
import shutil
import tempfile

from bert_tf.errors import InputError

PARTIAL_SUFFIX = ".partial"  # of a file or folder that is being written

_UNFINISHED_PREFIX = ".unfinished-"  # of the folder in which files wait until all of them are written
_REMOTE_BUFFER_BYTES = 1 << 20  # each write is a call into TensorFlow


def is_remote(path):
    """Whether a path is of a file system that TensorFlow knows, such as gs://, and Python does not."""
    return "://" in os.fsdecode(path)


def exists(path):
    """Whether there is a file or folder; OSError names a remote path that cannot be asked for."""
    return _ask(path, os.path.exists, "exists")


def is_dir(path):
    """Whether there is a folder; OSError names a remote path that cannot be asked for."""
    return _ask(path, os.path.isdir, "isdir")


@contextlib.contextmanager
def new_file(path, mode="w", newline=None):
    """Opens a file that appears under `path`, in place of one of that name, when the block ends without an error.

    After an error, Ctrl-C too, what was there before is there still. Two processes must not write one path at a time.

    Args:
      path: of the file; its folder must be there.
      mode: "w" for text in UTF-8, "wb" for bytes.
      newline: of text, as Python's `open` takes it.

    Raises:
      OSError: naming `path`, when it cannot be written. An error of the block itself stays what it is.
    """
    file = open_partial(path, mode, newline)
    try:
        yield file
        file.close()
        finish(path)
    except BaseException:
        with contextlib.suppress(OSError):  # the error that is on its way says more than one of closing
            file.close()
        discard(path)
        raise


def open_partial(path, mode="wb", newline=None):
    """Opens the partial file of `path`, which `finish` gives its name, or `discard` removes.

    Arguments and errors as new_file's; writing to the file and closing it give such errors too.
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode is {mode!r}: a new file is opened with 'w' or 'wb'")
    path = os.fsdecode(path)
    if is_remote(path):
        file = io.BufferedWriter(_RemoteFile(path), _REMOTE_BUFFER_BYTES)
    else:
        file = io.BufferedWriter(_LocalFile(path))
    return file if mode == "wb" else io.TextIOWrapper(file, encoding="utf-8", newline=newline)


def finish(path):
    """Gives the partial file of `path` its name, in place of a file that has it; OSError naming `path`."""
    path = os.fsdecode(path)
    with _write_errors_named(path):
        if is_remote(path):
            _tensorflow().io.gfile.rename(path + PARTIAL_SUFFIX, path, overwrite=True)
        else:
            os.replace(path + PARTIAL_SUFFIX, path)


def discard(path):
    """Removes the partial file of `path`, if there is one that can be removed.

    It raises nothing: what called for it is an error that is on its way, and the next writer replaces the file.
    """
    path = os.fsdecode(path)
    with contextlib.suppress(OSError), _write_errors_named(path):
        if is_remote(path):
            _tensorflow().io.gfile.remove(path + PARTIAL_SUFFIX)
        else:
            os.remove(path + PARTIAL_SUFFIX)


@contextlib.contextmanager
def new_folder(path):
    """A context that gives the name of a folder to make and fill; at its end it gets the name `path`.

    What a run that was killed left under that name is removed first; after an error there is nothing.

    Args:
      path: of the folder; local, and nothing may be there. The folder that it is in must be there.

    Raises:
      InputError: `path` is remote.
      OSError: naming `path`, when something is there, or it cannot be written.
    """
    path = _local_folder(path)
    partial = path + PARTIAL_SUFFIX
    if os.path.lexists(path):
        raise FileExistsError(f"{path}: exists")
    with _write_errors_named(path):
        _remove(partial)
    try:
        yield partial
        with _write_errors_named(path):
            os.rename(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            _remove(partial)
        raise


@contextlib.contextmanager
def new_files(folder):
    """A context that gives an empty folder to write files into; at its end they move into `folder`, all or none.

    Files of the same names there are replaced. After an error `folder` is as it was.

    Args:
      folder: local; made if missing.

    Raises:
      InputError: `folder` is remote.
      OSError: naming `folder`, or a file in it, when it cannot be written.
    """
    folder = _local_folder(folder)
    was_there = os.path.isdir(folder)
    with _write_errors_named(folder):
        os.makedirs(folder, exist_ok=True)
        # Inside, since what is beside a folder may be of another file system, where no rename leads.
        unfinished = tempfile.mkdtemp(prefix=_UNFINISHED_PREFIX, dir=folder)
    try:
        yield unfinished
        _move_all(unfinished, folder)
        was_there = True
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if not was_there:
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def read_bytes(path):
    """The content of a file; OSError names it when it cannot be read."""
    if not is_remote(path):
        with open(path, "rb") as file:
            return file.read()
    tensorflow = _tensorflow()
    try:
        with tensorflow.io.gfile.GFile(os.fsdecode(path), "rb") as file:
            return file.read()
    except tensorflow.errors.OpError as error:
        raise OSError(f"{os.fsdecode(path)}: cannot be read: {error.message or type(error).__name__}") from error


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


class _LocalFile(io.FileIO):
    """The partial file of a local path, unbuffered; its errors name the path."""

    def __init__(self, path):
        self._path = path
        with _write_errors_named(path):
            super().__init__(path + PARTIAL_SUFFIX, "w")

    def write(self, data):
        with _write_errors_named(self._path):
            return super().write(data)

    def close(self):
        with _write_errors_named(self._path):
            super().close()


class _RemoteFile(io.RawIOBase):
    """The partial file of a path of TensorFlow's file systems, unbuffered; its errors name the path."""

    def __init__(self, path):
        super().__init__()
        self._path = path
        self._file = None
        discard(path)  # of a run that was killed; not every file system empties a file that is opened again
        with _write_errors_named(path):
            self._file = _tensorflow().io.gfile.GFile(path + PARTIAL_SUFFIX, "wb")
            self._file.write(b"")  # until something is written, TensorFlow makes no file and sees no error

    def writable(self):
        return True

    def write(self, data):
        with _write_errors_named(self._path):
            self._file.write(bytes(data))
        return len(data)

    def close(self):
        if self.closed:
            return
        super().close()
        if self._file is not None:
            with _write_errors_named(self._path):
                self._file.close()


@contextlib.contextmanager
def _write_errors_named(path):
    """Gives errors of writing `path`, by Python or, where it is remote, by TensorFlow, its name: OSError."""
    errors = _tensorflow().errors.OpError if is_remote(path) else OSError
    try:
        yield
    except errors as error:
        if is_remote(path):
            reason = error.message or type(error).__name__
        elif error.strerror is None:  # an error that has been named
            raise
        else:
            reason = error.strerror
        raise OSError(f"{path}: cannot be written: {reason}") from error


def _ask(path, local, remote):
    """What `local`, or of a remote path TensorFlow's function named `remote`, says of a path."""
    if not is_remote(path):
        return local(path)
    tensorflow = _tensorflow()
    try:
        return getattr(tensorflow.io.gfile, remote)(os.fsdecode(path))
    except tensorflow.errors.OpError as error:
        raise OSError(f"{os.fsdecode(path)}: cannot be read: {error.message or type(error).__name__}") from error


def _local_folder(path):
    """The path of a local folder as a str without a separator at its end; InputError if it is remote."""
    path = os.fsdecode(path)
    if is_remote(path):
        raise InputError(f"{path}: must be a local folder; copy it from there")
    return path.rstrip(os.sep) or path


def _move_all(source, folder):
    """Moves the files of one folder into another, in place of those of the same names; all or none."""
    names = sorted(os.listdir(source))
    for name in names:
        if os.path.isdir(os.path.join(folder, name)):
            raise IsADirectoryError(f"{os.path.join(folder, name)}: cannot be written: Is a directory")
    replaced = tempfile.mkdtemp(dir=source)
    moved = []  # (from, to)
    try:
        with _write_errors_named(folder):
            # First all old files go, so that none is ever read together with a new one.
            for paths in (*((os.path.join(folder, name), os.path.join(replaced, name)) for name in names),
                          *((os.path.join(source, name), os.path.join(folder, name)) for name in names)):
                if os.path.lexists(paths[0]):
                    os.replace(*paths)
                    moved.append(paths)
    except BaseException:
        for before, after in reversed(moved):
            os.replace(after, before)
        raise


def _remove(path):
    """Removes a file, or a folder with what is in it, if it is there."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def _tensorflow():
    import tensorflow

    return tensorflow
