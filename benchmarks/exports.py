"""Exports of encoders, which the benchmarks open in other processes."""

import os
import subprocess
import sys

from benchmarks.peer_process import ROOT


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
