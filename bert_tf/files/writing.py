"""Files and folders that appear under their names only when they are whole, local or remote.

On a file system with a rename that is a move, a file is written under another name (.partial) and renamed. An object
store (gs://) has no such rename, and shows an object when its upload ends: there a file is collected in the local
folder of temporary files, and uploaded under its name in one call. Its old content is there until then.
"""

import contextlib
import io
import os
import shutil
import tempfile

from bert_tf.files import places, remote, temporary
from bert_tf.files.remote import is_object_store, is_remote

PARTIAL_SUFFIX = ".partial"  # of a file or folder that is being written

_UNFINISHED_PREFIX = ".unfinished-"  # of the folder in which files wait until all of them are written
_REMOTE_BUFFER_BYTES = 1 << 20  # each write is a call into TensorFlow


@contextlib.contextmanager
def new_file(path, mode="w", newline=None):
    """Opens a file that appears under `path`, in place of one of that name, when the block ends without an error.

    After an error, Ctrl-C too, what was there before is there still. Two processes must not write one path at a time.

    Args:
      path: of the file; its folder must be there, but for an object store's.
      mode: "w" for text in UTF-8, "wb" for bytes.
      newline: of text, as Python's `open` takes it.

    Raises:
      OSError: naming `path`, when it cannot be written. An error of the block itself stays what it is.
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode is {mode!r}: a new file is opened with 'w' or 'wb'")
    path = os.fsdecode(path)
    unfinished = (_Upload if is_object_store(path) else _RemotePartial if is_remote(path) else _LocalPartial)(path)
    file = io.BufferedWriter(unfinished, _REMOTE_BUFFER_BYTES if is_remote(path) else io.DEFAULT_BUFFER_SIZE)
    if mode == "w":
        file = io.TextIOWrapper(file, encoding="utf-8", newline=newline)
    try:
        yield file
        file.close()
        unfinished.finish()
    except BaseException:
        with contextlib.suppress(OSError):  # the error that is on its way says more than one of closing
            file.close()
        unfinished.discard()
        raise


@contextlib.contextmanager
def new_local_file(path):
    """A context that gives the name of a local file to write, for what writes no others; at its end it becomes `path`.

    Errors as new_file's.
    """
    path = os.fsdecode(path)
    if is_remote(path):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, os.path.basename(path))
            yield name
            _upload(name, path)
        return
    try:
        yield path + PARTIAL_SUFFIX
        with _write_errors_named(path):
            os.replace(path + PARTIAL_SUFFIX, path)
    except BaseException:
        discard(path)
        raise


def discard(path):
    """Removes what a process that was killed left half-written of `path`, if that can be removed.

    It raises nothing: what called for it is an error that is on its way, and the next writer replaces the file.
    """
    path = os.fsdecode(path)
    if not is_object_store(path):
        with contextlib.suppress(OSError):
            places.remove(path + PARTIAL_SUFFIX)


@contextlib.contextmanager
def new_folder(path):
    """A context that gives the name of a local folder to make and fill; at its end it gets the name `path`.

    What a run that was killed left under that name is removed first; after an error there is nothing. A remote folder
    is uploaded file by file, what is in folders of it first: a reader has to wait for the last file at its top, which
    of a SavedModel is saved_model.pb.

    Args:
      path: of the folder; nothing may be there. The local folder that it is in must be there.

    Raises:
      OSError: naming `path`, when something is there, or it cannot be written.
    """
    path = os.fsdecode(path).rstrip(os.sep) or os.sep
    if places.exists(path) or os.path.lexists(path):
        raise FileExistsError(f"{path}: exists")
    if is_remote(path):
        with tempfile.TemporaryDirectory() as folder:
            unfinished = os.path.join(folder, os.path.basename(path))
            yield unfinished
            _upload_all(unfinished, path)
        return
    partial = path + PARTIAL_SUFFIX
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
    """A context that gives an empty local folder to write files into; at its end they move into `folder`, all or none.

    Files of the same names there are replaced. After an error `folder` is as it was; what a process that was killed had
    begun is removed. Into a remote folder files are uploaded by name, once all old ones of these names are gone: what
    the last one tells of is whole. After an error in that, none of them is there.

    Args:
      folder: made if missing.

    Raises:
      OSError: naming `folder`, or a file in it, when it cannot be written.
    """
    folder = os.fsdecode(folder).rstrip(os.sep) or os.sep
    if is_remote(folder):
        with tempfile.TemporaryDirectory() as unfinished:
            yield unfinished
            _upload_all(unfinished, folder)
        return
    was_there = os.path.isdir(folder)
    with _write_errors_named(folder):
        os.makedirs(folder, exist_ok=True)
        # Inside, since what is beside a folder may be of another file system, where no rename leads.
        temporary.clear(folder, _UNFINISHED_PREFIX)
        unfinished, lock = temporary.make_locked(folder, _UNFINISHED_PREFIX)
        if unfinished is None:
            unfinished = tempfile.mkdtemp(prefix=_UNFINISHED_PREFIX, dir=folder)
    try:
        yield unfinished
        _move_all(unfinished, folder)
        was_there = True
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if lock is not None:
            os.close(lock)
        if not was_there:
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def is_empty(folder):
    """Whether a folder is missing or holds nothing but what a process that was killed had begun to write."""
    return not places.is_dir(folder) or all(
        name.endswith(PARTIAL_SUFFIX) or name.startswith(_UNFINISHED_PREFIX) for name in places.names_in(folder))


@contextlib.contextmanager
def folder_for(path):
    """A context for whose time a folder is there; one that it made is gone after an error if nothing is in it."""
    path = os.fsdecode(path)
    made = []
    if not is_remote(path):
        above = os.path.abspath(path)
        while not os.path.lexists(above):
            made.append(above)
            above = os.path.dirname(above)
    places.make_dirs(path)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for each in made:
                os.rmdir(each)
        raise


class _LocalPartial(io.FileIO):
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

    def finish(self):
        with _write_errors_named(self._path):
            os.replace(self._path + PARTIAL_SUFFIX, self._path)

    def discard(self):
        discard(self._path)


class _RemotePartial(remote.Writer):
    """The partial file of a path of a remote file system that renames, unbuffered; its errors name the path."""

    def __init__(self, path):
        super().__init__(path + PARTIAL_SUFFIX, path)

    def finish(self):
        remote.rename(self._path + PARTIAL_SUFFIX, self._path)

    def discard(self):
        discard(self._path)


class _Upload(io.RawIOBase):
    """What an object is to hold, in a local file without a name, of which a killed process leaves nothing.

    For Linux alone: TensorFlow copies files by their names, and only there /proc/self/fd has a name for an open one.
    """

    def __init__(self, path):
        super().__init__()
        self._path = path
        with self._errors_named():
            self._content = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115, closed by finish and discard

    def writable(self):
        return True

    def seekable(self):
        return True

    def write(self, data):
        with self._errors_named():
            return self._content.write(data)

    def seek(self, offset, whence=os.SEEK_SET):
        return self._content.seek(offset, whence)

    def tell(self):
        return self._content.tell()

    def finish(self):
        with self._content:
            _upload(f"/proc/self/fd/{self._content.fileno()}", self._path)

    def discard(self):
        self._content.close()

    def _errors_named(self):
        return _write_errors_named(f"{self._path}: its temporary file in {tempfile.gettempdir()}")


@contextlib.contextmanager
def _write_errors_named(path):
    """Gives errors of Python in writing `path` its name: OSError."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # an error that has been named
            raise
        raise OSError(f"{path}: cannot be written: {error.strerror}") from error


def _upload(name, path):
    """Makes a remote file of a local one."""
    if is_object_store(path):
        remote.copy_out(name, path)
        return
    discard(path)  # of a run that was killed; not every file system empties a file that is opened again
    try:
        remote.copy_out(name, path + PARTIAL_SUFFIX)
        remote.rename(path + PARTIAL_SUFFIX, path)
    except BaseException:
        discard(path)
        raise


def _upload_all(source, folder):
    """Uploads what is in a local folder, in place of files of the same names; after an error none of them is there."""
    names = [os.path.relpath(path, source) for path in places.files_below(source)]
    names.sort(key=lambda name: (os.sep not in name, name))
    targets = [f"{folder}/{name}" for name in names]
    for target in targets:  # all old files go, so that none is ever read together with a new one
        if places.is_file(target):
            remote.remove(target)
    try:
        for name, target in zip(names, targets, strict=True):
            remote.make_dirs(os.path.dirname(target))
            remote.copy_out(os.path.join(source, name), target)
    except BaseException:
        for target in targets:
            with contextlib.suppress(OSError):
                remote.remove(target)
        raise


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
