"""The create_pretraining_data job: checks its settings, chooses a runner, and creates the records.

Imports TensorFlow and Apache Beam, which take seconds, only after checking the settings and paths, so invalid input is
reported immediately.
"""

import functools
import importlib.util
import os

from bert_tf.cli import paths
from bert_tf.cli.script import announce
from bert_tf.errors import InputError
from bert_tf.files import absolute, is_dir, is_remote


def run(settings):
    """Creates records from text files, or only the shards that an earlier run did not finish.

    Args:
      settings: JobSettings.

    Returns:
      run_plan.Summary.

    Raises:
      InputError: If files or settings are incompatible; see also the runner's `create_pretraining_data`.
      OSError: If a file cannot be read or written.
    """
    input_files = paths.expand_globs("input_file", settings.input_file, folders=True)
    check_outputs(input_files, settings.output_files, settings.input_file)
    for path in settings.output_files:
        paths.check_not_overwritten("output_file", path, {"vocab_file": settings.vocab_file})
    create = choose_runner(settings, [settings.vocab_file, *input_files, *settings.output_files])
    from bert_tf.tokenization import BertTokenizer

    tokenizer = BertTokenizer(settings.vocab_file, settings.do_lower_case, settings.strip_accents)
    summary = create(
        input_files, settings.output_files, tokenizer, settings.instances, settings.random_seed,
        num_output_shards=settings.num_output_shards, max_shard_bytes=settings.max_shard_bytes, verify=settings.verify,
        announce=announce)
    announce(summary)
    return summary


def choose_runner(settings, files):
    """Returns the create_pretraining_data of local_runner or beam_runner, with runner-specific arguments bound.

    Args:
      settings: JobSettings.
      files: Paths of all files to read and write.

    Raises:
      InputError: If options are incompatible with the runner, or if Apache Beam is not installed.
    """
    if settings.runner == "local":
        if settings.beam_options:
            raise InputError(f"`beam_options`={settings.beam_options}: cannot be combined with `runner`=local")
        from data_prep.pretraining import local_runner

        return functools.partial(local_runner.create_pretraining_data, num_workers=settings.num_workers)
    if not importlib.util.find_spec("apache_beam"):
        raise InputError(f"`runner`={settings.runner}: requires Apache Beam; run pip install -e '.[beam]'")
    from data_prep.pretraining import beam_runner

    beam_runner.check_paths(settings.runner, files)
    options = beam_runner.create_options(settings.runner, settings.beam_options, settings.num_workers)
    return functools.partial(beam_runner.create_pretraining_data, options=options)


def check_outputs(input_files, output_files, patterns=""):
    """Raises InputError if an output is an input, another output, a directory, or under a path that is a file.

    `patterns`: Value of `input_file`. No output may have a path that the next run would match.
    """
    taken = {absolute(path): "would overwrite an input file; choose another path" for path in input_files}
    for path in output_files:
        if not path:
            raise InputError(f"`output_file`={','.join(output_files)}: contains an empty path")
        paths.check_output_name("output_file", path)
        if is_dir(path):
            raise InputError(f"`output_file`={path}: must be a file, but is a directory")
        paths.check_replaceable("output_file", path)
        real_path = absolute(path)
        if real_path in taken:
            raise InputError(f"`output_file`={path}: {taken[real_path]}")
        paths.check_not_read("output_file", path, {"input_file": patterns})
        parent = os.path.dirname(path)
        while parent and not is_remote(path) and not os.path.exists(parent):
            parent = os.path.dirname(parent)
        if parent and not is_remote(path) and not os.path.isdir(parent):
            raise InputError(f"`output_file`={path}: {parent} must be a directory, but is a file")
        taken[real_path] = "occurs twice"

