"""The create_pretraining_data job: checks its settings, chooses a runner, and creates the records.

Imports TensorFlow and Apache Beam, which take seconds, only after checking the settings and paths, so invalid input is
reported immediately.
"""

import os

from bert_tf import files
from bert_tf.cli import paths
from bert_tf.cli.script import announce
from bert_tf.errors import InputError
from bert_tf.files import is_remote
from data_prep.pretraining.instances import masking
from data_prep.sharding import runners


def run(settings):
    """Creates records from text files, or only the shards that an earlier run did not finish.

    Args:
      settings: JobSettings.

    Returns:
      shard_plan.Summary.

    Raises:
      InputError: If files or settings are incompatible; see also `choose_runner` and `create_pretraining_data`.
      OSError: If a file cannot be read or written.
    """
    input_files = paths.expand_globs("input_file", settings.input_file, folders=True)
    check_outputs(input_files, settings.output_files, settings.input_file)
    for path in settings.output_files:
        paths.check_not_overwritten("output_file", path, {"vocab_file": settings.vocab_file})
    create_shards = runners.choose_runner(settings.shards, [settings.vocab_file, *input_files, *settings.output_files])
    from bert_tf.tokenization import BertTokenizer
    from data_prep.pretraining.plan import create_pretraining_data

    tokenizer = BertTokenizer(settings.vocab_file, settings.do_lower_case, settings.strip_accents)
    if note := masking.describe_chinese(settings.instances, tokenizer):
        announce(note)
    summary = create_pretraining_data(
        input_files, settings.output_files, tokenizer, settings.instances, settings.random_seed,
        num_output_shards=settings.shards.num_output_shards, max_shard_bytes=settings.shards.max_shard_bytes,
        verify=settings.shards.verify, create_shards=create_shards, announce=announce)
    announce(summary)
    return summary


def check_outputs(input_files, output_files, patterns=""):
    """Raises InputError if an output is an input, another output, a directory, or under a path that is a file.

    `patterns`: Value of `input_file`. No output may have a path that the next run would match.
    """
    taken = {files.at(path).absolute(): "would overwrite an input file; choose another path" for path in input_files}
    for path in output_files:
        if not path:
            raise InputError(f"`output_file`={','.join(output_files)}: contains an empty path")
        paths.check_output_name("output_file", path)
        if files.at(path).is_dir():
            raise InputError(f"`output_file`={path}: must be a file, but is a directory")
        paths.check_replaceable("output_file", path)
        real_path = files.at(path).absolute()
        if real_path in taken:
            raise InputError(f"`output_file`={path}: {taken[real_path]}")
        paths.check_not_read("output_file", path, {"input_file": patterns})
        parent = os.path.dirname(path)
        while parent and not is_remote(path) and not os.path.exists(parent):
            parent = os.path.dirname(parent)
        if parent and not is_remote(path) and not os.path.isdir(parent):
            raise InputError(f"`output_file`={path}: {parent} must be a directory, but is a file")
        taken[real_path] = "occurs twice"

