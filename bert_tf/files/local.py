"""Paths of Python's file system, and what they have in common with remote ones."""

import contextlib
import glob
import os
import shutil
import stat
import tempfile
import typing

from bert_tf.files.temporary import PARTIAL_SUFFIX


class Status(typing.NamedTuple):
    """Kind of a path, size in bytes, and time of the last write, in nanoseconds since 1970."""

    is_file: bool
    is_dir: bool
    size: int
    modified_ns: int


class AnyPath:
    """A path, which need not exist: `Local` or `Remote`, which `bert_tf.files.at` chooses.

    Errors are OSErrors that name the path.

    Attributes:
      path: str.
      is_store: bool. Whether the file system is an object store, such as gs://: directories do not
        have to be created, objects appear after their upload, and a rename is a copy and a removal.
    """

    is_store = False

    def __init__(self, path):
        self.path = path

    def exists(self):
        """Returns whether it exists.

        Raises OSError if a bucket does not exist or cannot be read.
        """
        return self.stat() is not None

    def is_file(self):
        """Returns whether it is a file; raises OSError like `exists`."""
        found = self.stat()
        return found is not None and found.is_file

    def is_dir(self):
        """Returns whether it is a directory; raises OSError like `exists`."""
        found = self.stat()
        return found is not None and found.is_dir

    def size(self):
        """Returns the number of bytes of the file."""
        return self.stat(required=True).size

    def modified_ns(self):
        """Returns the time of the last write to the file, in nanoseconds since 1970.

        For local files, it is a number of whole seconds.
        """
        return self.stat(required=True).modified_ns

    def names_if_dir(self):
        """Returns `names()`, or an empty list if it is not a directory."""
        return self.names() if self.is_dir() else []

    def remove_any(self):
        """Removes a file, or a directory with its contents."""
        if self.is_dir():
            self.remove_tree()
        else:
            self.remove()


