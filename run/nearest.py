"""Finds the lines of a file that are nearest to a query, by the cosine of their pooled embeddings.

  python -m run.nearest --init_checkpoint=FOLDER --input_file=lines.txt --query='How do I open a file?'

Without --query, each line of standard input is a query. For large files, extract_features computes embeddings once:

  python -m run.extract_features --init_checkpoint=FOLDER --input_file=lines.txt --output_file=lines.npz \\
      --output_format=npz --pooling=mean --layers=-1
  python -m run.nearest --init_checkpoint=FOLDER --input_file=lines.txt --vectors=lines.npz
"""

from bert_tf.cli import script
from run.inference.settings import NearestSettings

COMMAND = script.Command(NearestSettings(), "run.inference.nearest")

if __name__ == "__main__":
    COMMAND.run()
