"""Checks paths in arguments: existing files, and globs and directories that stand for files.

Like bert_tf.files, this module imports TensorFlow only for remote paths.
"""

import os
import pathlib
import re

from bert_tf import files
from bert_tf.errors import InputError

# Suffixes of the descriptions of records, next to them.
RUN_SUFFIX = ".run.json"
FINISHED_SUFFIX = ".shard.json"
FINISHED_MARK = "_SUCCESS"  # Name of the file that Hadoop and Spark add to a complete output.

# File names of a model, or a data set, in its directory.
_PARTS = re.compile(
    r"vocab\.txt|checkpoint|(bert_config|config|tokenizer|tokenizer_config|task|run)\.json|"
    r"params\.yaml|.*\.(index|data-\d+-of-\d+|safetensors|safetensors\.index\.json|bin|tflite|onnx|xml|pb)|"
    r"(train|dev|test|msr_paraphrase|multinli|xnli).*\.(tsv|csv)"
)


def check_file(argument, path, or_folder=False):
    """Raises InputError about `argument` unless `path` is a file or, if allowed, a directory."""
    if not path:
        raise InputError("is required", argument)
    entry = files.at(path)
    is_folder = entry.is_dir()
    if is_folder and not or_folder:
        raise InputError("must be a file, but is a directory", argument, path)
    if not (is_folder or entry.exists()):
        raise InputError("does not exist", argument, path)
    if not is_folder:
        _check_regular(argument, path)


def check_folder(argument, path):
    """Raises InputError about `argument` unless `path` is a directory."""
    entry = files.at(path)
    if not entry.is_dir():
        raise InputError(
            "must be a directory, but is a file" if entry.exists() else "does not exist",
            argument,
            path,
        )


def check_output_dir(argument, path):
    """Raises InputError about `argument` unless `path` is a directory, or can be created as one."""
    entry = files.at(path)
    if entry.exists() and not entry.is_dir():
        raise InputError("must be a directory, but is a file", argument, path)


def check_run_folder(argument, path):
    """Raises InputError about `argument` unless `path` can be the directory of a run.

    It must be a directory, or must be possible to create as one, and must not look like a glob
    pattern, because TensorFlow takes such a path of a checkpoint for a pattern.
    """
    check_output_dir(argument, path)
    files.check_no_pattern(path, argument)


def check_replaceable(argument, path):
    """Raises InputError about `argument` if a new file must not replace `path`."""
    if files.is_remote(path) or not os.path.lexists(path):
        return
    if not os.path.exists(path):
        raise InputError(
            f"is a symbolic link to {os.readlink(path)}, which does not exist", argument, path
        )
    if not os.path.isfile(path):
        raise InputError("is not a regular file; choose another path", argument, path)


def check_output_file(argument, path):
    """Raises InputError about `argument` unless a file can be written at `path`.

    `path` must be a file, or a new name in an existing directory.
    """
    folder = os.path.dirname(path)
    entry = files.at(path)
    if entry.is_dir():
        raise InputError("must be a file, but is a directory", argument, path)
    check_replaceable(argument, path)
    if not (entry.is_store or files.at(folder or ".").is_dir()):
        raise InputError(
            f"the directory {folder} does not exist; create it, or choose another path",
            argument,
            path,
        )


def check_not_overwritten(argument, path, inputs):
    """Raises InputError about `argument` if the output is one of the explicit inputs.

    Args:
      argument: Name of the argument with `path`.
      path: Path to write.
      inputs: Dict of another argument's name -> its path, a tuple of paths, or None. For the
        directory or prefix of a model, and the directory of a data set, this includes all of their
        files.
    """
    for name, paths in inputs.items():
        for source in paths if isinstance(paths, tuple) else filter(None, [paths]):
            if files.at(source).absolute() == files.at(path).absolute():
                raise InputError(f"would overwrite `{name}`; choose another path", argument, path)
            if _is_part(path, source):
                raise InputError(
                    f"would overwrite a file of `{name}`={source}; choose another path",
                    argument,
                    path,
                )


def check_files_not_overwritten(argument, folder, written, inputs):
    """Raises InputError about `argument` if files written to a directory would replace an input.

    Args:
      argument: Name of the argument with `folder`.
      folder: Directory to write files to.
      written: Regular expression of the names of these files.
      inputs: Dict of another argument's name -> explicit path of a file, or None.
    """
    for name, path in inputs.items():
        if (
            path
            and re.fullmatch(written, os.path.basename(path))
            and (
                files.at(os.path.dirname(path) or os.curdir).absolute()
                == files.at(folder).absolute()
            )
        ):
            raise InputError(
                f"would overwrite `{name}`={path}; choose another directory", argument, folder
            )


