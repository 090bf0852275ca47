"""Writes a trained model as a file that answers raw text, and says what it is."""

import os

from bert_tf import export, files
from bert_tf.export import tflite
from bert_tf.files import new_file
from run.inference import loading
from run.training import strategies


def run(settings, given):
    """Loads a checkpoint and exports it.

    Args:
      settings: ExportSettings.
      given: dict of the settings that were given and their values.

    Raises:
      InputError: as loading.load's.
    """
    given = dict(given)
    if settings.labels_file:
        given["labels"] = settings.read_labels()
    if settings.format == "tflite":
        given["static_length"] = True
    strategies.warn_of_slow_precision(settings.compute, "CPU")
    servable, served = loading.load(settings.model.init_checkpoint, given, compute=settings.compute)
    if settings.format == "tflite":
        export_tflite(servable, settings.export_dir, settings.weights)
    else:
        export_saved_model(servable, served, settings.export_dir, settings.version, settings.weights)


def export_saved_model(servable, served, export_dir, version, weights):
    """Writes the SavedModel of a loading.Served."""
    path, has_warmup = export.save(servable, export_dir, version=version, weights=weights)
    labels = f", labels {', '.join(served.metadata.labels)}" if served.metadata.labels else ""
    print(f"{path}: SavedModel of a {served.task.kind}, {_megabytes(path):.1f} MB, with the signatures serving_default "
          f"({', '.join(servable.text_inputs)}), ids and tf_example{labels}")
    if not has_warmup:
        print("warm-up requests were left out; they need: pip install --no-deps tensorflow-serving-api==2.20.0")


def export_tflite(servable, export_dir, weights):
    """Writes the LiteRT model; says how large it is and how near to the whole one."""
    content = tflite.convert(servable, weights)
    files.make_dirs(export_dir)
    path = os.path.join(export_dir, f"model_{weights}.tflite")
    with new_file(path, "wb") as file:
        file.write(content)
    difference = tflite.largest_difference(servable, content)
    print(f"{path}: LiteRT model with {weights} weights, {len(content) / 1e6:.1f} MB, inputs of "
          f"{servable.max_seq_length} ids; run with ai-edge-litert, its answer is within {difference:.1e} of the whole "
          "model's")


def _megabytes(folder):
    return sum(map(files.size, files.files_below(folder))) / 1e6
