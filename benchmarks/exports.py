"""Exports of encoders, which the benchmarks open in other processes."""

import dataclasses
import os
import subprocess
import sys

from benchmarks import measurements
from benchmarks.peer_process import ROOT
from bert_tf.cli.resolution import read_model_config
from bert_tf.models import BertEncoder
from bert_tf.tokenization import BertTokenizer


def write_encoder(settings, folder):
    """Writes an encoder with random weights and the vocabulary of the tests.

    Args:
      settings: ShapeSettings.
      folder: Path of the directory to write to.

    Returns:
      BertConfig of the encoder.
    """
    tokenizer = BertTokenizer(measurements.VOCAB_FILE)
    config = dataclasses.replace(
        read_model_config(settings.bert_config_file, max(settings.lengths)),
        vocab_size=tokenizer.vocab_size,
    )
    BertEncoder(config).save_pretrained(folder, tokenizer)
    return config


def export_encoder(model_path, folder, export_format, **flags):
    """Exports a checkpoint with run.export_saved_model.

    Args:
      model_path: Path of the checkpoint.
      folder: Path of the directory to write to.
      export_format: str. "saved_model", "openvino", or "litert".
      **flags: Other flags of the script.

    Returns:
      Path for `bert_tf.load`. It does not exist if the export fails, for example without openvino.
    """
    flags = {
        "init_checkpoint": model_path,
        "task": "encoder",
        "format": export_format,
        "export_dir": folder,
        **flags,
    }
    subprocess.run(
        [
            *(sys.executable, "-m", "run.export_saved_model"),
            *(f"--{name}={value}" for name, value in flags.items()),
        ],
        env={**os.environ, "PYTHONPATH": ROOT},
        check=False,
    )
    if export_format == "litert":
        return os.path.join(folder, f"model_{flags['weights']}.tflite")
    return os.path.join(folder, "model.xml") if export_format == "openvino" else folder
