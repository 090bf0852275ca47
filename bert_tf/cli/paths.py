"""Paths that are given as arguments: a file that must be there, globs and folders that stand for files.

Like bert_tf.files, this module imports TensorFlow for remote paths alone.
"""

import contextlib
import fnmatch
import os
import pathlib
import re

from bert_tf import files
from bert_tf.errors import InputError

MANIFEST_SUFFIX = ".manifest.json"  # of what stands beside records and says what they were made of

# In names of directories in which TensorFlow looks for checkpoints by patterns, which cannot be escaped.
_PATTERN = re.compile(r"[\[\]\\*?]")

# Names of the files that make up a model, or a data set, in its folder.
_PARTS = re.compile(r"vocab\.txt|checkpoint|(bert_config|config|tokenizer|tokenizer_config|task|run)\.json|"
                    r"params\.yaml|.*\.(index|data-\d+-of-\d+|safetensors|safetensors\.index\.json|bin|tflite|pb)|"
                    r"(train|dev|test|msr_paraphrase|multinli|xnli).*\.(tsv|csv)")


def check_file(argument, path, or_folder=False):
    """Raises InputError naming `argument` unless `path` is a file that can be read, or a folder where one may be."""
    if not path:
        raise InputError("is required", argument)
    _check_name(argument, path)
    with errors_of(argument):
        is_folder = files.is_dir(path)
        if is_folder and not or_folder:
            raise InputError("is a directory, a file is needed", argument, path)
        if not (is_folder or files.exists(path)):
            raise InputError("no such file", argument, path)
    if is_folder or files.is_remote(path):
        return
    if not os.path.isfile(path):
        raise InputError("is no regular file", argument, path)
    if not os.access(path, os.R_OK):
        raise InputError("cannot be read", argument, path)


def check_folder(argument, path):
    """Raises InputError naming `argument` unless `path` is a folder."""
    if not path:
        raise InputError("is required", argument)
    _check_name(argument, path)
    with errors_of(argument):
        if not files.is_dir(path):
            raise InputError("no such folder", argument, path)


def check_checkpoint(argument, path):
    """Raises InputError naming `argument` unless `path` is a file, a folder, or the prefix of a checkpoint."""
    with errors_of(argument):
        if not (files.exists(path) or files.exists(f"{path}.index")):
            raise InputError("no such file or folder", argument, path)


def check_output_dir(argument, path):
    """Raises InputError naming `argument` unless `path` is a folder, or may become one."""
    if not path:
        raise InputError("is required", argument)
    _check_name(argument, path)
    if path.startswith("gs:/") and not files.is_remote(path):  # else a run would fill a local folder named gs:
        raise InputError(f"in a bucket it is gs://{path.removeprefix('gs:/')}", argument, path)
    with errors_of(argument):
        files.check_output_name(path)
        if files.exists(path) and not files.is_dir(path):
            raise InputError("is a file, a folder is needed", argument, path)


def check_run_folder(argument, path):
    """Raises InputError naming `argument` unless `path` is a directory, or may become one, for checkpoints of a run."""
    check_output_dir(argument, path)
    if found := _PATTERN.search(path):
        raise InputError(f"has {found[0]} in its name, which TensorFlow takes for a pattern when it looks for "
                         "checkpoints there; choose another name", argument, path)


def check_replaceable(argument, path):
    """Raises InputError naming `argument` for what a new file must not take the place of."""
    if files.is_remote(path) or not os.path.lexists(path):
        return
    if not os.path.exists(path):
        raise InputError(f"is a link to {os.readlink(path)}, which is not there", argument, path)
    if not os.path.isfile(path):
        raise InputError("is no regular file, and would be replaced by one", argument, path)


def check_output_name(argument, path):
    """Raises InputError naming `argument` for a remote name of a file that cannot be written to and found again."""
    with errors_of(argument):
        files.check_output_name(path, is_folder=False)


def check_output_file(argument, path):
    """Raises InputError naming `argument` unless `path` is a file, or may become one in a folder that is there."""
    if not path:
        raise InputError("is required", argument)
    _check_name(argument, path)
    folder = os.path.dirname(path)
    check_output_name(argument, path)
    with errors_of(argument):
        if files.is_dir(path):
            raise InputError("is a directory, a file is needed", argument, path)
        check_replaceable(argument, path)
        if not (files.is_object_store(path) or files.is_dir(folder or ".")):
            raise InputError(f"there is no folder {folder}: a file in a folder that exists is needed", argument, path)


def check_not_given(argument, path, given):
    """Raises InputError naming `argument` if the file to write is one of those that are given.

    Args:
      argument: name of the argument that `path` is of.
      path: of a file that will be written.
      given: dict of the name of another argument -> its path, a list of paths, or None. Of the folder or the prefix of
        a model, and of the folder of a data set, all files count that make it up.
    """
    for name, paths in given.items():
        for each in [paths] if isinstance(paths, str) else paths or ():
            if files.absolute(each) == files.absolute(path):
                raise InputError(f"is `{name}`, which would be lost", argument, path)
            if _is_part(path, each):
                raise InputError(f"is a file of `{name}`={each}, which would be lost", argument, path)


