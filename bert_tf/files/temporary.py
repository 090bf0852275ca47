"""The temporary files of a process, which a later process removes if this one was killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile

PARTIAL_SUFFIX = ".partial"  # Suffix of a file or directory that is being written.
_PREFIX = "bert_tf_temporary_"
# Prefix of a directory without a lock yet, so that no process removes it.
_UNLOCKED_PREFIX = ".unlocked-"


@contextlib.contextmanager
def use_temporary_directory():
    """Makes Python put temporary files into a directory of this process within a context.

    The directory is in the current directory for temporary files, locked as long as the process
    lives, and removed after the context. First, directories that killed processes of this user left
    there are removed. If no directory can be created, nothing changes.
    """
    before = tempfile.tempdir
    folder = None
    lock = None
    with contextlib.suppress(OSError):
        above = tempfile.gettempdir()
        _remove_unlocked(above)
        folder, lock = _make_locked(above)
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


def _make_locked(above):
    """Creates a directory in `above` that is locked until this process closes the lock or ends.

    Returns:
      Path of the directory, and file descriptor of the lock; raises OSError if one of them cannot
      be created.
    """
    unlocked = tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX, dir=above)
    lock = os.open(unlocked, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder = os.path.join(
            above, _PREFIX + os.path.basename(unlocked).removeprefix(_UNLOCKED_PREFIX)
        )
        os.rename(unlocked, folder)
    except OSError:  # a file system without locks
        os.close(lock)
        os.rmdir(unlocked)
        raise
    return folder, lock


def _remove_unlocked(above):
    """Removes this user's directories from `_make_locked` in `above` whose processes have ended."""
    with os.scandir(above) as entries:
        left = [
            entry.path
            for entry in entries
            if entry.name.startswith(_PREFIX)
            and entry.is_dir(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_uid == os.getuid()
        ]
    for path in left:
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