def check_not_read(argument, path, inputs, is_folder=False):
    """Raises InputError about `argument` if globs or directories of inputs would find an output.

    Otherwise, the next run, which can be one that resumes this one, would read it.

    Args:
      argument: Name of the argument with `path`.
      path: Path to write; it does not have to exist.
      inputs: Dict of another argument's name -> its comma-separated glob patterns and directories,
        or None.
      is_folder: Whether `path` is a directory. Then, this applies to all files in it.
    """
    written = os.path.join(path, "any") if is_folder else path
    for name, patterns in inputs.items():
        if any(
            _is_found(written, pattern) for pattern in filter(None, (patterns or "").split(","))
        ):
            raise InputError(
                f"would be read by the next run as `{name}`={patterns}; choose another path",
                argument,
                path,
            )


def _is_found(path, pattern):
    """Returns whether a pattern would find a path.

    A directory finds all paths below it. A glob finds the paths that it matches, and all paths
    below a directory that it matches.
    """
    if files.is_remote(path) != files.is_remote(pattern):
        return False
    if files.at(pattern).is_dir():
        return _is_below(path, pattern)
    full_path = pathlib.PurePath(os.path.abspath(path))
    return any(part.match(os.path.abspath(pattern)) for part in (full_path, *full_path.parents))


def _is_below(path, folder):
    return files.at(path).absolute().startswith(os.path.join(files.at(folder).absolute(), ""))


def _is_part(path, model):
    """Returns whether a path has the name and the directory of a file of a model or a data set.

    `model` is a directory, above the path, or a prefix or .safetensors file in such a directory.
    """
    # The absolute path has no links: `path` may be a link to such a file.
    if not _PARTS.fullmatch(os.path.basename(files.at(path).absolute())):
        return False
    if files.at(model).is_dir():
        return _is_below(path, model)
    is_model = files.at(f"{model}.index").exists() or model.endswith(".safetensors")
    return is_model and _is_below(path, os.path.dirname(model) or os.curdir)


def expand_globs(argument, patterns):
    """Returns the files that match comma-separated glob patterns, each once.

    The files of each pattern are sorted. A directory stands for all files below it, except hidden
    ones. The name of an existing file can contain any characters except commas. Files that are
    being written (.partial), descriptions of records, and _SUCCESS are not data: they match only by
    their complete names.

    Args:
      argument: Name of the argument, for error messages.
      patterns: Value of the argument; None or empty if it is not set.

    Raises:
      InputError: If there is no pattern, a pattern matches nothing, or a directory is empty.
    """
    paths = []
    for pattern in filter(None, (patterns or "").split(",")):
        matches = [path for path in _matching(pattern) if path == pattern or _is_data(path)]
        are_folders = files.folders_among(matches)
        if not matches:
            raise InputError("does not exist", argument, pattern)
        for path in matches:
            if path not in are_folders:
                _check_regular(argument, path)
                paths.append(path)
            elif inside := files_below(path):
                paths += inside
            else:
                raise InputError("is a directory without files", argument, path)
    if not paths:
        raise InputError("is required", argument)
    return list(dict.fromkeys(paths))


def files_below(folder):
    """Returns all data files below a directory, sorted, without hidden ones.

    Does not enter local directories that are links. Raises OSError if a directory cannot be read.
    """
    return [path for path in files.at(folder).files_below() if _is_data(path)]


def _check_regular(argument, path):
    """Raises InputError for a device or a pipe, which cannot be read twice."""
    if not files.is_remote(path) and os.path.exists(path) and not os.path.isfile(path):
        raise InputError("is not a regular file; write its content to one first", argument, path)


def _is_data(path):
    suffixes = (files.PARTIAL_SUFFIX, RUN_SUFFIX, FINISHED_SUFFIX)
    return not path.endswith(suffixes) and os.path.basename(path) != FINISHED_MARK


def _matching(pattern):
    """Returns the sorted matches of a glob pattern, or only the file if it is a file's name."""
    if not files.is_remote(pattern):
        return [pattern] if os.path.lexists(pattern) else files.at(pattern).matching()
    entry = files.at(pattern)
    return [pattern] if entry.exists() else entry.matching()
