"""Comparison of models of one task: sizes, scores, and latencies of their exports, as a table and a plot."""

import csv
import dataclasses
import os
import statistics
import tempfile
import time

import numpy as np
import tensorflow as tf

from bert_tf import export, files
from bert_tf.cli import script
from bert_tf.errors import InputError, rename_argument
from bert_tf.export import litert
from bert_tf.serving import checkpoint
from bert_tf.tokenization.model_inputs import FEATURES
from run.arrays.batches import take_rows
from run.evaluation import plots
from run.finetuning.fine_tuned_model import FineTunedModel
from run.finetuning.settings import FineTunedSettings
from run.inference import feature_models
from run.settings.served_models import resolve_checkpoint
from run.tasks import TASKS

TEXTS_TOGETHER = (1, 8)  # Batch sizes to measure latency with.
TIMED_TEXTS = 64  # Number of randomly sampled development texts for measuring latency.
WARM_UP_CALLS = 2
NAME = "comparison"
HEADER = ("model", "format", "parameters", "megabytes", "size_divided_by", "{metric}", "kept",
          *(part for count in TEXTS_TOGETHER for part in (f"ms_of_{count}", f"speed_of_{count}")))


@dataclasses.dataclass(frozen=True)
class ComparisonRow:
    """A row of the comparison.

    Attributes:
      model: str. Short name of the model.
      format: str. One of run.compression.settings.FORMATS.
      parameters: int. Number of trainable weights, including the task head.
      size: int. Size of the export in bytes.
      score: float. The task's metric.
      seconds: Dict of number of texts to median latency in seconds for this many, from token IDs, without tokenization.
    """

    model: str
    format: str
    parameters: int
    size: int
    score: float
    seconds: dict


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Exports, scores, and times all models, and writes the report.

    Args:
      settings: ComparisonSettings, resolved.

    Raises:
      InputError: See bert_tf.serving.checkpoint.load. Also if models are of different kinds, or lack development data.
    """
    exports = []
    options = {"max_seq_length": settings.max_seq_length} if settings.max_seq_length else {}
    models = [resolve_checkpoint(path, "models", script.warn, **options) for path in settings.models]
    _check_kinds(settings.models, [each.served_task.kind for each in models])
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, model) in enumerate(zip(settings.names, models, strict=True)):
            servable = checkpoint.load(**model.checkpoint_to_serve)
            with rename_argument(init_checkpoint="models"):
                task = FineTunedModel.open(FineTunedSettings.from_served(model, **settings.data)).task
            parameters = sum(int(np.prod(variable.shape)) for variable in servable.model.trainable_variables)
            for each in settings.formats:
                path = _export(servable, model, each, os.path.join(folder, f"{number}_{each}"))
                exports.append(_score_export(name, each, parameters, path, task, settings.eval_batch_size))
        _time([(model, task) for _, model, task in exports], settings)
    _write(settings.output_dir, [dataclasses.replace(row, seconds=model.medians)
                                 for row, model, _ in exports], exports[0][2].metric)


def _check_kinds(models, kinds):
    """Raises InputError unless all models, paths, are fine-tuned for the same task."""
    for path, kind in zip(models, kinds, strict=True):
        if kind not in TASKS:
            raise InputError("is not fine-tuned for a task, so it has no score; choose fine-tuned models", "models",
                             path)
        if kind != kinds[0]:
            raise InputError(f"is a {kind}, but {models[0]} is a {kinds[0]}", "models", path)


def _export(servable, model, kind, place):
    """Exports a model; returns the path."""
    if kind == "saved_model":
        return export.save(servable, place, version=1)[0]
    static = checkpoint.load(**model.checkpoint_to_serve | {"static_length": True, "layers": "litert"})
    content = litert.convert(static, kind.removeprefix("litert_"), batch_sizes=TEXTS_TOGETHER)
    path = f"{place}.tflite"
    with files.new_file(path, "wb") as file:
        file.write(content)
    return path


class _TimedExport:
    """An export that is queried with features, and its median latencies."""

    def __init__(self, path):
        self._model = feature_models.open_export(path)
        self._seconds = {count: [] for count in TEXTS_TOGETHER}

    def outputs(self, task, batch_size):
        """Returns the outputs for the development data."""
        features = {name: task.eval_features[name] for name in FEATURES}
        return self._model(features, batch_size)

    def answer(self, features, keep):
        """Runs a batch, and records its latency if `keep` is True."""
        start = time.perf_counter()
        self._model.answer(features)
        if keep:
            self._seconds[len(features["input_ids"])].append(time.perf_counter() - start)

    @property
    def medians(self):
        return {count: statistics.median(seconds) for count, seconds in self._seconds.items() if seconds}


def _score_export(name, kind, parameters, path, task, batch_size):
    """Scores an export; returns tuple of ComparisonRow without latencies, _TimedExport, and Task."""
    model = _TimedExport(path)
    score = task.score(model.outputs(task, batch_size))[task.metric]
    place = files.at(path)
    size = sum(files.at(each).size() for each in place.files_below()) if place.is_dir() else place.size()
    print(f"{name}, {kind}: {size / 1e6:.1f} MB, {task.metric} {score:.4f}", flush=True)
    return ComparisonRow(name, kind, parameters, size, float(score), {}), model, task


def _time(exports, settings):
    """Times the models on the same texts in turns, so that other load on the machine affects all of them."""
    for count in TEXTS_TOGETHER:
        num_rows = min(len(task.eval_features["input_ids"]) for _, task in exports)
        rows = np.random.default_rng(settings.random_seed % 2**64).permutation(num_rows)[:TIMED_TEXTS]
        batches = [rows[start : start + count] for start in range(0, len(rows) - count + 1, count)]
        if not batches:
            batches = [np.resize(rows, count)]
        for keep in (False, True):
            for batch in batches if keep else batches[:WARM_UP_CALLS] * 2:
                for model, task in exports:
                    arrays = {name: task.eval_features[name] for name in FEATURES}
                    model.answer(take_rows(arrays, batch), keep)


def _write(folder, results, metric):
    """Writes comparison.txt, .tsv, and .png, and prints the table.

    Args:
      folder: Path of the directory, created if it does not exist.
      results: List of ComparisonRow. All are compared with the first.
      metric: Name of the score.
    """
    files.at(folder).make_dirs()
    table = make_table(results)
    header = [name.format(metric=metric) for name in HEADER]
    text = format_table(table, header)
    with files.new_file(os.path.join(folder, f"{NAME}.txt")) as file:
        file.write(text)
    with files.new_file(os.path.join(folder, f"{NAME}.tsv"), newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerows([header, *table])
    plots.score_over_latency(os.path.join(folder, f"{NAME}.png"), [
        (each.model, each.format, 1000 * each.seconds[1], each.score) for each in results], metric)
    print(text, end="")


def make_table(results):
    """Returns a list of the values of HEADER for each ComparisonRow, relative to the first."""
    first = results[0]
    return [[each.model, each.format, each.parameters, each.size / 1e6, first.size / each.size, each.score,
             each.score / first.score if first.score else float("nan"),
             *(value for count in TEXTS_TOGETHER
               for value in (1000 * each.seconds[count], first.seconds[count] / each.seconds[count]))]
            for each in results]


def format_table(table, header):
    """Formats the rows as a text table."""
    formats = ("", "", ",", ".1f", ".2f", ".4f", ".1%", *(".2f", ".2f") * len(TEXTS_TOGETHER))
    cells = [list(header), *([format(value, spec) for value, spec in zip(row, formats, strict=True)] for row in table)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) if place < 2 else cell.rjust(width)
                       for place, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in cells]
    return "\n".join(lines) + "\n"
