"""Paths that are given as arguments: a file that must be there, globs and folders that stand for files.

Like bert_tf.files, it imports TensorFlow for remote paths alone.
"""

import glob
import os

from bert_tf.errors import InputError
from bert_tf.files import PARTIAL_SUFFIX, is_remote

MANIFEST_SUFFIX = ".manifest.json"  # of what stands beside records and says what they were made of


def check_file(argument, path):
    """Raises InputError naming `argument` unless `path` is a file that can be read; a remote one is not looked at."""
    if not path:
        raise InputError(f"`{argument}` is needed")
    if is_remote(path):
        return
    if os.path.isdir(path):
        raise InputError(f"`{argument}`={path}: is a directory, a file is needed")
    if not os.path.exists(path):
        raise InputError(f"`{argument}`={path}: no such file")
    if not os.path.isfile(path):
        raise InputError(f"`{argument}`={path}: is no regular file")
    if not os.access(path, os.R_OK):
        raise InputError(f"`{argument}`={path}: cannot be read")
    _check_name(argument, path)


def check_output_dir(argument, path):
    """Raises InputError naming `argument` unless `path` is a local folder, or may become one."""
    if not path:
        raise InputError(f"`{argument}` is needed")
    if is_remote(path):
        raise InputError(f"`{argument}`={path}: must be a local folder; copy it from there")
    if os.path.exists(path) and not os.path.isdir(path):
        raise InputError(f"`{argument}`={path}: is a file, a folder is needed")
    _check_name(argument, path)


def expand_globs(argument, patterns, folders=False):
    """The files that comma-separated glob patterns match, each once, sorted within a pattern.

    A pattern that is the name of a file means that file, whatever characters it has apart from commas. Files that
    are being written (.partial) and manifests of records are no data: they must be named in full.

    Args:
      argument: name, for messages.
      patterns: its value, None or empty where it was not given.
      folders: whether a folder stands for all files in it and below, but for hidden ones; otherwise it is refused.

    Raises:
      InputError: naming `argument`, for no pattern, one that matches nothing, or a folder with no files or not allowed.
    """
    paths = []
    for pattern in filter(None, (patterns or "").split(",")):
        matches = sorted(path for path in _glob(argument, pattern) if path == pattern or _is_data(path))
        if not matches:
            raise InputError(f"`{argument}`={pattern}: no such file")
        for path in matches:
            _check_name(argument, path)
            if is_remote(path) or not os.path.isdir(path):
                paths.append(path)
                continue
            if not folders:
                raise InputError(f"`{argument}`={path}: is a directory, files are needed: {path}/* for all in it")
            inside = files_below(path)
            if not inside:
                raise InputError(f"`{argument}`={path}: a directory without files")
            paths += inside
    if not paths:
        raise InputError(f"`{argument}` is needed")
    return list(dict.fromkeys(paths))


def files_below(folder):
    """All data files in a local folder and its folders, sorted, without hidden ones; OSError if one cannot be read.

    Folders that are links are not entered.
    """
    def stop(error):
        raise error

    found = []
    for parent, folders, names in os.walk(folder, onerror=stop):  # which would pass over them in silence
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(parent, name) for name in names
                  if not name.startswith(".") and _is_data(name)]
    return sorted(found)


def _check_name(argument, path):
    """Raises InputError for a name that is not UTF-8, which TensorFlow does not open."""
    try:
        os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"`{argument}`={path!r}: the name is not UTF-8; rename it") from error


def _is_data(path):
    return not path.endswith((PARTIAL_SUFFIX, MANIFEST_SUFFIX))


def _glob(argument, pattern):
    if not is_remote(pattern):
        return [pattern] if os.path.lexists(pattern) else glob.glob(pattern, recursive=True)
    import tensorflow as tf

    try:
        return tf.io.gfile.glob(pattern)
    except tf.errors.OpError as error:  # no such bucket, no access, a file system that TensorFlow does not know
        raise InputError(f"`{argument}`={pattern}: cannot be read: {error.message or type(error).__name__}") from error
