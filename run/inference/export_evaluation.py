"""Evaluation of an exported model on development data, compared with its source checkpoint.

Both models get the same features and are scored by the task's metrics, so the export causes all differences.
"""

import time

import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.serving import checkpoint as checkpoints
from bert_tf.tokenization.model_inputs import FEATURES
from run.arrays.prediction import Predictor
from run.finetuning.fine_tuned_model import FineTunedModel
from run.finetuning.settings import FineTunedSettings
from run.inference import feature_models
from run.tasks import TASKS


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Evaluates both models, prints a table, and writes it if `output_file` is set.

    Args:
      settings: ExportEvaluationSettings, resolved.

    Raises:
      InputError: See bert_tf.serving.checkpoint.load. Also if the task has no development data, if the data do not
        match it, if the export has another kind, or if a score decreased by more than `most_lost`.
    """
    checkpoint, path = settings.model.init_checkpoint, settings.export.model
    kind = settings.served_task.kind
    if kind not in TASKS:
        raise InputError("must be a fine-tuned model", "init_checkpoint", checkpoint)
    servable = checkpoints.load(**settings.checkpoint_to_serve)
    if servable.metadata.window_pooling:
        raise InputError(f"`init_checkpoint`={checkpoint}: splits long texts into windows, but exports are compared on "
                         "single windows; compare the predictions of run.predict instead")
    export = feature_models.open_export(path)
    if export.kind != kind:
        raise InputError(f"`model`={path}: is a {export.kind}, but `init_checkpoint`={checkpoint} is a {kind}")
    task = FineTunedModel.open(FineTunedSettings.from_served(settings)).task
    predictor = Predictor(tf.distribute.get_strategy(), servable.model, per_position=task.per_position)
    features = {name: task.eval_features[name] for name in FEATURES}
    original = _time_model(predictor, features, settings.eval_batch_size, "checkpoint")
    report = compare(task, original, _time_model(export, features, settings.eval_batch_size))
    print(format_report(report))
    if settings.output_file:
        with files.new_file(settings.output_file) as file:
            file.write(files.to_json(settings.output_file, report, indent=1) + "\n")
    lost = -100 * report["scores"][task.metric]["difference"]
    if settings.most_lost is not None and lost > settings.most_lost:
        raise InputError(f"`most_lost`={settings.most_lost}: {task.metric} decreased by {lost:.2f} points")


def compare(task, original, export):
    """Compares two models on the development data of a task.

    Args:
      task: Task that has read the data.
      original, export: Tuples of a model's outputs, dict of arrays, and their duration in seconds.

    Returns:
      Dict of JSON values: "scores", dict of metric to "checkpoint", "export", and "difference"; "decisions" and
      "equal_decisions", the number of decisions and of identical ones; "seconds" of each model.
    """
    scores = [task.score(outputs) for outputs, _ in (original, export)]
    decisions = [task.decisions(outputs) for outputs, _ in (original, export)]
    return {
        "scores": {name: {"checkpoint": first, "export": scores[1][name], "difference": scores[1][name] - first}
                   for name, first in scores[0].items() if name != "loss"},
        "decisions": len(decisions[0]),
        "equal_decisions": sum(first == second for first, second in zip(*decisions, strict=True)),
        "seconds": {"checkpoint": original[1], "export": export[1]},
    }


def format_report(report):
    """Formats the result of `compare` as a table."""
    width = max(map(len, report["scores"]))
    lines = [f"{'':{width}}  checkpoint    export  difference"]
    lines += [f"{name:{width}}  {row['checkpoint']:10.4f}{row['export']:10.4f}{row['difference']:+12.4f}"
              for name, row in report["scores"].items()]
    lines.append(f"{report['equal_decisions']:,} of {report['decisions']:,} decisions are identical; checkpoint "
                 f"{report['seconds']['checkpoint']:.1f} s, export {report['seconds']['export']:.1f} s, each "
                 "including its start")
    return "\n".join(lines)


def _time_model(model, *arguments):
    """Returns the outputs of a model and the seconds it took."""
    start = time.perf_counter()
    outputs = model(*arguments)
    return outputs, time.perf_counter() - start
