"""Shows the attention of a model's heads in given texts, as one offline HTML page or as numbers.

  python -m run.attention_report --init_checkpoint=FOLDER --text='The cat sat on the mat.' \\
      --output_file=report.html

  python -m run.attention_report --init_checkpoint=FINE_TUNED_FOLDER --data_dir=SST-2 \\
      --wrong_examples=5 --output_file=wrong.html

Each line of --input_file is a text, or a pair of texts, `text_a ||| text_b`.
"""

from bert_tf.cli import script
from run.analysis.settings import AttentionReportSettings

COMMAND = script.Command(AttentionReportSettings(), "run.analysis.report")

if __name__ == "__main__":
    COMMAND.run()
