"""Says what each attention head of a model does over a corpus and a treebank, in tables and pictures.

  python -m run.analyze_attention --init_checkpoint=FOLDER --input_file=text.txt --treebank=en_ewt-dev.conllu \\
      --output_dir=analysis

  python -m run.analyze_attention --init_checkpoint=FINE_TUNED_FOLDER --input_file=text.txt --output_dir=analysis \\
      --data_dir=SST-2 --importance_examples=1024

With --importance_examples it measures too which heads matter to a fine-tuned model, and what its score is without them.
A command that was stopped goes on where it was.
"""

from bert_tf.cli import script
from run.inside.settings import AnalyzeAttentionSettings

COMMAND = script.Command(AnalyzeAttentionSettings(), "run.inside.corpus")

if __name__ == "__main__":
    COMMAND.run()
