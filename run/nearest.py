"""Says which lines of a file are nearest to a query, by the cosine of their pooled vectors.

  python -m run.nearest --init_checkpoint=FOLDER --input_file=lines.txt --query='How do I open a file?'

Without --query it answers each line of standard input. Vectors of a large file are computed once by extract_features:

  python -m run.extract_features --init_checkpoint=FOLDER --input_file=lines.txt --output_file=lines.npz \\
      --output_format=npz --pooling=mean --layers=-1
  python -m run.nearest --init_checkpoint=FOLDER --input_file=lines.txt --vectors=lines.npz
"""

from bert_tf.cli import script
from run.inference.settings import NearestSettings

COMMAND = script.Command(NearestSettings(), "run.inference.nearest")

if __name__ == "__main__":
    COMMAND.run()
