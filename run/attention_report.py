"""Shows what a model's attention heads attend to in some texts: one HTML page that needs no network, or the numbers.

  python -m run.attention_report --init_checkpoint=FOLDER --text='The cat sat on the mat.' --output_file=report.html

  python -m run.attention_report --init_checkpoint=FINE_TUNED_FOLDER --data_dir=SST-2 --wrong_examples=5 \\
      --output_file=wrong.html

A line of --input_file is a text, or a pair of texts, `text_a ||| text_b`.
"""

from bert_tf.cli import flags, script
from run.attention.settings import AttentionReportSettings


def define_flags():
    """Defines this script's flags."""
    flags.define(AttentionReportSettings())


def main(argv):
    """Checks the flags, then looks at the texts."""
    del argv
    settings = flags.read(AttentionReportSettings())
    settings.check_files()
    from run.attention import report

    report.run(settings, flags.given())


if __name__ == "__main__":
    script.run(main, define_flags)
