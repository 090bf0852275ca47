"""Folders of a process for unfinished and temporary files, which the next process clears where this one was killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile

PARTIAL_SUFFIX = ".partial"  # of a file or folder that is being written
UNFINISHED_PREFIX = ".unfinished-"  # of the folder in which files wait until all of them are written
PREFIX = "bert_tf_temporary_"
_UNLOCKED_PREFIX = ".unlocked-"  # of a folder that has no lock yet, so that nobody clears it


@contextlib.contextmanager
def own_temporary_folder():
    """A context in which Python's temporary files go into a folder of this process, which is gone after it.

    It lies in the folder of temporary files that there is, and is locked as long as the process lives. First those
    folders are removed that processes of this user left there which were killed. Where none can be made, files go where
    they went before.
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
    """Makes a folder in the folder `above` that is this process's until it closes the lock, or ends in whatever way.

    Returns:
      Path of the folder, whose name begins with `prefix`, and file descriptor of the lock; (None, None) where there can
      be none.
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
    """Removes the folders of this user that `make_locked` made there and whose processes are gone."""
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
