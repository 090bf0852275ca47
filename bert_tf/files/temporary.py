"""Directories for a process's unfinished and temporary files, which later processes remove if it was killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile

PARTIAL_SUFFIX = ".partial"  # Suffix of a file or directory that is being written.
UNFINISHED_PREFIX = ".unfinished-"  # Prefix of the directory that contains files until all of them are written.
PREFIX = "bert_tf_temporary_"
_UNLOCKED_PREFIX = ".unlocked-"  # Prefix of a directory without a lock yet, so that no process removes it.


@contextlib.contextmanager
def use_temporary_directory():
    """Makes Python put temporary files into a directory of this process within a context, and removes it afterward.

    It is in the current directory for temporary files, and locked as long as the process lives. First, directories that
    killed processes of this user left there are removed. If no directory can be created, nothing changes.
    """
    above, before = None, tempfile.tempdir
    with contextlib.suppress(OSError):
        above = tempfile.gettempdir()
        clear(above, PREFIX)
    folder, lock = make_locked(above, PREFIX) if above else (None, None)
    if folder is None:
        yield
        return
    tempfile.tempdir = folder
    try:
        yield
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def make_locked(above, prefix):
    """Creates a directory in `above` that belongs to this process until it closes the lock or ends in any way.

    Returns:
      Path of the directory, whose name begins with `prefix`, and file descriptor of the lock; (None, None) if it or the
      lock cannot be created.
    """
    try:
        unlocked = tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX, dir=above)
        lock = os.open(unlocked, os.O_RDONLY)
    except OSError:
        return None, None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder = os.path.join(above, prefix + os.path.basename(unlocked).removeprefix(_UNLOCKED_PREFIX))
        os.rename(unlocked, folder)
    except OSError:  # a file system without locks
        os.close(lock)
        os.rmdir(unlocked)
        return None, None
    return folder, lock


def clear(above, prefix):
    """Removes directories of this user that `make_locked` created there and whose processes have ended."""
    with os.scandir(above) as entries:
        left = [entry.path for entry in entries
                if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_uid == os.getuid()]
    for path in left:
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
