"""Makes masked-LM and next-sentence records of text: the original's script, its flags, its records.

    python -m data_prep.create_pretraining_data --input_file='corpus/*.txt' --output_file=train.tfrecord \\
        --vocab_file=vocab.txt

The text has one sentence a line and a blank line after each document. A large text is made into several shards,
on several cores, in memory that --max_shard_mb and --num_workers bound. A run that was stopped, killed too, goes on
when the same command is given again. A text too large for one machine is made into records on a cluster, by Apache
Beam: --runner.
"""

import functools
import importlib.util
import os
import pathlib

from absl import flags

from bert_tf.cli import paths, script
from bert_tf.errors import InputError
from bert_tf.files import is_remote

FLAGS = flags.FLAGS


def define_flags():
    """Defines this script's flags."""
    flags.DEFINE_string("input_file", None,
                        "Text files: comma-separated paths, glob patterns or folders, of which all files are taken, "
                        "hidden ones left out; UTF-8, one sentence a line, a blank line after each document "
                        "(without one, the document goes on in the next file); names that end in .gz are "
                        "decompressed.")
    flags.DEFINE_string("output_file", None,
                        "TFRecord files to write, comma-separated; records go to them in turn. With several shards, "
                        "train.tfrecord stands for train-00000-of-00012.tfrecord and so on.")
    flags.DEFINE_string("vocab_file", None, "Vocabulary of the model to be trained, one piece a line.")
    flags.DEFINE_bool("do_lower_case", True,
                      "Lower-case the text and strip accents: true for uncased models, false for cased ones.")
    flags.DEFINE_bool("do_whole_word_mask", False,
                      "Mask all pieces of a word or none, in place of single pieces.")
    flags.DEFINE_integer("max_seq_length", 128,
                         "Ids of a record, [CLS] and both [SEP] counted; training must be given the same.")
    flags.DEFINE_integer("max_predictions_per_seq", 20,
                         "Most masked positions of a record, about max_seq_length * masked_lm_prob; training "
                         "must be given the same.")
    flags.DEFINE_integer("random_seed", 12345,
                         "Seed of every random draw: same seed and input, same records.")
    flags.DEFINE_integer("dupe_factor", None,
                         "How many times the text is gone through, each time with other pairs and masks; 10 unless "
                         "given, 1 with --masking=dynamic.")
    flags.DEFINE_float("masked_lm_prob", 0.15, "Share of a record's ids that are masked; at least one is.")
    flags.DEFINE_float("short_seq_prob", 0.1,
                       "Probability that a document is cut into records of one random length shorter than "
                       "max_seq_length.")
    flags.DEFINE_enum("masking", "static", ["static", "dynamic"],
                      "static: records hold their masks, as the original's. dynamic: they hold sentence pairs only, "
                      "and training draws new masks each time (give it --masking=dynamic too, and there "
                      "--max_predictions_per_seq, --masked_lm_prob and --do_whole_word_mask).")
    flags.DEFINE_integer("num_output_shards", 1,
                         "Into how many shards of about equal size the text is made, each from its own consecutive "
                         "documents: random next sentences come from the same shard.", lower_bound=1)
    flags.DEFINE_float("max_shard_mb", 32,
                       "Most text of a shard, in millions of bytes, not counting the rest of its last document; a "
                       "larger text is made into more shards. A worker takes 60 MB and, at --dupe_factor=10, four "
                       "times this; the process that reads, 0.9 GB. 0: no limit, the whole text in memory.",
                       lower_bound=0)
    flags.DEFINE_integer("num_workers", None,
                         "Processes that make records, with --runner=local or direct; one a core unless given, at most "
                         "one a shard. The records do not depend on it.", lower_bound=1)
    flags.DEFINE_enum("runner", "local", ["local", "direct", "dataflow", "flink", "spark"],
                      "Where shards are made; the records do not depend on it. local: on this machine. The others are "
                      "Apache Beam's (pip install -e '.[beam]'): direct, on this machine too, is to try it out. The "
                      "workers of a cluster must be able to open all paths, and have this project installed.")
    flags.DEFINE_string("beam_options", "",
                        "Options for Apache Beam, as on a command line: --beam_options='--region=europe-west4 "
                        "--temp_location=gs://bucket/tmp'.")


