"""Converts a BERT checkpoint of any origin into another format, weights only.

  python -m run.convert_checkpoint --input=uncased_L-12_H-768_A-12 --output=bert_base_hf --format=huggingface

The input is found out: the original's TF1 checkpoints, this project's training checkpoints, those of
tf-models-official (Model Garden), and Hugging Face's config.json with model.safetensors. The output is a folder:

  tf1, model_garden   bert_model.ckpt.*, bert_config.json
  huggingface         model.safetensors, config.json

and vocab.txt where --vocab_file is given. Every tensor keeps its values exactly; optimizer state is left out.
"""

import math
import os
import shutil

from absl import flags

from bert_tf.config import BertConfig
from bert_tf.vocabulary import read_vocabulary
from data_prep import command_line

FLAGS = flags.FLAGS

FORMATS = ("tf1", "model_garden", "huggingface")
VOCABULARY_NAME = "vocab.txt"


def define_flags():
    """Defines this script's flags."""
    flags.DEFINE_string(
        "input", None, "The checkpoint: a prefix (bert_model.ckpt, ckpt-1000), a .safetensors file, or a folder that "
                       "holds one of these. Needed.")
    flags.DEFINE_string("output", None, "Folder for the converted files; made if missing. Needed.")
    flags.DEFINE_enum("format", None, FORMATS, "What to write. Needed.")
    flags.DEFINE_string(
        "bert_config_file", None, "bert_config.json of the model. Needed unless one lies beside the input, or the "
                                  "input is of Hugging Face and has its config.json.")
    flags.DEFINE_string("vocab_file", None, "vocab.txt of the model, to be copied beside the weights.")
    flags.DEFINE_bool("overwrite", False, "Whether files in --output may be replaced; without it --output must be "
                                          "empty or new.")


def main(argv):
    """Checks the flags, then converts."""
    del argv
    for name in ("input", "output", "format"):
        if not FLAGS[name].value:
            raise ValueError(f"--{name} is needed")
    check_output(FLAGS.input, FLAGS.output, FLAGS.overwrite)
    config = None
    if FLAGS.bert_config_file:
        command_line.check_file("bert_config_file", FLAGS.bert_config_file)
        config = BertConfig.from_json_file(FLAGS.bert_config_file)
    if FLAGS.vocab_file:
        command_line.check_file("vocab_file", FLAGS.vocab_file)

    for line in convert(FLAGS.input, FLAGS.output, FLAGS.format, config, FLAGS.vocab_file):
        print(line)


def convert(source, output, output_format, config=None, vocab_file=None):
    """Converts a checkpoint.

    Args:
      source: path, as `bert_tf.checkpoints.open_checkpoint` takes it.
      output: folder; files there of the names that are written are replaced.
      output_format: one of FORMATS.
      config: BertConfig; None takes the one that lies with the checkpoint.
      vocab_file: vocab.txt to copy into `output`, or None.

    Returns:
      What was converted, in lines for a user to read.

    Raises:
      ValueError: there is no such checkpoint, no config, or one of the three files is of another model.
    """
    from bert_tf import checkpoints
    from bert_tf.checkpoints import files, tensors

    checkpoint = checkpoints.open_checkpoint(source)
    config = config or checkpoint.config
    if config is None:
        raise ValueError(f"--bert_config_file is needed: there is no config beside {checkpoint.path}")
    tensors.check_config(checkpoint, config)
    if vocab_file:
        check_vocabulary(vocab_file, config)

    writer = checkpoints.FORMATS[output_format]
    left_out = writer.write(output, checkpoint.tensors, config)
    if vocab_file:
        with files.new_files(output) as folder:
            shutil.copyfile(vocab_file, os.path.join(folder, VOCABULARY_NAME))
    shapes = [tensor.shape for name, tensor in checkpoint.tensors.items() if name not in left_out]
    return [f"{checkpoint.path} ({checkpoint.kind}) -> {output} ({writer.KIND}): {len(shapes)} tensors, "
            f"{sum(map(math.prod, shapes)):,} parameters",
            *(f"  {note}" for note in notes(output_format, config, left_out))]


def check_output(source, output, overwrite):
    """Raises ValueError unless `--output` is a local folder, or is to be one, that may be written into."""
    if command_line.is_remote(output):
        raise ValueError(f"--output={output}: is remote; convert into a local folder and copy that")
    if os.path.exists(output) and not os.path.isdir(output):
        raise ValueError(f"--output={output}: is a file, a folder is needed")
    source_folder = source if os.path.isdir(source) else os.path.dirname(source)
    if os.path.realpath(output) == os.path.realpath(source_folder):
        raise ValueError(f"--output={output}: is the folder of --input; give another")
    if os.path.isdir(output) and os.listdir(output) and not overwrite:
        raise ValueError(f"--output={output}: is not empty; give another folder, or --overwrite")


def check_vocabulary(vocab_file, config):
    """Raises ValueError if a vocabulary has more entries than the model."""
    entries = len(read_vocabulary(vocab_file))
    if entries > config.vocab_size:
        raise ValueError(f"--vocab_file={vocab_file}: has {entries} entries, the model has {config.vocab_size}: it is "
                         "another model's vocabulary")


def notes(output_format, config, left_out):
    """What a user should know about the files beyond their being there; one sentence each."""
    if left_out:
        yield f"not written, the format has no place for them: {', '.join(left_out)}"
    if config.hidden_act == "gelu_exact" and output_format != "huggingface":
        yield ("hidden_act is gelu_exact, the erf form: programs that read bert_config.json as the original does "
               "compute the tanh form")


if __name__ == "__main__":
    command_line.run(main, define_flags)
