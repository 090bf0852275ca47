"""TensorFlow's file systems, such as gs://: each call's error an OSError that names the path and says why in words.

A bucket's client is asked as little as will do: each question is a request over the network. What it was asked for
is known in different words by each file system; the texts recognised here are those of TensorFlow's gs:// client.
"""

import contextlib
import io
import json
import os
import re

# Schemes of stores whose objects appear when their upload ends, and in which a folder is but a part of names. A rename
# is a copy and a removal there, so that files are uploaded under their final names.
OBJECT_STORES = ("gs", "s3", "az", "oss")

_BUCKET = re.compile(r"gs://([^/]*)")
_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")  # the client would ask for minutes for one with a space
_HTTP_CODE = re.compile(r"HTTP response code (\d+)(?: with body '(.*)')?", re.DOTALL)
_CONNECTION = re.compile(r"libcurl code \d+ meaning '(.*?)', error details: (.*?)(?: when \w+ .*)?$")
_LONGEST_REASON = 300  # characters: a server may answer with a page of HTML


def is_remote(path):
    """Whether a path is of a file system that TensorFlow knows, such as gs://, and Python does not."""
    return "://" in os.fsdecode(path)


def is_object_store(path):
    """Whether a path is of a store of objects, as gs://, where folders need not be made and rename is no move."""
    return is_remote(path) and os.fsdecode(path).partition("://")[0] in OBJECT_STORES


def stat(path):
    """What TensorFlow knows of a file or folder: an object with length and is_directory; None if there is none.

    Raises:
      OSError: there is no such bucket, no access to it, no such file system.
    """
    tensorflow = _tensorflow()
    path = path if path.endswith("://") else path.rstrip("/")
    with errors_named(path, "read"):
        try:
            found = tensorflow.io.gfile.stat(path)
            return found if not found.is_directory or _is_folder(path) else None
        except tensorflow.errors.NotFoundError as error:
            if _http_code(error):
                raise  # of an object that is not there the client speaks without a code: this is the bucket
            return None


def _is_folder(path):
    """Whether what TensorFlow takes for a folder is one: ram:// takes the beginning of any name for one."""
    parent, _, name = path.partition("://")[2].rpartition("/")
    if not path.startswith("ram://") or not parent:
        return True
    gfile = _tensorflow().io.gfile
    return name in gfile.listdir(f"ram://{parent}") or bool(gfile.glob(f"{path}/*"))


def children(folder):
    """Names in a folder, sorted; those of folders, in an object store, end in "/"."""
    with errors_named(folder, "read"):
        return sorted({name for name in _tensorflow().io.gfile.listdir(folder) if name.strip("/")})


def matching(pattern):
    """The paths that a glob pattern matches."""
    with errors_named(pattern, "read"):
        return _tensorflow().io.gfile.glob(pattern)


def make_dirs(path):
    """Makes a folder and those that it is in, where the file system has any."""
    if not is_object_store(path):  # the gs:// client would try for minutes in a bucket that is not there
        with errors_named(path, "written"):
            _tensorflow().io.gfile.makedirs(path)


def remove(path):
    """Removes a file."""
    with errors_named(path, "removed"):
        _tensorflow().io.gfile.remove(path)


def remove_tree(path):
    """Removes a folder with what is in it."""
    with errors_named(path, "removed"):
        _tensorflow().io.gfile.rmtree(path)


def rename(source, path):
    """Gives a file another name, in place of a file that has it."""
    with errors_named(path, "written"):
        _tensorflow().io.gfile.rename(source, path, overwrite=True)


def copy_in(path, local):
    """Copies a remote file to a local path."""
    with errors_named(path, "read"):
        _tensorflow().io.gfile.copy(path, local, overwrite=True)


def copy_out(local, path):
    """Copies a local file to a remote path, in one call: Ctrl-C cannot end it half-way, which would leave a part."""
    with errors_named(path, "written"):
        _tensorflow().io.gfile.copy(local, path, overwrite=True)


