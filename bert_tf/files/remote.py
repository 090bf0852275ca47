"""TensorFlow's file systems, such as gs://.

Each error is an OSError with the path and a readable reason. The client of a bucket is called as
little as possible: each call is a network request. Each file system has its own error texts; this
module recognizes those of TensorFlow's gs:// client.
"""

import collections
import contextlib
import io
import json
import os
import re
import tempfile

from bert_tf.errors import InputError
from bert_tf.files.local import AnyPath, Local, Status
from bert_tf.files.temporary import PARTIAL_SUFFIX

# Schemes of stores whose objects appear after their upload, and whose directories are only prefixes
# of names. A rename is a copy and a removal there, so files are uploaded under their final names.
OBJECT_STORES = ("gs", "s3", "az", "oss")

# TensorFlow searches for checkpoints with patterns, and cannot escape these.
_PATTERN = re.compile(r"[\[\]\\*?]")
_BUCKET = re.compile(r"gs://([^/]+)")
# For a name with a space, the client would retry for minutes.
_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_RESPONSE = re.compile(r"HTTP response code (\d+)(?: with body '(.*)')?", re.DOTALL)
_BUFFER_BYTES = 1 << 20  # each read of a remote file is a call into TensorFlow
_MAX_REASON = 300  # Maximum number of characters: a server can respond with an HTML page.


def is_remote(path):
    """Returns whether only TensorFlow, not Python, supports a path's file system, such as gs://."""
    return "://" in os.fsdecode(path)


def at(path):
    """Returns the `Local` or `Remote` object of a path: str, bytes, or os.PathLike."""
    return (Remote if is_remote(path) else Local)(os.fsdecode(path))


def check_no_pattern(path, argument=None):
    """Raises InputError if TensorFlow would take the path of a checkpoint for a pattern.

    The error names the argument with this path, if it is not None.
    """
    if found := _PATTERN.search(os.fsdecode(path)):
        subject = f"`{argument}`={path}" if argument else path
        raise InputError(
            f"{subject}: contains {found[0]}, which TensorFlow interprets as a pattern when it "
            "searches for checkpoints; choose another name"
        )


def folders_among(paths):
    """Returns the set of those paths that are directories.

    For an object store, this takes one request per directory that contains paths.
    """
    by_parent = collections.defaultdict(list)
    for path in map(os.fsdecode, paths):
        by_parent[os.path.dirname(path)].append(path)
    found = set()
    for parent, inside in by_parent.items():
        above = at(parent)
        if above.is_store and len(inside) > 1:
            found |= above.folders().intersection(inside)
        else:
            found.update(path for path in inside if at(path).is_dir())
    return found


