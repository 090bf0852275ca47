"""Queries paths, local or remote, and changes the directories that contain them."""

import collections
import os

from bert_tf.files.local import Local
from bert_tf.files.remote import Remote


def is_remote(path):
    """Returns whether a path belongs to a file system that TensorFlow supports and Python does not, such as gs://."""
    return "://" in os.fsdecode(path)


def to_system(path):
    """Returns a path, str, bytes, or os.PathLike, as `Local` or `Remote`."""
    return (Remote if is_remote(path) else Local)(os.fsdecode(path))


def is_object_store(path):
    """Returns whether a path belongs to a store of objects, such as gs://. See `Remote.is_store`."""
    return to_system(path).is_store


def exists(path):
    """Returns whether a file or directory exists; raises OSError if a bucket does not exist or cannot be read."""
    return to_system(path).stat() is not None


def is_file(path):
    """Returns whether a file exists; raises OSError like `exists`."""
    found = to_system(path).stat()
    return found is not None and found.is_file


def is_dir(path):
    """Returns whether a directory exists; raises OSError like `exists`."""
    found = to_system(path).stat()
    return found is not None and found.is_dir


def size(path):
    """Returns the number of bytes of a file."""
    return to_system(path).stat(required=True).size


def modified_ns(path):
    """Returns the time of the last write to a file, in nanoseconds since 1970; for a local file, in whole seconds."""
    return to_system(path).stat(required=True).modified_ns


def absolute(path):
    """Returns the canonical path of a file or directory: no links, no separator at the end."""
    return to_system(path).absolute()


def names_in(folder):
    """Returns the names of the files and directories in a directory, sorted; OSError if it does not exist."""
    return sorted(to_system(folder).names())


def files_below(folder):
    """Returns the sorted paths of all files in a directory and its subdirectories, without hidden ones.

    It does not enter local directories that are links. Raises OSError if a directory cannot be read.
    """
    return sorted(to_system(folder).files_below())


def folders_among(paths):
    """Returns the set of paths that are directories, with one request per directory of an object store."""
    by_parent = collections.defaultdict(list)
    for path in map(os.fsdecode, paths):
        by_parent[os.path.dirname(path)].append(path)
    return {path for inside in by_parent.values() for path in to_system(inside[0]).folders_among(inside)}


def matching(pattern):
    """Returns the sorted paths that match a glob pattern."""
    return sorted(to_system(pattern).matching())


def make_dirs(path):
    """Creates a directory and its parents unless they exist; object stores do not require it."""
    to_system(path).make_dirs()


def remove(path):
    """Removes a file."""
    to_system(path).remove()


def remove_tree(path):
    """Removes a directory with its contents."""
    to_system(path).remove_tree()


def check_output_name(path, is_folder=True):
    """Raises OSError for a remote name that cannot be written and found again. The name of a file can be a pattern."""
    to_system(path).check_output_name(is_folder)
