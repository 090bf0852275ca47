"""A lock for a single writer, which ends with its process, even if that is killed."""

import contextlib
import fcntl
import os

from bert_tf.errors import InputError
from bert_tf.files.local import convert_write_errors
from bert_tf.files.remote import is_remote

LOCKS = "/proc/locks"  # Process of each lock on Linux.


@contextlib.contextmanager
def lock_output(argument, path):
    """Prevents other processes of this machine from writing to a local output within a context.

    A directory itself is locked. For a file, or a directory that does not exist yet, .NAME.lock
    exists next to it until the end of the context. A leftover lock file of a killed process is
    harmless.

    Args:
      argument: Name of the flag that the path was given with, for the error. None if there is none.
      path: Path of a directory, or of a file or a new directory in an existing directory.

    Raises:
      InputError: If another process has locked it, or this process already has.
      OSError: If the lock file, next to the path that the error names, cannot be written.
    """
    if is_remote(path):
        yield
        return
    is_folder = os.path.isdir(path)
    if is_folder:
        lock = path
    else:
        lock = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.lock")
    with convert_write_errors(path):
        descriptor = os.open(lock, os.O_RDONLY | (0 if is_folder else os.O_CREAT), 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            subject = f"`{argument}`={path}" if argument else path
            raise InputError(
                f"{subject}: locked by {_holder(descriptor)}; wait until it finishes, or stop it"
            ) from None
        except OSError:  # a file system without locks
            pass
        try:
            yield
        finally:
            if not is_folder:
                with contextlib.suppress(OSError):
                    os.unlink(lock)
    finally:
        os.close(descriptor)


def _holder(descriptor):
    """Describes the process that has locked an open file."""
    inode = str(os.fstat(descriptor).st_ino)
    with contextlib.suppress(OSError), open(LOCKS, encoding="ascii") as file:
        for line in file:
            # The fields are "number: FLOCK ADVISORY WRITE process device:device:inode start end".
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
                return f"process {fields[4]}"
    return "another process"