class Remote(AnyPath):
    """A path of a file system that TensorFlow supports and Python does not, such as gs://.

    Its methods are described in `Local`. Files are collected in a local temporary directory, and
    uploaded when they are complete.
    """

    def __init__(self, path):
        super().__init__(path)
        self.is_store = path.partition("://")[0] in OBJECT_STORES

    def stat(self, required=False):
        """Returns the Status, or None if nothing exists; see `Local.stat`.

        Raises OSError if the bucket or the file system does not exist or is not accessible.
        TensorFlow's isdir and exists hide why a path is missing, and its makedirs retries for
        minutes if a bucket does not exist. This does not query the bucket, for which many users
        lack the permission storage.buckets.get.
        """
        path = self.path if self.path.endswith("://") else self.path.rstrip("/")
        try:
            with convert_errors(path, "read") as gfile:
                found = gfile.stat(path)
            return Status(
                not found.is_directory, found.is_directory, found.length, found.mtime_nsec
            )
        except FileNotFoundError as error:
            if _RESPONSE.search(error.__cause__.message or ""):
                raise  # the client's error for a missing object has no code: the bucket is missing
        if required:
            raise FileNotFoundError(f"{self.path}: does not exist")
        return None

    def absolute(self):
        """See AnyPath."""
        return self.path.rstrip("/")

    def names(self):
        """See AnyPath."""
        return sorted(name.rstrip("/") for name in self._children())

    def entries_if_dir(self):
        """See AnyPath."""
        if not self.is_dir():
            return None
        return {
            name.rstrip("/"): name.endswith("/")
            or (not self.is_store and Remote(f"{self.path.rstrip('/')}/{name}").is_dir())
            for name in self._children()
        }

    def files_below(self):
        """See AnyPath."""
        found = []
        for name in self._children():
            below = Remote(f"{self.path.rstrip('/')}/{name.rstrip('/')}")
            if name.startswith("."):
                continue
            if name.endswith("/") or (not self.is_store and below.is_dir()):
                found.extend(below.files_below())
            else:
                found.append(below.path)
        return sorted(found)

    def folders(self):
        """Returns the paths of the directories in this directory of an object store, a set.

        This takes one request.
        """
        return {
            f"{self.path}/{name.rstrip('/')}" for name in self._children() if name.endswith("/")
        }

    def _children(self):
        """Returns a set of the names in this directory.

        In an object store, the names of directories end in "/".
        """
        with convert_errors(self.path, "read") as gfile:
            return {name for name in gfile.listdir(self.path) if name.strip("/")}

    def matching(self):
        """See AnyPath."""
        with convert_errors(self.path, "read") as gfile:
            return sorted(gfile.glob(self.path))

    def make_dirs(self):
        """See AnyPath."""
        # The gs:// client would retry for minutes in a bucket that does not exist.
        if not self.is_store:
            with convert_errors(self.path, "written") as gfile:
                gfile.makedirs(self.path)
        return []

    def remove(self):
        """See AnyPath."""
        with convert_errors(self.path, "removed") as gfile:
            gfile.remove(self.path)

    def remove_tree(self):
        """See AnyPath."""
        with convert_errors(self.path, "removed") as gfile:
            gfile.rmtree(self.path)

    def open(self):
        """See AnyPath."""
        return io.BufferedReader(Reader(self.path), _BUFFER_BYTES)

    @contextlib.contextmanager
    def local_copy(self):
        """See AnyPath."""
        with tempfile.TemporaryDirectory() as folder:
            local = os.path.join(folder, os.path.basename(self.path))
            with convert_errors(self.path, "read") as gfile:
                gfile.copy(self.path, local, overwrite=True)
            yield local

    def discard(self):
        """See AnyPath."""
        if not self.is_store:
            with contextlib.suppress(OSError):
                Remote(self.path + PARTIAL_SUFFIX).remove()

    def upload(self, local):
        """Copies a local file to this path in one call.

        Ctrl-C cannot interrupt the call, and so cannot leave a partial file.
        """
        name = self.path if self.is_store else self.path + PARTIAL_SUFFIX
        self.discard()  # some file systems do not truncate a file that is opened again
        try:
            with convert_errors(self.path, "written") as gfile:
                gfile.copy(local, name, overwrite=True)
                if not self.is_store:
                    gfile.rename(name, self.path, overwrite=True)
        except BaseException:
            self.discard()
            raise

    @contextlib.contextmanager
    def new_local_file(self):
        """See AnyPath."""
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, os.path.basename(self.path))
            yield name
            self.upload(name)

    new_file = new_local_file

    @contextlib.contextmanager
    def new_files(self):
        """Provides an empty local directory for files in a context; see `writing.new_files`."""
        with tempfile.TemporaryDirectory() as unfinished:
            yield unfinished
            self._receive(unfinished)

    new_folder = new_files

    def _receive(self, source):
        """Uploads all files of a local directory, overwriting existing ones.

        After an error, none of them exists.
        """
        names = [os.path.relpath(path, source) for path in Local(source).files_below()]
        names.sort(key=lambda name: (os.sep not in name, name))
        targets = [Remote(f"{self.path}/{name}") for name in names]
        # Remove all old files, so that none is ever read together with a new one.
        for target in targets:
            if target.is_file():
                target.remove()
        try:
            for name, target in zip(names, targets, strict=True):
                Remote(os.path.dirname(target.path)).make_dirs()
                target.upload(os.path.join(source, name))
        except BaseException:
            for target in targets:
                with contextlib.suppress(OSError):
                    target.remove()
            raise


class Reader(io.RawIOBase):
    """A remote file to read, with seek and tell; its errors contain the path."""

    def __init__(self, path):
        super().__init__()
        self.name = path
        with convert_errors(path, "read") as gfile:
            self._file = gfile.GFile(path, "rb")
            self._size = self._file.size()  # opening does not raise errors

    def readable(self):
        """See io.RawIOBase."""
        return True

    def seekable(self):
        """See io.RawIOBase."""
        return True

    def readinto(self, buffer):
        """See io.RawIOBase."""
        with convert_errors(self.name, "read"):
            data = self._file.read(min(len(buffer), self._size - self._file.tell()))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset, whence=os.SEEK_SET):
        """See io.RawIOBase."""
        with convert_errors(self.name, "read"):
            base = {os.SEEK_SET: 0, os.SEEK_CUR: self._file.tell(), os.SEEK_END: self._size}[whence]
            self._file.seek(base + offset)
            return self._file.tell()

    def close(self):
        """See io.RawIOBase."""
        if not self.closed:
            super().close()
            with contextlib.suppress(AttributeError):  # it could not be opened
                self._file.close()


@contextlib.contextmanager
def convert_errors(path, done):
    """Provides `tf.io.gfile` in a context, and converts its errors to OSErrors.

    Their messages are "PATH: cannot be DONE: WHY".
    """
    bucket = _BUCKET.match(path)
    if bucket and not _BUCKET_NAME.fullmatch(bucket[1]):
        raise OSError(
            f"{path}: {bucket[1]!r} is not a bucket name; use only lowercase letters, digits, - _ ."
        )
    import tensorflow

    errors = tensorflow.errors
    try:
        yield tensorflow.io.gfile
    except errors.OpError as error:
        error_class = {
            errors.NotFoundError: FileNotFoundError,
            errors.PermissionDeniedError: PermissionError,
        }.get(type(error), OSError)
        raise error_class(f"{path}: cannot be {done}: {_reason(error)}") from error


def _reason(error):
    """Returns the reason for TensorFlow's error in one line, which can be a server's message."""
    reason = " ".join((error.message or "").split()) or type(error).__name__
    if response := _RESPONSE.search(error.message or ""):
        with contextlib.suppress(TypeError, ValueError, KeyError):  # not a JSON response
            reason = f"HTTP {response[1]}: {json.loads(response[2])['error']['message']}"
        if response[1] == "401":
            reason += (
                "; run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS"
            )
    return reason[:_MAX_REASON]