class Reader(io.RawIOBase):
    """A remote file to read, with seek and tell; its errors name it."""

    def __init__(self, path):
        super().__init__()
        self.name = path
        with errors_named(path, "read"):
            self._file = _tensorflow().io.gfile.GFile(path, "rb")
            self._size = self._file.size()  # there is no error before something is asked

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        with errors_named(self.name, "read"):
            data = self._file.read(min(len(buffer), self._size - self._file.tell()))
        buffer[:len(data)] = data
        return len(data)

    def readall(self):
        with errors_named(self.name, "read"):
            return self._file.read()

    def seek(self, offset, whence=os.SEEK_SET):
        with errors_named(self.name, "read"):
            base = {os.SEEK_SET: 0, os.SEEK_CUR: self._file.tell(), os.SEEK_END: self._size}[whence]
            self._file.seek(base + offset)
            return self._file.tell()

    def tell(self):
        with errors_named(self.name, "read"):
            return self._file.tell()

    def close(self):
        if not self.closed:
            super().close()
            with contextlib.suppress(AttributeError):  # it could not be opened
                self._file.close()


class Writer(io.RawIOBase):
    """A remote file to write; its errors name `path`, which it may be a part of. Not for object stores.

    Args:
      name: of the file; one of that name is removed, since not every file system empties it.
      path: what errors name.
    """

    def __init__(self, name, path):
        super().__init__()
        self._path = path
        self._file = None
        with contextlib.suppress(OSError):
            remove(name)
        with errors_named(path, "written"):
            self._file = _tensorflow().io.gfile.GFile(name, "wb")
            self._file.write(b"")  # until something is written, TensorFlow makes no file and sees no error

    def writable(self):
        return True

    def write(self, data):
        with errors_named(self._path, "written"):
            self._file.write(bytes(data))
        return len(data)

    def close(self):
        if self.closed:
            return
        super().close()
        if self._file is not None:
            with errors_named(self._path, "written"):
                self._file.close()


@contextlib.contextmanager
def errors_named(path, done):
    """Turns TensorFlow's errors into OSErrors, "PATH: cannot be DONE: WHY"; of what is not there FileNotFoundErrors."""
    bucket = _BUCKET.match(path)
    if bucket and bucket[1] and not _BUCKET_NAME.fullmatch(bucket[1]):
        raise OSError(f"{path}: {bucket[1]!r} is no name of a bucket: lower-case letters, digits, - _ . are allowed")
    errors = _tensorflow().errors
    try:
        yield
    except errors.OpError as error:
        kind = {errors.NotFoundError: FileNotFoundError, errors.PermissionDeniedError: PermissionError}.get(
            type(error), OSError)
        raise kind(f"{path}: cannot be {done}: {_reason(path, error)}") from error


def _reason(path, error):
    """Why TensorFlow could not do something with a path, in a line."""
    message = " ".join((error.message or "").split()) or type(error).__name__
    code = _http_code(error)
    said = _said_by_server(error)
    if code == 401:
        return (f"no credentials ({said or 'HTTP 401'}): gcloud auth application-default login makes some, or "
                "GOOGLE_APPLICATION_CREDENTIALS names a file of them")
    if code == 403:
        return f"no permission ({said or 'HTTP 403'})"
    bucket = _BUCKET.match(path)
    if code == 404 and bucket:
        return f"there is no bucket {bucket[1]}"
    connection = _CONNECTION.search(message)
    if connection:
        message = connection[2] or connection[1]
    return (f"HTTP {code}: {said}" if code and said else message)[:_LONGEST_REASON]


def _http_code(error):
    """The code that a server answered with, int; None where TensorFlow's error tells of none."""
    found = _HTTP_CODE.search(error.message or "")
    return int(found[1]) if found else None


def _said_by_server(error):
    """The message in the JSON that a server answered with; "" without one."""
    body = _HTTP_CODE.search(error.message or "")
    try:
        return json.loads(body[2])["error"]["message"]
    except (TypeError, ValueError, KeyError):
        return ""


def _tensorflow():
    import tensorflow

    return tensorflow
