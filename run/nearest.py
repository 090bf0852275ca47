"""Says which lines of a file are nearest to a query, by the cosine of their pooled vectors.

  python -m run.nearest --init_checkpoint=FOLDER --input_file=lines.txt --query='How do I open a file?'

Without --query it answers each line of standard input. Vectors of a large file are computed once by extract_features:

  python -m run.extract_features --init_checkpoint=FOLDER --input_file=lines.txt --output_file=lines.npz \\
      --output_format=npz --pooling=mean --layers=-1
  python -m run.nearest --init_checkpoint=FOLDER --input_file=lines.txt --vectors=lines.npz
"""

from bert_tf.cli import flags, script
from run.inference.search.settings import NearestSettings
from run.settings import from_folder


def define_flags():
    """Defines this script's flags."""
    flags.define(NearestSettings())


def main(argv):
    """Checks the flags, then searches."""
    del argv
    settings = from_folder.complete(flags.read(NearestSettings()), flags.given())
    config = settings.read_config()
    from run.inference.search import job

    job.run(settings, config)


if __name__ == "__main__":
    script.run(main, define_flags)
