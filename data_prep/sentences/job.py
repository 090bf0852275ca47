"""The split_sentences job: checks its settings, chooses a runner, and splits the text."""

import os

from bert_tf.cli import paths
from bert_tf.cli.script import announce
from bert_tf.errors import InputError
from data_prep.sentences.shards import split_sentences
from data_prep.sharding import runners

OUTPUT_FILE, SHARD_FILE = "sentences.txt", "sentences-00000-of-00001.txt"
OUTPUT_FILES = r"sentences(-\d{5,}-of-\d{5,})?\.txt(\.manifest\.json)?"


def run(settings):
    """Splits raw text into sentences, or creates only the shards that an earlier run did not finish.

    Args:
      settings: SentenceSettings.

    Returns:
      shard_plan.Summary.

    Raises:
      InputError: If files or settings are incompatible; see also `choose_runner` and `split_sentences`.
      OSError: If a file cannot be read or written.
    """
    input_files = paths.expand_globs("input_file", settings.input_file, folders=True)
    for path in input_files:
        paths.check_files_not_overwritten("output_dir", settings.output_dir, OUTPUT_FILES, {"input_file": path})
    for name in (OUTPUT_FILE, SHARD_FILE):
        try:
            paths.check_not_read("output_dir", os.path.join(settings.output_dir, name),
                                 {"input_file": settings.input_file})
        except InputError as error:
            raise InputError(error.problem, "output_dir", settings.output_dir) from error
    output_file = os.path.join(settings.output_dir, OUTPUT_FILE)
    paths.check_replaceable("output_dir", output_file)
    summary = split_sentences(
        input_files, output_file, settings.language, settings.format,
        num_output_shards=settings.shards.num_output_shards, max_shard_bytes=settings.shards.max_shard_bytes,
        verify=settings.shards.verify, announce=announce,
        create_shards=runners.choose_runner(settings.shards, [*input_files, output_file]))
    announce(summary)
    return summary
