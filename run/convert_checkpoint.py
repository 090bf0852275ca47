"""Converts a BERT checkpoint of any origin into another format, weights only.

  python -m run.convert_checkpoint --input=uncased_L-12_H-768_A-12 --output=bert_base_hf --format=huggingface

The input is found out: the original's TF1 checkpoints, this project's training checkpoints, those of
tf-models-official (Model Garden), and Hugging Face's config.json with model.safetensors. The output is a folder:

  tf1, model_garden   bert_model.ckpt.*, bert_config.json
  huggingface         model.safetensors, config.json

and vocab.txt where --vocab_file is given. Every tensor keeps its values exactly; optimizer state is left out.
"""

import dataclasses
import os

from bert_tf import files
from bert_tf.cli import flags, paths, script
from bert_tf.cli.settings import Settings, setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class ConversionSettings(Settings):
    """What to convert into what."""

    input: str | None = setting(
        None, "The checkpoint: a prefix (bert_model.ckpt, ckpt-1000), a .safetensors file, or a folder that holds one "
              "of these. Needed.")
    output: str | None = setting(None, "Folder for the converted files; made if missing. Needed.")
    format: str | None = setting(None, "What to write. Needed.", choices=("tf1", "model_garden", "huggingface"))
    bert_config_file: str | None = setting(
        None, "bert_config.json of the model. Needed unless one lies beside the input, or the input is of Hugging Face "
              "and has its config.json.")
    vocab_file: str | None = setting(None, "vocab.txt of the model, to be copied beside the weights.")
    overwrite: bool = setting(
        False, "Whether files in --output may be replaced; without it --output must be empty or new.")


def define_flags():
    """Defines this script's flags."""
    flags.define(ConversionSettings())


def main(argv):
    """Checks the flags, then converts."""
    del argv
    settings = flags.read(ConversionSettings())
    for name in ("input", "output", "format"):
        if not getattr(settings, name):
            raise InputError(f"--{name} is needed")
    check_output(settings.input, settings.output, settings.overwrite)
    for name in ("bert_config_file", "vocab_file"):
        if getattr(settings, name):
            paths.check_file(name, getattr(settings, name))
    config = BertConfig.from_json_file(settings.bert_config_file) if settings.bert_config_file else None
    from bert_tf import checkpoints

    for line in checkpoints.convert(settings.input, settings.output, settings.format, config, settings.vocab_file):
        print(line)


def check_output(source, output, overwrite):
    """Raises InputError unless `--output` is a folder, or is to be one, that may be written into."""
    paths.check_output_dir("output", output)
    source_folder = source if files.is_dir(source) else os.path.dirname(source)
    if files.absolute(output) == files.absolute(source_folder):
        raise InputError(f"--output={output}: is the folder of --input; give another")
    if files.is_dir(output) and files.names_in(output) and not overwrite:
        raise InputError(f"--output={output}: is not empty; give another folder, or --overwrite")


if __name__ == "__main__":
    script.run(main, define_flags)
