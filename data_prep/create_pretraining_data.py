"""Makes masked-LM and next-sentence records of text: the original's script, its flags, its records.

    python -m data_prep.create_pretraining_data --input_file='corpus/*.txt' --output_file=train.tfrecord \\
        --vocab_file=vocab.txt

The text has one sentence a line and a blank line after each document.
"""

import os

from absl import flags

from data_prep import command_line

FLAGS = flags.FLAGS


def define_flags():
    """Defines this script's flags."""
    flags.DEFINE_string("input_file", None,
                        "Text files: comma-separated paths or glob patterns; UTF-8, one sentence a line, a blank "
                        "line after each document (without one, the document goes on in the next file); "
                        "names that end in .gz are decompressed.")
    flags.DEFINE_string("output_file", None,
                        "TFRecord files to write, comma-separated; records go to them in turn.")
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
    flags.DEFINE_integer("dupe_factor", 10,
                         "How many times the text is gone through, each time with other pairs and masks.")
    flags.DEFINE_float("masked_lm_prob", 0.15, "Share of a record's ids that are masked; at least one is.")
    flags.DEFINE_float("short_seq_prob", 0.1,
                       "Probability that a document is cut into records of one random length shorter than "
                       "max_seq_length.")


def main(argv):
    """Checks the flags, then makes the records."""
    del argv
    input_files = command_line.expand_globs("input_file", FLAGS.input_file)
    if not FLAGS.output_file:
        raise ValueError("--output_file is needed")
    command_line.check_file("vocab_file", FLAGS.vocab_file)
    from bert_tf.tokenization import BertTokenizer
    from data_prep import local_runner
    from data_prep.instances import InstanceSettings

    settings = InstanceSettings(
        max_seq_length=FLAGS.max_seq_length,
        max_predictions_per_seq=FLAGS.max_predictions_per_seq,
        dupe_factor=FLAGS.dupe_factor,
        masked_lm_prob=FLAGS.masked_lm_prob,
        short_seq_prob=FLAGS.short_seq_prob,
        do_whole_word_mask=FLAGS.do_whole_word_mask)
    output_files = FLAGS.output_file.split(",")
    check_outputs(input_files, output_files)
    tokenizer = BertTokenizer(FLAGS.vocab_file, lower_case=FLAGS.do_lower_case)
    summary = local_runner.create_pretraining_data(
        input_files, output_files, tokenizer, settings, FLAGS.random_seed)
    print(summary)


def check_outputs(input_files, output_files):
    """Raises ValueError for an output that is an input, another output or a directory."""
    taken = {os.path.realpath(path): "is an input file too" for path in input_files}
    for path in output_files:
        if not path:
            raise ValueError(f"--output_file={','.join(output_files)}: one of the names is empty")
        if os.path.isdir(path):
            raise ValueError(f"--output_file={path}: is a directory, a file name is needed")
        real_path = os.path.realpath(path)
        if real_path in taken:
            raise ValueError(f"--output_file={path}: {taken[real_path]}")
        taken[real_path] = "is named twice"


if __name__ == "__main__":
    command_line.run(main, define_flags)