def check_not_replaced(argument, folder, written, given):
    """Raises InputError naming `argument` if a file that is given would be replaced by one written into a folder.

    Args:
      argument: name of the argument that `folder` is of.
      folder: that files will be written into.
      written: their names, regular expression.
      given: dict of the name of another argument -> the path of a file, or None.
    """
    for name, path in given.items():
        if path and files.absolute(os.path.dirname(path) or os.curdir) == files.absolute(folder) and re.fullmatch(
                written, os.path.basename(path)):
            raise InputError(f"holds `{name}`={path}, which would be replaced; choose another folder", argument, folder)


def check_apart(argument, folder, given):
    """Raises InputError naming `argument` if a folder to write into is that of a model that is given.

    Args:
      argument: name of the argument that `folder` is of.
      folder: that files will be written into.
      given: dict of the name of another argument -> a folder or a prefix, or None.
    """
    for name, path in given.items():
        if path and files.absolute(folder) == files.absolute(_folder_of(path)):
            raise InputError(f"is the folder of `{name}`; give another", argument, folder)


def check_not_found(argument, path, given, is_folder=False):
    """Raises InputError naming `argument` if an output lies where globs or folders of inputs look.

    The next run, which may be the one that goes on with this, would read it.

    Args:
      argument: name of the argument that `path` is of.
      path: of what will be written; it need not be there.
      given: dict of the name of another argument -> its comma-separated glob patterns and folders, or None.
      is_folder: whether it is a folder, of whose files none may be found.
    """
    written = os.path.join(path, "any") if is_folder else path
    for name, patterns in given.items():
        if any(_is_found(written, pattern) for pattern in filter(None, (patterns or "").split(","))):
            raise InputError(f"lies where `{name}`={patterns} looks: it would be read by the next run", argument, path)


def _is_found(path, pattern):
    """Whether a path is below the folder `pattern`, or it or a folder that it is in is matched by that glob."""
    if files.is_remote(path) != files.is_remote(pattern):
        return False
    if files.is_dir(pattern):
        return files.absolute(path).startswith(os.path.join(files.absolute(pattern), ""))
    whole, pattern = pathlib.PurePath(os.path.abspath(path)), os.path.abspath(pattern)
    if "**" in pattern:
        above, _, name = pattern.partition("**")
        return str(whole).startswith(above) and fnmatch.fnmatch(whole.name, name.rpartition("/")[2] or "*")
    return any(each.match(pattern) for each in (whole, *whole.parents))


def _folder_of(path):
    """The folder of a model: itself, or that which a prefix or a file is in."""
    return path if files.is_dir(path) else os.path.dirname(path) or os.curdir


def _is_part(path, whole):
    """Whether a path is below the folder that `whole`, a folder or a model's prefix, is of, and named as its parts."""
    if not _PARTS.fullmatch(os.path.basename(path)):
        return False
    has_parts = files.is_dir(whole) or files.exists(f"{whole}.index") or whole.endswith(".safetensors")
    return has_parts and files.absolute(path).startswith(os.path.join(files.absolute(_folder_of(whole)), ""))


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
        with errors_of(argument):
            matches = [path for path in _matching(argument, pattern) if path == pattern or _is_data(path)]
            are_folders = files.folders_among(matches)
        if not matches:
            raise InputError("no such file", argument, pattern)
        for path in matches:
            _check_name(argument, path)
            if path not in are_folders:
                paths.append(path)
                continue
            if not folders:
                raise InputError(f"is a directory, files are needed: {path}/* for all in it", argument, path)
            with errors_of(argument):
                inside = files_below(path)
            if not inside:
                raise InputError("a directory without files", argument, path)
            paths += inside
    if not paths:
        raise InputError("is required", argument)
    return list(dict.fromkeys(paths))


def files_below(folder):
    """All data files in a folder and its folders, sorted, without hidden ones; OSError if one cannot be read.

    Local folders that are links are not entered.
    """
    return [path for path in files.files_below(folder) if _is_data(path)]


def _check_name(argument, path):
    """Raises InputError for a name that is not UTF-8, which TensorFlow does not open."""
    try:
        os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("the name is not UTF-8; rename it", argument, repr(path)) from error


def _is_data(path):
    return not path.endswith((files.PARTIAL_SUFFIX, MANIFEST_SUFFIX))


def _matching(argument, pattern):
    """What a glob pattern matches, sorted; itself where there is a file of that name."""
    if not files.is_remote(pattern):
        return [pattern] if os.path.lexists(pattern) else files.matching(pattern)
    _check_name(argument, pattern)
    return [pattern] if files.exists(pattern) else files.matching(pattern)


@contextlib.contextmanager
def errors_of(argument):
    """Gives errors of remote files, which say what they are of and why, the name of the argument: InputError."""
    try:
        yield
    except OSError as error:
        if error.strerror is not None:  # Python's own, of a local file
            raise
        raise InputError(f"`{argument}`={error}") from error