class Local(AnyPath):
    """A path of Python's file system. `Remote` has the same methods."""

    def stat(self, required=False):
        """Returns the Status, or None if nothing exists.

        If `required`, raises FileNotFoundError instead.
        """
        try:
            found = os.stat(self.path)
        except (OSError, ValueError):
            if required:
                raise
            return None
        modified_ns = found.st_mtime_ns // 10**9 * 10**9  # in whole seconds, like TensorFlow
        return Status(
            stat.S_ISREG(found.st_mode), stat.S_ISDIR(found.st_mode), found.st_size, modified_ns
        )

    def absolute(self):
        """Returns the canonical path of a file or directory: no links, no separator at the end."""
        return os.path.realpath(self.path)

    def names(self):
        """Returns the sorted names of the files and directories in the directory.

        Raises OSError if it does not exist.
        """
        return sorted(os.listdir(self.path))

    def entries_if_dir(self):
        """Returns a dict of the names in the directory -> whether each is a directory.

        Broken links are omitted. None if it is not a directory. Raises PermissionError
        if it cannot be read.
        """
        try:
            with os.scandir(self.path) as entries:
                return {
                    entry.name: entry.is_dir()
                    for entry in entries
                    if not entry.is_symlink() or os.path.exists(entry.path)
                }
        except PermissionError:
            raise
        except (OSError, ValueError):
            return None

    def files_below(self):
        """Returns the sorted paths of all files below the directory, without hidden ones.

        Does not enter local directories that are links. Raises OSError if a directory cannot be
        read.
        """

        # By default, os.walk ignores errors.
        def stop(error):
            raise error

        found = []
        for parent, folders, names in os.walk(self.path, onerror=stop):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found.extend(os.path.join(parent, name) for name in names if not name.startswith("."))
        return sorted(found)

    def matching(self):
        """Returns the sorted paths that match the path, a glob pattern."""
        return sorted(glob.glob(self.path, recursive=True))

    def make_dirs(self):
        """Creates the directory and its parents unless they exist; object stores do not require it.

        Returns:
          Paths of the local directories that it created, innermost first.
        """
        created = []
        above = os.path.abspath(self.path)
        while not os.path.lexists(above):
            created.append(above)
            above = os.path.dirname(above)
        os.makedirs(self.path, exist_ok=True)
        return created

    def remove(self):
        """Removes the file."""
        os.remove(self.path)

    def remove_tree(self):
        """Removes the directory with its contents."""
        shutil.rmtree(self.path)

    def open(self):
        """Opens the file to read bytes: a file object with seek and tell.

        Its OSErrors contain the path.
        """
        return open(self.path, "rb")

    def local_copy(self):
        """Returns a context with the path of a local copy of the file with the same name.

        For code that can only read local files, for example with memory maps, which outlive the
        copy. Copies are temporary files (environment variable TMPDIR). A local file is not copied.
        """
        return contextlib.nullcontext(self.path)

    def discard(self):
        """Removes the unfinished part of the file that a killed process left, if it can be removed.

        It raises nothing: an error caused the call, and the next writer replaces the file.
        """
        with contextlib.suppress(OSError):
            os.remove(self.path + PARTIAL_SUFFIX)

    @contextlib.contextmanager
    def new_local_file(self):
        """Provides the name of a local file to write in a context.

        The local file then becomes the file. For code that cannot write to an open file. Raises the
        errors of `writing.new_file`.
        """
        try:
            yield self.path + PARTIAL_SUFFIX
            with convert_write_errors(self.path):
                os.replace(self.path + PARTIAL_SUFFIX, self.path)
        except BaseException:
            self.discard()
            raise

    new_file = new_local_file

    @contextlib.contextmanager
    def new_folder(self):
        """Provides an empty local directory to fill in a context; see `writing.new_folder`."""
        partial = self.path + PARTIAL_SUFFIX
        try:
            _make_empty(partial, self.path)
            with self.new_local_file():
                yield partial
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    @contextlib.contextmanager
    def new_files(self):
        """Provides an empty local directory for files in a context; see `writing.new_files`."""
        existed = os.path.isdir(self.path)
        # Inside the directory, since another one can be on another file system, from which files
        # cannot be renamed.
        unfinished = os.path.join(self.path, PARTIAL_SUFFIX)
        try:
            _make_empty(unfinished, self.path)
            yield unfinished
            self._receive(unfinished)
            existed = True
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
            if not existed:
                with contextlib.suppress(OSError):
                    os.rmdir(self.path)

    def _receive(self, source):
        """Moves all files of a directory to this one, overwriting existing ones.

        After an error, none is moved.
        """
        names = sorted(os.listdir(source))
        for name in names:
            if os.path.isdir(os.path.join(self.path, name)):
                raise IsADirectoryError(
                    f"{os.path.join(self.path, name)}: cannot be written: Is a directory"
                )
        replaced = tempfile.mkdtemp(dir=source)
        moved = []  # (from, to)
        try:
            with convert_write_errors(self.path):
                # Removes all old files first, so that none is ever read together with a new one.
                for from_folder, to_folder in ((self.path, replaced), (source, self.path)):
                    for name in names:
                        before = os.path.join(from_folder, name)
                        after = os.path.join(to_folder, name)
                        if os.path.lexists(before):
                            os.replace(before, after)
                            moved.append((before, after))
        except BaseException:
            for before, after in reversed(moved):
                os.replace(after, before)
            raise


@contextlib.contextmanager
def convert_write_errors(subject):
    """Adds a subject, such as a path, to Python's OSErrors in writing it."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # an error that already has it
            raise
        raise OSError(f"{subject}: cannot be written: {error.strerror}") from error


def _make_empty(folder, subject):
    """Creates a local directory, and first removes one that a killed process left.

    For `subject`, see `convert_write_errors`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with convert_write_errors(subject):
        os.makedirs(folder)