def main(argv):
    """Checks the flags, then makes the records."""
    del argv
    input_files = paths.expand_globs("input_file", FLAGS.input_file, folders=True)
    if not FLAGS.output_file:
        raise InputError("--output_file is needed")
    output_files = FLAGS.output_file.split(",")
    check_outputs(input_files, output_files, FLAGS.input_file)
    paths.check_file("vocab_file", FLAGS.vocab_file)
    from data_prep.pretraining.sentence_pairs import InstanceSettings

    dupe_factor = FLAGS.dupe_factor
    if dupe_factor is None:
        dupe_factor = 1 if FLAGS.masking == "dynamic" else 10
    settings = InstanceSettings(
        max_seq_length=FLAGS.max_seq_length,
        max_predictions_per_seq=FLAGS.max_predictions_per_seq,
        dupe_factor=dupe_factor,
        masked_lm_prob=FLAGS.masked_lm_prob,
        short_seq_prob=FLAGS.short_seq_prob,
        do_whole_word_mask=FLAGS.do_whole_word_mask,
        masking=FLAGS.masking)
    create = choose_runner(FLAGS.runner, FLAGS.num_workers, FLAGS.beam_options,
                           [FLAGS.vocab_file, *input_files, *output_files])
    from bert_tf.tokenization import BertTokenizer

    tokenizer = BertTokenizer(FLAGS.vocab_file, lower_case=FLAGS.do_lower_case)
    say = lambda text: print(script.with_flags(str(text)))
    say(create(input_files, output_files, tokenizer, settings, FLAGS.random_seed,
               num_output_shards=FLAGS.num_output_shards, max_shard_bytes=round(FLAGS.max_shard_mb * 1e6),
               announce=say))


def choose_runner(runner, num_workers, beam_options, paths):
    """The create_pretraining_data of local_runner or beam_pipeline, with the arguments that differ filled in.

    Args:
      runner, num_workers, beam_options: values of these flags.
      paths: all files to be read and written.

    Raises:
      InputError: options that do not suit the runner; Apache Beam is not installed.
    """
    if runner == "local":
        if beam_options:
            raise InputError(f"--beam_options={beam_options}: is for a --runner of Apache Beam, and that is local")
        from data_prep.pretraining import local_runner

        return functools.partial(local_runner.create_pretraining_data, num_workers=num_workers)
    if not importlib.util.find_spec("apache_beam"):
        raise InputError(f"--runner={runner}: Apache Beam is not installed: pip install -e '.[beam]'")
    from data_prep.pretraining import beam_runner

    beam_runner.check_paths(runner, paths)
    options = beam_runner.make_options(runner, beam_options, num_workers)
    return functools.partial(beam_runner.create_pretraining_data, options=options)


def check_outputs(input_files, output_files, patterns=""):
    """Raises InputError for an output that is an input, another output, a folder, or in a folder that is none.

    `patterns` is the value of --input_file: no output may be where the next run would find it.
    """
    taken = {os.path.realpath(path): "is an input file too" for path in input_files}
    for path in output_files:
        if not path:
            raise InputError(f"--output_file={','.join(output_files)}: one of the names is empty")
        if os.path.isdir(path):
            raise InputError(f"--output_file={path}: is a directory, a file name is needed")
        real_path = os.path.realpath(path)
        if real_path in taken:
            raise InputError(f"--output_file={path}: {taken[real_path]}")
        if any(_is_found(path, pattern) for pattern in patterns.split(",")):
            raise InputError(f"--output_file={path}: lies where --input_file={patterns} looks: it would be read as "
                             f"text by the next run")
        parent = os.path.dirname(path)
        while parent and not is_remote(path) and not os.path.exists(parent):
            parent = os.path.dirname(parent)
        if parent and not is_remote(path) and not os.path.isdir(parent):
            raise InputError(f"--output_file={path}: {parent} is a file, not a directory")
        taken[real_path] = "is named twice"


def _is_found(path, pattern):
    """Whether a path is in a folder, or is matched by a glob pattern; neither need exist."""
    if os.path.isdir(pattern):
        return os.path.realpath(path).startswith(os.path.join(os.path.realpath(pattern), ""))
    return pathlib.PurePath(os.path.abspath(path)).match(os.path.abspath(pattern))


if __name__ == "__main__":
    script.run(main, define_flags)
