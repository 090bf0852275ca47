"""Converts a BERT checkpoint of any origin into another format, weights only.

  python -m run.convert_checkpoint --input=uncased_L-12_H-768_A-12 --output=bert_base_hf --format=huggingface

The input is found out: the original's TF1 checkpoints, this project's training checkpoints, those of
tf-models-official (Model Garden), and Hugging Face's config.json with model.safetensors. The output is a folder:

  tf1, model_garden   bert_model.ckpt.*, bert_config.json
  huggingface         model.safetensors, config.json

and vocab.txt where there is one, for Hugging Face with tokenizer_config.json. A fine-tuned model becomes the model
class of transformers for its task, with its labels. Every tensor keeps its values exactly; optimizer state is left out.
A run with --lora_rank becomes a plain model, its adapters merged: from its folder, or from what it started from and the
small file that it left (--adapter). --max_position_embeddings extends the position table.
"""

import os
import sys

from bert_tf import files, model_folder
from bert_tf.cli import flags, paths, script
from bert_tf.errors import InputError
from run.inference.settings import ConversionSettings
from run.settings import from_folder


def define_flags():
    """Defines this script's flags."""
    flags.define(ConversionSettings())


def main(argv):
    """Checks the flags, then converts."""
    del argv
    settings = flags.read(ConversionSettings())
    for name in ("input", "output", "format"):
        if not getattr(settings, name):
            raise InputError(f"--{name} is required")
    check_output(settings.input, settings.output, settings.overwrite)
    given = {name: path for name in ("bert_config_file", "vocab_file", "adapter") if (path := getattr(settings, name))}
    for name, path in given.items():
        paths.check_file(name, path)
    paths.check_not_replaced("output", settings.output, r".*", given)
    config = model_folder.read_config(settings.bert_config_file) if settings.bert_config_file else None
    model_folder.check_no_pickle(settings.input)
    tokenizer = find_tokenizer(settings.input)
    vocab = settings.vocab_file or tokenizer.vocab_file
    from bert_tf import checkpoints
    from run.finetuning import task_metadata

    kept = task_metadata.read(settings.adapter or settings.input)
    for line in checkpoints.convert(
            settings.input, settings.output, settings.format, config, vocab and from_folder.as_vocab_txt(vocab),
            task=kept and kept.as_task, tokenizer=tokenizer, adapter=settings.adapter,
            max_position_embeddings=settings.max_position_embeddings, position_extension=settings.position_extension):
        print(line)


def find_tokenizer(source):
    """The TokenizerFiles beside a checkpoint; none, and a note, where this project does not compute its tokenizer."""
    try:
        return model_folder.find_tokenizer(source)
    except InputError as error:
        print(f"note: {error}; only the weights are converted", file=sys.stderr)
        return model_folder.TokenizerFiles()


def check_output(source, output, overwrite):
    """Raises InputError unless `--output` is a folder, or is to be one, that may be written into."""
    paths.check_output_dir("output", output)
    source_folder = source if files.is_dir(source) else os.path.dirname(source)
    if files.absolute(output) == files.absolute(source_folder):
        raise InputError(f"--output={output}: is the folder of --input; give another")
    if not files.is_empty(output) and not overwrite:
        raise InputError(f"--output={output}: is not empty; give another folder, or --overwrite")


if __name__ == "__main__":
    script.run(main, define_flags)
