"""The folder of a process for temporary files, which the next process clears where this one was killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile

PREFIX = "bert_tf_temporary_"
_UNLOCKED_PREFIX = ".bert_tf_temporary_"  # of a folder that has no lock yet, so that nobody clears it


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
        _clear(above)
    folder, lock = _make(above) if above else (None, None)
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


def _make(above):
    """The path of a new folder, locked, and the file descriptor of the lock; (None, None) where it cannot be made."""
    try:
        unlocked = tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX, dir=above)
        lock = os.open(unlocked, os.O_RDONLY)
    except OSError:
        return None, None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder = os.path.join(above, PREFIX + os.path.basename(unlocked).removeprefix(_UNLOCKED_PREFIX))
        os.rename(unlocked, folder)
    except OSError:  # a file system without locks
        os.close(lock)
        os.rmdir(unlocked)
        return None, None
    return folder, lock


def _clear(above):
    """Removes the folders of this user whose processes are gone."""
    with os.scandir(above) as entries:
        left = [entry.path for entry in entries
                if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_uid == os.getuid()]
    for path in left:
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
