"""Prints records as text, with their masks marked, or says what is wrong with a file.

    python -m data_prep.inspect_records train.tfrecord --vocab_file=vocab.txt --max_seq_length=128

Every record of each file is checked: its checksums, its features, their lengths. `{may -> [MASK]}` marks a masked
position: "may" is to be predicted, "[MASK]" stands there. Without --vocab_file, ids stand for pieces.
"""

from bert_tf.cli import flags, paths, script
from data_prep.records import InspectionSettings


def define_flags():
    """Defines this script's flags."""
    flags.define(InspectionSettings())


def main(argv):
    """Reads the files and prints what is in them."""
    settings = flags.read(InspectionSettings())
    files = paths.expand_globs("input_file", ",".join([*argv[1:], settings.input_file or ""]))
    if settings.vocab_file:
        paths.check_file("vocab_file", settings.vocab_file)
    from data_prep.records import inspection

    inspection.run(files, settings)


if __name__ == "__main__":
    script.run(main, define_flags, takes_arguments=True)
