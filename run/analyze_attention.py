"""Analyzes the attention heads of a model over a corpus and a treebank, in tables and plots.

  python -m run.analyze_attention --init_checkpoint=FOLDER --input_file=text.txt \\
      --treebank=en_ewt-dev.conllu --output_dir=analysis

  python -m run.analyze_attention --init_checkpoint=FINE_TUNED_FOLDER --input_file=text.txt \\
      --output_dir=analysis --data_dir=SST-2 --importance_examples=1024

With --importance_examples, it also measures which heads matter to a fine-tuned model, and the score
without them.
"""

from bert_tf.cli import script
from run.analysis.settings import AnalyzeAttentionSettings

COMMAND = script.Command(AnalyzeAttentionSettings(), "run.analysis.corpus")

if __name__ == "__main__":
    COMMAND.run()
