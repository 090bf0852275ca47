"""What is at a path, local or remote, and what a folder holds."""

import collections
import glob
import os
import re
import shutil

from bert_tf.files import remote
from bert_tf.files.remote import is_object_store, is_remote

# Of folders in which TensorFlow looks for checkpoints by patterns, which it cannot be told to take literally.
_NO_OUTPUT = re.compile(r"[\[\]\\*?]")


def exists(path):
    """Whether there is a file or folder; OSError where a bucket is not there or cannot be looked into."""
    path = os.fsdecode(path)
    return remote.stat(path) is not None if is_remote(path) else os.path.exists(path)


def is_file(path):
    """Whether there is a file; OSError as `exists`."""
    path = os.fsdecode(path)
    if not is_remote(path):
        return os.path.isfile(path)
    found = remote.stat(path)
    return found is not None and not found.is_directory


def is_dir(path):
    """Whether there is a folder; OSError as `exists`."""
    path = os.fsdecode(path)
    if not is_remote(path):
        return os.path.isdir(path)
    found = remote.stat(path)
    return found is not None and found.is_directory


def size(path):
    """Bytes of a file."""
    path = os.fsdecode(path)
    return _stat_remote(path).length if is_remote(path) else os.path.getsize(path)


def modified_ns(path):
    """When a file was last written, in nanoseconds since 1970; of a local one the whole second, as TensorFlow tells."""
    path = os.fsdecode(path)
    return _stat_remote(path).mtime_nsec if is_remote(path) else os.stat(path).st_mtime_ns // 10**9 * 10**9


def absolute(path):
    """The path by which a file or folder is told from others: links followed, no separator at the end."""
    path = os.fsdecode(path)
    return path.rstrip("/") if is_remote(path) else os.path.realpath(path)


def names_in(folder):
    """Names of the files and folders in a folder, sorted; OSError if there is none."""
    folder = os.fsdecode(folder)
    if not is_remote(folder):
        return sorted(os.listdir(folder))
    return [name.rstrip("/") for name in remote.children(folder)]


def files_below(folder):
    """Paths of all files in a folder and its folders, sorted, without hidden ones; OSError if one cannot be read.

    Local folders that are links are not entered.
    """
    folder = os.fsdecode(folder)
    return sorted(_remote_files_below(folder) if is_remote(folder) else _local_files_below(folder))


def folders_among(paths):
    """Those of some paths that are folders, a set; a bucket is asked once for each folder that they are in."""
    by_parent = collections.defaultdict(list)
    for path in map(os.fsdecode, paths):
        by_parent[os.path.dirname(path)].append(path)
    folders = set()
    for parent, of_parent in by_parent.items():
        if is_object_store(parent) and len(of_parent) > 1:
            inside = {f"{parent}/{name.rstrip('/')}" for name in remote.children(parent) if name.endswith("/")}
            folders.update(inside.intersection(of_parent))
        else:
            folders.update(filter(is_dir, of_parent))
    return folders


def matching(pattern):
    """The paths that a glob pattern matches, sorted."""
    return sorted(remote.matching(pattern) if is_remote(pattern) else glob.glob(pattern, recursive=True))


def make_dirs(path):
    """Makes a folder, and those that it is in, unless they are there; an object store needs none."""
    path = os.fsdecode(path)
    if is_remote(path):
        remote.make_dirs(path)
    else:
        os.makedirs(path, exist_ok=True)


def remove(path):
    """Removes a file."""
    path = os.fsdecode(path)
    (remote.remove if is_remote(path) else os.remove)(path)


def remove_tree(path):
    """Removes a folder with what is in it."""
    path = os.fsdecode(path)
    (remote.remove_tree if is_remote(path) else shutil.rmtree)(path)


def check_output_name(path, is_folder=True):
    """Raises OSError for a remote name that cannot be written to and found again; a file may be named as a pattern."""
    path = os.fsdecode(path)
    if not is_remote(path):
        return
    below = path.partition("://")[2].rstrip("/")
    if not is_object_store(path):  # of which the host may be left out: hdfs:///user/me
        below = below.removeprefix("/")
    if any(part in ("", ".", "..") for part in below.split("/")):
        raise OSError(f"{path}: each part between slashes must be a name: a bucket takes .. and // for names too")
    found = _NO_OUTPUT.search(below)
    if found and is_folder:
        raise OSError(f"{path}: has {found[0]} in its name, which TensorFlow takes for a pattern when it looks for "
                      "files there; choose another name")


def _stat_remote(path):
    found = remote.stat(path)
    if found is None:
        raise FileNotFoundError(f"{path}: no such file")
    return found


def _local_files_below(folder):
    def stop(error):
        raise error

    for parent, folders, names in os.walk(folder, onerror=stop):  # which would pass over them in silence
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(parent, name) for name in names if not name.startswith("."))


def _remote_files_below(folder):
    folder = folder.rstrip("/")
    for name in remote.children(folder):
        path = f"{folder}/{name.rstrip('/')}"
        if name.startswith("."):
            continue
        if name.endswith("/") or (not is_object_store(folder) and is_dir(path)):
            yield from _remote_files_below(path)
        else:
            yield path
